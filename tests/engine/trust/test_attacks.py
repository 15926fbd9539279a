"""A study file, a published folder, a draft or an import sends no request, gets no key and runs no code by its own words."""

import asyncio
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.emulator import Emulator
from tests.engine.trust.conftest import KEY, TREASURE, Move
from tests.engine.trust.studies import EXAMPLES, code_study, game, lab, openai_at, requests
from tests.support.command import Tidepool
from tests.support.state import change, log_of, query
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Service
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import FileError, NotTrusted, TidepoolError
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.exports.export import export_batch
from tidepool.engine.gate import adopt, copied_config
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.run import create_batch, create_planned, resume_batch, resume_study, run_batch
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.studies.branches import read_origin
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.scorer import ScorerMarker
from tidepool.engine.trust.record import ReplySeals
from tidepool.storage.states import StopCode
from tidepool.tui.app.compose.draft import Draft, draft_path, keep_draft, read_draft
from tidepool.tui.app.provider_view import rules_in_draft

# -- 1: rows of `control` ------------------------------------------------------------------------------------

DANGEROUS: dict[str, Callable[[str], dict[str, Any]]] = {
    "a server": lambda url: {"providers.openai.base_url": url},
    "a key variable": lambda url: {"providers.openai.base_url": url, "providers.openai.api_key_env": TREASURE},
    "a whole section": lambda url: {"providers.openai": {"base_url": url}},
    "all sections": lambda url: {"providers": {"openai": {"base_url": url, "api_key_env": TREASURE}}},
    "behind service": lambda url: {"service.providers.openai.base_url": url},
    "a limit's name in front": lambda url: {f'max_concurrent=1\nproviders.openai.base_url="{url}"': 1},
    "a limit's name at the end": lambda url: {f'providers.openai.base_url="{url}"\nx.max_concurrent': 1},
    "a pool": lambda url: {"providers.openai.hosts": [url]},
    "a cluster": lambda url: {"cluster.ray": url.removeprefix("http://").partition("/")[0]},
    "a command": lambda url: {"providers.openai.batch_command": "touch owned"},
    "code": lambda url: {"evolution.scorer": "evil.py:run", "secret_game.judge": "openai:gpt-4o-mini"},
}
LIMIT = {"max_concurrent": 77, "service.budget_usd": 1e9}


def control_rows(url: str) -> list[dict[str, Any]]:
    return [row(url) for row in DANGEROUS.values()]


@pytest.mark.parametrize("taken", [None, 1.0], ids=["waiting", "taken"])
async def test_control_rows_of_a_returned_copy_of_ones_own_file_are_not_obeyed(
    database: Path, tmp_path: Path, server: Emulator, taken: float | None
) -> None:
    """Twice: what waits at the first resume has been taken at the second."""
    async with Emulator() as own:
        create_batch(game(interactions=2, **openai_at(own)), database)
        own.set_faults("openai", rates={"live": {"400": 1.0}})
        copy = Path(shutil.copy(database, tmp_path / "returned.db"))
        ((config,),) = query(copy, "SELECT config FROM batch")
        forge = "INSERT INTO control (batch_number, at, command, arguments, taken_at) VALUES (1, 1.0, 'limits', ?, ?)"
        for row in (*control_rows(server.urls["openai"]), LIMIT):
            change(copy, forge, json.dumps(row), taken)
        for _ in range(2):
            assert (await resume_batch("last", copy))["status"] == "failed"
        assert requests(server) == 0 and requests(own) > 0
        assert query(copy, "SELECT config FROM batch") == [(config,)]
        assert own.providers["openai"].headers["authorization"] == {f"Bearer {KEY}"}
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("limits", [False, True])
async def test_control_rows_that_are_added_while_the_batch_runs_change_limits_alone(
    database: Path, server: Emulator, limits: bool
) -> None:
    async with Emulator() as own:
        batch_id = create_batch(game(interactions=30, **openai_at(own)), database)
        own.set_faults("openai", latency=0.02)
        forge = "INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'limits', ?)"
        written = False

        def listen(event: Event) -> None:
            nonlocal written
            if isinstance(event, CallAnswered) and not written:
                written = True
                for row in [LIMIT] if limits else control_rows(server.urls["openai"]):
                    change(database, forge, json.dumps(row))

        summary = await resume_batch(batch_id, database, on_event=listen)
        assert summary["status"] == "completed" and requests(server) == 0
    ((stored,),) = query(database, "SELECT config FROM batch")
    config = load_frozen(stored)
    assert config.providers.openai.base_url == own.urls["openai"] and config.providers.openai.api_key_env is None
    assert (config.service.max_concurrent, config.service.budget_usd) == ((77, 1e9) if limits else (1, 0.0))
    refused = [line for line in log_of(database, batch_id) if "was rejected" in line]
    assert bool(refused) != limits and (limits or len(refused) >= len(DANGEROUS))


# -- columns and cells around the config ---------------------------------------------------------------------

DESIGN = """
[batch]
kind = "secret_game"
[service]
name = "live"
retries = 0
[providers.openai]
base_url = "SERVER"
[[agents]]
name = "Ada"
model = "simulated:guarded"
secret = "marigold"
[[agents]]
name = "Bo"
model = "simulated:trusting"
secret = "lantern"
[secret_game]
num_interactions = 1
messages_per_interaction = 2
[design]
factors = { "agents.Ada.model" = ["simulated:guarded", "openai:gpt-4o-mini"] }
"""


CELLS = {
    "a simulated cell": (
        "UPDATE batch SET config = json_set(config, '$.providers.openai.base_url', ?) WHERE number = 1",
        True,
    ),
    "a completed cell": (
        "UPDATE batch SET status = 'completed', config = json_set(config, '$.providers.openai.base_url', ?) WHERE number = 1",
        False,
    ),
    "the cell that asks": (
        "UPDATE batch SET config = json_set(config, '$.providers.openai.base_url', ?) WHERE number = 2",
        True,
    ),
}


@pytest.mark.parametrize(("forgery", "refused"), CELLS.values(), ids=CELLS.keys())
async def test_a_changed_cell_of_ones_own_study_leads_no_request_elsewhere(
    database: Path, server: Emulator, forgery: str, refused: bool
) -> None:
    """The cells of a study share their accounts, and a cell whose models are simulated needs no trust by itself."""
    async with Emulator() as own:
        text = DESIGN.replace("SERVER", own.urls["openai"])
        study_id = create_planned(plan_study(config_from(tomllib.loads(text)), database), database)
        change(database, forgery, server.urls["openai"])
        if not refused:
            await resume_study(study_id, database)
        else:
            with pytest.raises(TidepoolError):
                await resume_study(study_id, database)
            assert requests(own) == 0 and query(database, "SELECT count(*) FROM batch") == [(2,)]
        assert requests(server) == 0


async def test_a_batch_of_ones_own_that_is_put_into_a_foreign_study_stays_with_its_server(
    database: Path, server: Emulator
) -> None:
    async with Emulator() as own:
        batch_id = create_batch(game(**openai_at(own)), database)
        text = DESIGN.replace("SERVER", server.urls["openai"]).partition("[design]")[0]
        create_batch(config_from(tomllib.loads(text)), database)
        change(database, "UPDATE batch SET config = json_set(config, '$.batch.name', 'forged') WHERE number = 2")
        change(database, "INSERT INTO study (id, name, design, created_at) VALUES ('abcdef123456', 'x', '{}', 1.0)")
        change(database, "UPDATE batch SET study_id = 'abcdef123456', replicate = number")
        with pytest.raises(NotTrusted):
            await resume_study(batch_id, database)
        assert requests(server) == requests(own) == 0


async def test_an_own_batch_that_is_made_a_branch_in_the_file_is_foreign(database: Path) -> None:
    async with Emulator() as own:
        batch_id = create_batch(game(**openai_at(own)), database)
        origin = {"batch_id": batch_id, "conversations": [1], "at": "t2", "say": None, "times": 300}
        change(database, "UPDATE batch SET status = 'interrupted', origin = ?", json.dumps(origin))
        with pytest.raises(NotTrusted):
            await resume_batch(batch_id, database)
        assert requests(own) == 0 and read_origin(json.dumps({**origin, "times": 10**9})) is None


async def test_a_file_of_the_users_account_that_a_row_calls_an_upload_is_not_deleted(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator() as own:
        for name, value in own.env().items():
            monkeypatch.setenv(name, value)
        async with AsyncOpenAI() as client:
            kept = await client.files.create(file=("training.jsonl", b"{}"), purpose="batch")
        study = game()
        study.service = Service(name="auto", batch_from=0, poll_interval=0.05, retries=0)
        create_batch(study, database)
        row = (
            "INSERT INTO provider_batch (id, batch_number, provider, lot, upload_id, unsure, state, calls, count, wave, content_hash, "
            "reservation_usd, created_at) VALUES ('o1', 1, 'openai', '', ?, 0, 'creating', '[[1, \"zz\", \"00\"]]', 1, 1, 'x', 0, 1)"
        )
        change(database, row, kept.id)
        change(database, "UPDATE batch SET status = 'interrupted'")
        await resume_batch("last", database)
        async with AsyncOpenAI() as client:
            assert (await client.files.retrieve(kept.id)).filename == "training.jsonl"


async def test_a_batch_whose_kind_was_changed_beside_its_config_is_refused(database: Path) -> None:
    create_batch(game(), database)
    change(database, "UPDATE batch SET kind = 'simulation'")
    with pytest.raises(FileError, match="another kind of study than its config"):
        await resume_batch("last", database)


# -- 2: stored replies that a scorer would be given ------------------------------------------------------------------------

EVIL = "```python\nimport os  # owned\n```"


@pytest.fixture
def run_codes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The replies that the user's scorer would have been given."""
    seen: list[str] = []

    async def note(marker: ScorerMarker, reply: str, problem: Problem) -> dict[str, Any]:
        seen.append(reply)
        return {"score": 1.0, "correct": True, "metrics": {}}

    monkeypatch.setattr(ScorerMarker, "score", note)
    monkeypatch.chdir(EXAMPLES)
    return seen


async def stopped_code_study(database: Path, answers: int = 9) -> str:
    control, seen = RunControl(), 0

    def listen(event: Event) -> None:
        nonlocal seen
        seen += isinstance(event, CallAnswered)
        if seen == answers:
            control.stop_for(StopCode.STOPPED)

    return str((await run_batch(code_study(), database, control=control, on_event=listen))["batch_id"])


def replace_replies(path: Path) -> None:
    """Replaces the replies by code, as an attacker who returns the file, and removes the marks."""
    change(path, "UPDATE call SET text = ? WHERE status = 'answered'", EVIL)
    change(path, "DELETE FROM answer")
    change(path, "UPDATE unit SET status = 'in_progress'")
    change(path, "UPDATE batch SET status = 'interrupted'")


@pytest.mark.parametrize("way", ["returned", "imported"])
async def test_replaced_replies_of_ones_own_batch_are_not_run(
    database: Path, tmp_path: Path, run_codes: list[str], way: str
) -> None:
    batch_id = await stopped_code_study(database)
    path = Path(shutil.copy(database, tmp_path / "returned.db"))
    replace_replies(path)
    if way != "returned":
        into = tmp_path / "fresh.db"
        import_file(into, path)
        path = into
    bought = query(path, "SELECT count(*) FROM call")
    with pytest.raises(NotTrusted, match="stored replies that were changed"):
        await resume_batch(batch_id, path)
    assert not any("owned" in code for code in run_codes) and query(path, "SELECT count(*) FROM call") == bought


async def test_a_reply_that_is_replaced_while_the_batch_is_resumed_is_not_run_either(
    database: Path, run_codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the check, before the replay."""
    batch_id = await stopped_code_study(database)
    monkeypatch.setattr("tidepool.engine.run.OpenAccounts.name_batch", lambda accounts, name: replace_replies(database))
    with pytest.raises(NotTrusted, match="not run as code"):
        await resume_batch(batch_id, database)
    assert not any("owned" in code for code in run_codes)


async def test_cached_replies_of_a_foreign_file_are_not_run(
    database: Path, machine: Move, run_codes: list[str]
) -> None:
    machine("there")
    await run_batch(code_study(), database)
    replace_replies(database)
    machine("here")
    run_codes.clear()
    summary = await run_batch(code_study(), database)
    assert summary["status"] == "completed" and summary["calls"]["cached"] == 0 and run_codes
    assert not any("owned" in code for code in run_codes)
    again = await run_batch(code_study(), database)
    assert again["calls"]["cached"] == again["calls"]["total"], "one's own replies serve as cache as ever"


async def test_ones_own_replies_are_run_after_a_kill_and_foreign_ones_after_a_yes(
    database: Path, machine: Move, run_codes: list[str]
) -> None:
    batch_id = await stopped_code_study(database)
    change(database, "DELETE FROM answer")  # as after a kill between the reply and its mark
    run_codes.clear()
    assert (await resume_batch(batch_id, database))["status"] == "completed" and run_codes
    replace_replies(database)
    machine("there")
    ((config,),) = query(database, "SELECT config FROM batch")
    adopt(database, batch_id, config)
    assert (await resume_batch(batch_id, database))["status"] == "completed"
    assert any("owned" in code for code in run_codes)


def test_a_seal_holds_for_one_request_alone() -> None:
    """Else a text that a simulated model of a foreign cell repeats could be moved to a reply that is run."""
    seals = ReplySeals()
    seal = seals.received(b"one request", EVIL)
    assert ReplySeals().admits(b"one request", EVIL, seal)
    for key, text, given in ((b"another", EVIL, seal), (b"one request", "x", seal), (b"one request", EVIL, None)):
        assert not ReplySeals().admits(key, text, given)


@pytest.mark.parametrize("module", ["helper", "statistics"])
def test_a_module_beside_a_returned_file_is_not_run_with_ones_own_scorer(
    tidepool: Tidepool, tmp_path: Path, module: str
) -> None:
    """The scorer has its hash, what it imports has none."""
    home, returned, owned = tmp_path / "home", tmp_path / "returned", tmp_path / "owned"
    home.mkdir()
    (home / "marks.py").write_text(f"import {module}\ndef mark(reply, answer):\n    return True\n")
    (home / "helper.py").write_text("")
    (home / "study.toml").write_text(
        '[batch]\nkind = "evolution"\n[evolution]\nscorer = "marks.py:mark"\npopulation_size = 3\nmax_generations = 1\n'
        "max_problems = 2\nvalidation_problems = 2\nelite_size = 1\n"
    )
    assert tidepool("--run", str(home / "study.toml")).returncode == 0
    returned.mkdir()
    shutil.copy(tidepool.database, returned / "study.db")
    shutil.copy(home / "marks.py", returned)
    (returned / f"{module}.py").write_text(f"open({str(owned)!r}, 'w')\n")
    change(returned / "study.db", "UPDATE batch SET status = 'interrupted'")
    for words in (["--run", f"{returned}/study.db#last"], ["--db", f"{returned}/study.db", "--resume", "last"]):
        assert tidepool(*words).returncode == 0 and not owned.exists()


def test_a_design_that_was_changed_in_the_file_exports_no_code(database: Path, tmp_path: Path) -> None:
    study = config_from(tomllib.loads(DESIGN.replace("SERVER", "http://127.0.0.1:9/v1")))
    study_id = create_planned(plan_study(study, database), database)
    (exported,) = export_batch(database, study_id, "toml", tmp_path / "own.toml")
    assert "http://127.0.0.1:9/v1" in exported.read_text()
    code = "json_set(design, '$.source.evolution', json('{\"scorer\": \"evil.py:run\"}'))"
    change(database, f"UPDATE study SET design = {code}")
    (exported,) = export_batch(database, study_id, "toml", tmp_path / "changed.toml")
    assert dangers(exported.read_text()) == [] and "base_url" not in exported.read_text()
    change(
        database,
        "UPDATE study SET design = json_set(design, '$.source.design.factors', json('{\"evolution.scorer\": [\"evil.py:a\"]}'))",
    )
    with pytest.raises(TidepoolError, match="runs code that only its file names"):
        export_batch(database, study_id, "toml", tmp_path / "again.toml")


# -- 3: drafts, copies, published folders --------------------------------------------------------------------

FOREIGN = {
    "a scorer": '[batch]\nkind = "evolution"\n[evolution]\nscorer = "evil.py:run"\n',
    "a cluster": '[cluster]\nray = "evil.example:6379"\n',
    "a server": '[providers.openai]\nbase_url = "http://evil.example/v1"\napi_key_env = "LAB"\nmax_concurrent = 3\n',
    "a pool": '[providers.lab]\nlike = "openai"\nhosts = ["http://evil.example/v1"]\n',
    "a pool in one line": 'providers = { openai = { hosts = ["http://evil.example"], max_concurrent = 3 } }\n',
    "prices": '[providers.openai]\nprices = { "*" = { input = 0.0, output = 0.0 } }\n',
    "a key of a package": '[providers.shell]\ncommand = "touch evil"\n',
    "a factor": '[design]\nfactors = { "evolution.scorer" = ["evil.py:run", "evil.py:walk"] }\n',
    "a bundle": '[[design.factors.how]]\nlevel = "a"\nset = { "evolution.scorer" = "evil.py:run", "evolution.task" = "text" }\n',
    "a nested bundle": '[[design.factors.how]]\nlevel = "a"\nset = { evolution = { scorer = "evil.py:run" } }\n',
    "a quoted path": """[[design.factors.how]]\nlevel = "a"\nset = { 'evolution."s\\corer"' = "evil.py:run" }\n""",
    "a file elsewhere": '[simulation]\ncontext_file = "/etc/evil"\nentity_file = "../evil.json"\n',
    "a hidden file": '[evolution]\nproblems = ".evil.jsonl"\n[mutation]\nqueries = "~/evil"\n',
    "a factor that reads files": '[design]\nfactors = { "simulation.context_file" = ["evil", "evil2"] }\n',
    "text that is not TOML yet": '[providers.openai]\nbase_url = "http://evil.example/v1\n',
    "escaped letters": '[providers.openai]\n"base_\\u0075rl" = "http://\\u0065vil.example/v1"\n',
    "an escaped section": '["provid\\u0065rs".openai]\nbase_url = "http://evil.example/v1"\napi_key_env = "LAB"\n',
}
DANGER = ("evil", '"LAB"', "prices", "input = 0.0")


def dangers(text: str) -> list[str]:
    return [word for word in DANGER if word in text.replace("not-trusted:evil.py", "")]


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_draft_from_somebody_else_loses_servers_keys_cluster_and_code(
    database: Path, machine: Move, text: str
) -> None:
    draft = Draft(text, "evil/saved.toml", (text, "[batch]\nname = 'mine'\n"))
    keep_draft(database, draft)
    assert read_draft(database) == draft, "one's own stays as it is"
    machine("there")
    found = read_draft(database)
    assert found is not None and found.source == ""
    assert [dangers(part) for part in found.texts] == [[], [], []] and "[batch]\nname = 'mine'\n" in found.earlier
    rules = rules_in_draft(database).providers
    assert not any(rules.section(name).base_url for name in type(rules).model_fields)


def test_a_harmless_draft_survives_and_needs_no_trust(database: Path, machine: Move) -> None:
    text = '[batch]\nkind = "secret_game"\n[secret_game]\nrounds = 3\n[providers.openai]\nmax_concurrent = 3\n'
    keep_draft(database, Draft(text))
    machine("there")
    assert read_draft(database) == Draft(text)


def test_a_draft_that_was_changed_elsewhere_is_foreign(database: Path) -> None:
    keep_draft(database, Draft(FOREIGN["a server"]))
    draft_path(database).write_text(draft_path(database).read_text().replace("evil.example", "evil2.example"))
    found = read_draft(database)
    assert found is not None and "evil2" not in found.text and "max_concurrent = 3" in found.text


async def test_a_foreign_batch_is_refused_copied_imported_and_planned_without_its_server(
    tidepool: Tidepool, database: Path, tmp_path: Path, server: Emulator, machine: Move
) -> None:
    batch_id = create_batch(game("lab:gpt-4o-mini", **lab(server, api_key_env=TREASURE)), database)
    machine("there")
    ((config,),) = query(database, "SELECT config FROM batch")
    assert copied_config(batch_id, config)["providers"]["lab"] == {"like": "openai"}
    import_file(tmp_path / "here.db", database)
    ((imported,),) = query(tmp_path / "here.db", "SELECT config FROM batch")
    for words in (
        ["--resume", "last"],
        ["--run", f"{database}#last"],
        ["--resume", "last", "--set", "service.retries=1"],
    ):
        refused = await asyncio.to_thread(tidepool, *words)
        assert refused.returncode == 2 and "was not created on this machine" in refused.stderr, refused.stderr
    exported = await asyncio.to_thread(tidepool, "export", "last", "--format", "toml", "-o", "copy.toml")
    planned = await asyncio.to_thread(tidepool, "--resume", "last", "--dry-run")
    assert exported.returncode == 0 and planned.returncode in (0, 2)
    for text in (imported, (tmp_path / "copy.toml").read_text(), planned.stdout):
        assert server.urls["lab"] not in text and TREASURE not in text
    assert requests(server) == 0


async def test_a_published_folder_of_somebody_else_runs_nothing(
    tidepool: Tidepool, database: Path, tmp_path: Path, machine: Move, run_codes: list[str]
) -> None:
    await run_batch(code_study(), database)
    published = await asyncio.to_thread(tidepool, "publish", "last", "-o", "folder")
    assert published.returncode == 0, published.stderr
    machine("there")
    (file,) = (tmp_path / "folder").rglob("*.db")
    replace_replies(file)
    shutil.copy(EXAMPLES / "scorer.py", file.parent)
    run_codes.clear()
    for words in (["--run", f"{file}#last"], ["--db", str(file), "--resume", "last"]):
        refused = await asyncio.to_thread(tidepool, *words)
        assert refused.returncode == 2 and "run code on this machine" in refused.stderr, refused.stderr
    with pytest.raises(TidepoolError):
        await resume_batch("last", file)
    assert run_codes == []
