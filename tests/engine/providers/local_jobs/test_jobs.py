"""Waves as jobs of a program on this machine: started exactly once, found again, kept as far as they were answered."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.emulator import Emulator
from tests.engine.providers.conftest import Talks
from tests.engine.providers.local_jobs.lab import CALLS, MESSAGES, Lab, until
from tests.support.command import ROOT
from tests.support.state import change, query
from tidepool.engine.batch_command import arguments_of
from tidepool.engine.call import Call, Message
from tidepool.engine.config.loading import load_config
from tidepool.engine.config.sections import Providers, ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.local_jobs import batches as local_batches
from tidepool.engine.providers.local_jobs import keeper
from tidepool.engine.providers.local_jobs.folder import JobFolder
from tidepool.engine.providers.protocol import ErrorClass, ProviderBatchGone, ProviderError


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / "state"))
    return Lab.within(tmp_path)


def test_every_wave_is_one_job_however_small_and_costs_nothing(lab: Lab) -> None:
    done = lab.run(
        "--run", lab.study(), "--json", "--set", "service.budget_usd=1.0", OPENAI_API_KEY="sk-not-for-the-job"
    )
    assert done.returncode == 0, done.stderr
    program = Path(sys.executable).name
    assert f"asks lab:tiny by local jobs of {program}" in done.stderr
    assert f"lab by {program}: 2 local jobs, 2 one after another, as long as it takes each" in done.stderr
    summary = json.loads(done.stdout)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == CALLS and summary["cost_usd"] == 0
    assert len(lab.starts) == MESSAGES
    orders = lab.run.json("orders", "last", "--all")
    assert "completed" in json.dumps(orders)


def test_a_call_that_goes_alone_is_a_job_too(lab: Lab) -> None:
    assert lab.summary("--run", lab.study(conversations=1))["status"] == "completed"
    assert len(lab.starts) == MESSAGES
    assert not list((lab.folder / "state" / "jobs").glob("*-*/input.jsonl"))


@pytest.mark.parametrize("moment", ["before-create", "before-book", "while-recording"])
def test_killed_at_any_step_and_resumed_every_job_is_started_once(lab: Lab, moment: str) -> None:
    lab.killed_at(moment)
    summary = lab.summary("--resume", "last")
    assert summary["status"] == "completed" and summary["calls"]["bought"] == CALLS
    assert len(lab.starts) == MESSAGES and len({job for _, job in lab.starts}) == MESSAGES


@pytest.fixture
def held(lab: Lab) -> Iterator[Lab]:
    """A run that was killed while its first job was at work."""
    lab.killed_while_a_job_runs()
    yield lab
    lab.obey("hold")


def test_a_job_outlives_the_study_and_its_answers_are_taken_where_its_folder_is(held: Lab) -> None:
    held.obey("hold")
    jobs = held.folder / "state" / "jobs"
    until(lambda: JobFolder(held.starts[0][1]).code is not None)
    jobs.rename(held.folder / "elsewhere")
    done = held.run("--resume", "last")
    assert done.returncode == 1 and "started on another machine" in done.stderr and " key " not in done.stderr
    assert f"--give-up {held.starts[0][1].partition('-')[0]}`" in done.stderr
    (held.folder / "elsewhere").rename(jobs)
    assert held.summary("--resume", "last")["calls"]["bought"] == CALLS
    assert len(held.starts) == MESSAGES


def test_a_job_that_was_killed_is_asked_again(held: Lab) -> None:
    keeper = json.loads(next((held.folder / "state" / "jobs").glob("*-0/claim")).read_text())["pid"]
    os.killpg(keeper, signal.SIGKILL)
    held.obey("hold")
    assert held.summary("--resume", "last")["status"] == "completed"
    assert len(held.starts) == MESSAGES + 1 and "was killed" in held.log()


def test_a_job_that_is_given_up_ends_and_is_asked_again(held: Lab) -> None:
    job = held.starts[0][1]
    done = held.run("orders", "last", "--give-up", job, "--yes")
    assert done.returncode == 0, done.stderr
    until(lambda: not JobFolder(job).alive)
    held.obey("hold")
    assert held.summary("--resume", "last")["status"] == "completed"
    assert len(held.starts) == MESSAGES + 1


def test_a_run_that_is_stopped_ends_its_jobs_where_it_shall(lab: Lab) -> None:
    lab.order("hold")
    with lab.run.start("--run", lab.study(), "--on-stop", "cancel") as process:
        until(lambda: lab.starts and lab.open_jobs)
        process.terminate()
        assert process.wait(30) == 143
    until(lambda: not JobFolder(lab.starts[0][1]).alive)
    lab.obey("hold")
    assert lab.summary("--resume", "last")["status"] == "completed"
    assert len(lab.starts) == MESSAGES + 1


async def test_a_server_takes_what_jobs_leave_over_and_waves_that_are_small(
    lab: Lab, talks: Talks, emulator: Emulator
) -> None:
    lab.order("mess")
    lab.order("code", "3")
    section = {"like": "openai", "batch_command": lab.command, "base_url": emulator.urls["openai"]}
    way: dict[str, Any] = {"providers": {"lab": section}, "name": "auto", "batch_from": 8}
    assert (await talks.play("lab:gpt-4o-mini", **way))["status"] == "completed"
    assert len(lab.starts) == MESSAGES and len(emulator.purchases) == 10
    told = "\n".join(row[0] for row in query(talks.database, "SELECT message FROM log_line"))
    for words in ("6 lines of the output", "belong to no call", "first answer counts", "exit code 3", "10 of 20 calls"):
        assert words in told
    assert (await talks.play("lab:gpt-4o-mini", **way, conversations=3, seed=8))["status"] == "completed"
    assert len(lab.starts) == MESSAGES and len(emulator.purchases) == 16


async def test_embeddings_that_wait_together_share_a_job(lab: Lab) -> None:
    provider = open_provider("lab", ProviderSettings(like="openai", batch_command=lab.command))
    calls = [Call(f"e{at}", 1, "lab:tiny", (Message("user", f"text {at}"),), operation="embed") for at in range(3)]
    answers = await asyncio.gather(*(provider.complete(call, 1, 1) for call in calls))
    assert len({answer.text for answer in answers}) == 3 and len(lab.starts) == 1
    await provider.close()


def test_what_a_broken_output_holds_is_kept_and_the_rest_is_asked_again(lab: Lab) -> None:
    lab.order("half")
    summary = lab.summary("--run", lab.study())
    assert summary["status"] == "completed" and summary["calls"]["bought"] == CALLS
    assert "1 lines of the output" in lab.log() and "calls came back unanswered" in lab.log()


def test_a_command_that_fails_is_told_with_its_last_lines_and_without_keys(lab: Lab) -> None:
    (lab.folder / "state").mkdir()
    broken = shlex.join(["sh", "-c", 'echo "no GPU here, $LAB_KEY" >&2; exit 7', "sh", "{input}", "{output}"])
    study = lab.study(batch_command=broken, api_key_env="LAB_KEY")
    done = lab.run("--run", study, LAB_KEY="sesame-sesame")
    assert done.returncode == 1 and "exit code 7" in done.stderr and "no GPU here, [key]" in done.stderr
    again = lab.run(
        "--resume", "last", "--set", f"providers.lab.batch_command={json.dumps(lab.command)}", LAB_KEY="sesame"
    )
    assert again.returncode == 0, again.stderr
    assert lab.command not in lab.log() and "sesame" not in lab.log()


def test_an_output_of_somebody_elses_calls_is_refused_and_they_go_another_way(lab: Lab) -> None:
    lab.order("foreign")
    assert lab.summary("--run", lab.study())["status"] == "completed"
    assert "answered none of its calls" in lab.log()


def test_jobs_of_one_endpoint_take_turns(lab: Lab) -> None:
    lab.order("hold")
    study = lab.study(batch_size=6)
    process = subprocess.Popen([sys.executable, "-m", "tidepool", "--db", str(lab.database), "--run", study], cwd=ROOT)
    jobs = lab.folder / "state" / "jobs"
    until(lambda: len(list(jobs.glob("*-0/claim"))) == 2 and lab.starts)
    assert len(lab.starts) == 1 and len(list(jobs.glob("*-0/started"))) == 1
    lab.obey("hold")
    assert process.wait(60) == 0 and len(lab.starts) == 2 * MESSAGES


def test_no_file_holds_a_command_and_none_that_stands_in_one_is_run(lab: Lab) -> None:
    lab.killed_at("after-intent")
    (stored,) = query(lab.database, "SELECT config FROM batch")[0]
    assert str(lab.book) not in stored and json.loads(stored)["providers"]["lab"]["batch_command"] == ""
    forged = json.loads(stored)
    forged["providers"]["lab"]["batch_command"] = lab.command
    change(lab.database, "UPDATE batch SET config = ?", json.dumps(forged))
    for arguments in (("--resume", "last"), ("--resume", "last", "--trust"), ("--run", f"{lab.database}#last")):
        done = lab.run(*arguments)
        assert done.returncode == 2 and "batch_command" in done.stderr, (arguments, done.stderr)
    assert not lab.starts


def test_the_cells_of_a_study_share_jobs_and_its_file_has_no_command(lab: Lab) -> None:
    path = Path(lab.study())
    path.write_text(path.read_text() + '[design.factors]\n"agents.*.temperature" = [0.1, 0.9]\n')
    assert lab.summary("--run", str(path))["status"] == "completed"
    assert len(lab.starts) == MESSAGES and str(lab.book).encode() not in lab.database.read_bytes()


def test_a_program_that_is_not_there_is_told_before_anything_is_written(lab: Lab) -> None:
    done = lab.run("--run", lab.study(batch_command="no-such-program {input} {output}"))
    assert done.returncode == 2 and "no program 'no-such-program'" in done.stderr and not lab.database.exists()


async def test_an_output_may_be_seen_late_but_not_for_ever(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = open_provider("lab", ProviderSettings(like="openai", batch_command=lab.command)).batches
    assert jobs is not None
    folder = JobFolder.new("0123456789ab")
    claimed = keeper.claim(folder.path, keeper.place())
    assert claimed is not None and keeper.claim(folder.path, keeper.place()) is None
    assert (await jobs.poll(folder.id)).label == "waiting for its turn"
    os.close(claimed)
    (folder.path / keeper.RC).write_text("0")
    assert (await jobs.poll(folder.id)).label == "waiting for its output"
    monkeypatch.setattr(local_batches, "LATE_SECONDS", 0.0)
    assert "sbatch --wait" in ((await jobs.poll(folder.id)).failed_reason or "")
    (folder.path / "about.json").write_text('{"calls": 2}')
    folder.output.write_text('{"custom_id": "0123456789ab_1"}\n{"custom')
    monkeypatch.setattr(local_batches, "LATE_SECONDS", 60.0)
    assert not (await jobs.poll(folder.id)).ended
    folder.output.write_text('{"custom_id": "0123456789ab_1"}\n{"custom_id": "0123456789ab_2"}\n')
    assert (await jobs.poll(folder.id)).label == "completed"
    folder.remove()
    with pytest.raises(ProviderBatchGone):
        await jobs.poll(folder.id)
    with pytest.raises(ProviderBatchGone):
        await jobs.poll("../study")


async def test_what_is_not_here_is_nobodys_to_take_back_and_can_be_given_up_without_a_command(lab: Lab) -> None:
    provider = open_provider("lab", ProviderSettings(like="openai", batch_command=""))
    await provider.check([])
    for model_names, words in ((["tiny"], "Say which"), ([], "started on another machine")):
        with pytest.raises(ProviderError, match=words) as told:
            await (provider.check(model_names) if model_names else provider.batches.withdraw("0123456789ab-0"))
        assert told.value.fault is ErrorClass.SYSTEMIC


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("vllm run-batch -i {input}", "{output} must stand in it once"),
        ("vllm -i {input} -o {output} --log {input}", "{input} must stand in it once"),
        ("vllm -i {input} -o {output} --user {home}", "{home} is none of"),
        ("sh -c 'vllm -i {input} -o {output}'", "no shell reads this"),
        ("{input} {output}", "begin with the name of a program"),
        ("vllm '{input} {output}", "no list of arguments"),
    ],
)
def test_a_command_that_could_not_be_meant_is_refused(command: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        ProviderSettings(like="openai", batch_command=command)


def test_a_command_is_for_endpoints_of_ones_own() -> None:
    command = "vllm run-batch -i {input} -o {output}"
    assert arguments_of(command, input="/a b", output="/c") == ["vllm", "run-batch", "-i", "/a b", "-o", "/c"]
    for section in ({"openai": {}}, {"lab": {"like": "ollama"}}, {"lab": {"like": "openai", "batch_api": True}}):
        with pytest.raises(ValidationError):
            Providers.model_validate({name: {**keys, "batch_command": command} for name, keys in section.items()})
    assert Providers.model_validate({"vllm": {"batch_command": command}}).section("vllm").batch_command == command


EXAMPLES = ROOT / "examples" / "cluster"


def test_the_example_is_a_study_and_plans_where_there_is_no_such_program(lab: Lab) -> None:
    command = load_config(EXAMPLES / "run_batch.toml").providers.section("lab").batch_command
    assert command is not None and arguments_of(command)[:2] == ["vllm", "run-batch"]
    told = lab.run("--run", str(EXAMPLES / "run_batch.toml"), "--dry-run").stdout
    assert "lab by vllm: 6 local jobs" in told and not lab.database.exists()


@pytest.mark.parametrize("ended", [False, True])
def test_the_script_for_slurm_waits_for_its_job_and_takes_it_along(tmp_path: Path, ended: bool) -> None:
    shims = {
        "sbatch": 'echo "$@" >> said; for one; do case $one in *.sh) break;; esac; shift; done\nTIDEPOOL_JOB=1 exec sh "$@"',
        "vllm": 'echo "$@" >> said; [ -e hold ] && exec sleep 60; cp "$3" "$5"',
        "scancel": 'echo scancel "$@" >> said',
    }
    for name, text in shims.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)
    (folder := tmp_path / "0123456789ab-0").mkdir()
    (folder / "input.jsonl").write_text("{}\n")
    if ended:
        (tmp_path / "hold").touch()
    files = [str(folder / "input.jsonl"), str(folder / "output.jsonl"), "tiny"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = ["sh", str(EXAMPLES / "run_batch.sh"), *files]
    process = subprocess.Popen(script, cwd=tmp_path, env=environment, start_new_session=True)
    said = tmp_path / "said"
    until(lambda: said.exists() and "--model tiny" in said.read_text())
    if ended:
        os.killpg(process.pid, signal.SIGTERM)
    assert (process.wait(30) == 0) is not ended and (folder / "output.jsonl").exists() is not ended
    assert ("scancel --name tidepool-0123456789ab-0" in said.read_text()) is ended and "--wait" in said.read_text()
