"""Untrusted study files, in four families: another schema, odd rows, attempts on keys and servers, damaged bytes."""

import json
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.untrusted_files.forging import Case, Forge, Forgery

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
"""rows without end: whoever counts or sorts them is never done"""


def _sql(script: str) -> Forge:
    return lambda forgery: forgery.sql(script)


def _text(table: str, old: str, new: str) -> Forge:
    return lambda forgery: forgery.rewrite_schema(table, old, new)


def _in_its_place(table: str, script: str) -> Forge:
    return _sql(f"PRAGMA legacy_alter_table = ON; DROP TABLE {table}; {script}")


def _view_for(table: str, columns: str, rows: str = "") -> Forge:
    return _in_its_place(table, f"CREATE VIEW {table} AS {rows or ENDLESS} SELECT {columns} FROM n")


_REFUSED: dict[str, Forge] = {
    "a trigger on batch": _sql(
        "CREATE TRIGGER later AFTER UPDATE ON batch BEGIN UPDATE batch SET status = 'interrupted'; END"
    ),
    "a trigger on call": _sql("CREATE TRIGGER later AFTER INSERT ON call BEGIN DELETE FROM unit; END"),
    "an endless view for wave": _view_for(
        "wave",
        "1 AS batch_number, x AS wave, 1 AS calls, 0 AS failed, 0 AS cached, 0 AS retried, 1.0 AS seconds, 'live' AS transport",
    ),
    "one more table": _sql("CREATE TABLE more (x)"),
    "no table progress": _sql("DROP TABLE progress"),
    "no tables at all": _sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"),
    "a generated column": _sql("ALTER TABLE batch ADD COLUMN big AS (hex(zeroblob(100000000))) VIRTUAL"),
    "a check with a costly expression": _text(
        "batch", "UNIQUE (id)", "UNIQUE (id), CHECK (length(hex(randomblob(500000000))) > 1)"
    ),
    "an endless view for messages": _sql(
        f"DROP VIEW messages; CREATE VIEW messages AS {ENDLESS} SELECT x AS batch_id, x AS conversation_id FROM n"
    ),
    "a view that loads code": _sql("DROP VIEW log; CREATE VIEW log AS SELECT load_extension('./evil') AS batch_id"),
    "file version 0": _sql("PRAGMA user_version = 0"),
    "a newer file version": _sql("PRAGMA user_version = 99"),
}

_ODD: dict[str, tuple[str, Forge]] = {
    "forged statistics of the planner": (
        "game",
        _sql(
            "ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('call', 'call_by_address', '1 1 1'), "
            "('call', 'call_by_key', 'noskipscan unordered 99999999999999999999'), ('unit', NULL, '-1'), (NULL, NULL, x'00')"
        ),
    ),
    "a virtual table": ("game", _sql("CREATE VIRTUAL TABLE extra USING fts5(config, content='batch', content_rowid='number')")),
}  # fmt: skip


def _schema_cases() -> Iterator[Case]:
    for name, forge in _REFUSED.items():
        yield Case("schema", name, "game", forge, refused=True)
    for name, (base, forge) in _ODD.items():
        yield Case("schema", name, base, forge)


BASES = {
    "outcome": "game",
    "judgement": "simulation",
    "line": "mutation",
    "genome": "evolution",
    "finding": "evolution",
    "training_update": "mutation",
    "provider_batch": "ordered",
    "prompt": "simulation",
    "problem": "evolution",
    "answer": "evolution",
    "library_entity": "simulation",
    "library_type": "simulation",
    "library_agent": "game",
}
"""the file that has rows of a table, or uses them; else the game"""
TABLES = (
    *("batch", "progress", "wave", "unit", "call", "prompt", "line", "provider_batch", "surplus", "outcome", "sit_out"),
    *("judgement", "genome", "training_update", "log_line", "finding", "control", "library_entity", "library_type"),
    *("library_agent", "study", "study_cell", "problem", "answer", "code", "measure", "record"),
)
ODD: dict[str, Any] = {
    "a blob": b"\x00\xff\xfe odd",
    "a text": "odd",
    "a real": 0.5,
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "a negative number": -7,
    "a huge number": 9223372036854775807,
    "an unlikely number": 10**18,
    "null": None,
    "an empty text": "",
    "malformed JSON": '[[["odd"]]]',
    "a JSON number": "1e999",
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "an escape": "\x1b[2J\x1b]0;owned\x07",
    "a text with a zero byte": "od\x00d",
    "text that is not UTF-8": b"CAST",
}


def _odd_value(table: str, times: int) -> Forge:
    """Some value in some column that does not fit, chosen by lot; where there is no row, one is made."""

    def forge(forgery: Forgery) -> None:
        with forgery.opened() as connection:
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0:
                values = [_plain(name, declared) for _, name, declared, *_ in columns]
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        for _ in range(times):
            column = forgery.chance.choice(
                [row[1] for row in columns if row[1] not in ("number", "batch_number", "unit_id")]
            )
            _put(forgery, table, column, forgery.chance.choice(list(ODD)))

    return forge


def _plain(name: str, declared: str) -> object:
    if name == "unit_id":
        return (1 << 32) + 1
    if name in ("details", "attributes", "definition", "design", "content", "arguments"):
        return "{}"
    return {"INTEGER": 1, "BOOLEAN": 0, "FLOAT": 1.0, "BLOB": b"odd"}.get(declared, "odd")


def _put(forgery: Forgery, table: str, column: str, kind: str) -> None:
    place = f'UPDATE OR IGNORE {table} SET "{column}" ='
    where = f"WHERE rowid = (SELECT max(rowid) FROM {table})"
    try:
        if kind == "text that is not UTF-8":
            forgery.sql(f"{place} CAST(x'fffe80' AS TEXT) {where}")
        elif kind == "nothing":
            forgery.without_rules(table, f"{place} NULL {where}")
        else:
            forgery.run(f"{place} ? {where}", ODD[kind])
    except sqlite3.IntegrityError:  # a row's own number takes only numbers
        forgery.run(f"{place} -1 {where}")


def _config(text: str) -> Forge:
    return lambda forgery: forgery.run("UPDATE batch SET config = ?", text)


def _set(*path: str, value: object) -> Forge:
    """One key of the frozen config."""

    def change(config: dict[str, Any]) -> None:
        for key in path[:-1]:
            config = config[key]
        config[path[-1]] = value

    return lambda forgery: forgery.configured(change)


def _million(table: str, columns: str, row: str, most: int = 1_000_000) -> Forge:
    return _sql(
        f"WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < {most}) "
        f"INSERT OR IGNORE INTO {table} ({columns}) SELECT {row} FROM n"
    )


LONG = "printf('%.*c', 20000000, 'x')"
_DOUBLED = '{"batch": {}, "batch": {"kind": "os", "metadata": 1}, "batch": []}'

_ROWS: dict[str, tuple[str, Forge]] = {
    "no progress row": ("game", _sql("DELETE FROM progress")),
    "no batch for the units": ("game", _sql("DELETE FROM batch")),
    "no calls for the units": ("evolution", _sql("DELETE FROM call")),
    "two batches as last": (
        "several",
        lambda forgery: forgery.without_rules(
            "batch", "UPDATE batch SET number = CASE number WHEN 1 THEN 1073741823 ELSE 1073741824 END"
        ),
    ),
    "a batch without an id": ("game", _sql("UPDATE batch SET id = ''")),
    "an id with slashes": ("game", _sql("UPDATE batch SET id = '../../../evil'")),
    "an id of a flag": ("game", _sql("UPDATE batch SET id = '--json'")),
    "units far apart": ("game", _sql(f"UPDATE unit SET id = {(1 << 32) + (1 << 31)}, sequence_number = {1 << 31} WHERE id = {(1 << 32) + 4}")),
    "a million waves": ("game", _million("wave", "batch_number, wave, calls, failed, cached, retried, seconds, transport", "1, x, 1, 0, 0, 0, 1.0, 'live'")),
    "waves with huge numbers": ("game", _sql(f"UPDATE wave SET wave = {1 << 60} + wave; UPDATE call SET wave = {1 << 60} + wave")),
    "a million units": ("simulation", _million("unit", "id, batch_number, sequence_number, participants, status, sealed", "4294967296 + x, 1, x, '[\"Ada\"]', 'completed', 0")),
    "twenty thousand batches": ("game", _sql(
        "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) INSERT INTO batch SELECT x, 'b' || x, kind, name, description, status, reason, paused, seed, simulated, imported, config, version, host, created_at, finished_at, stop_code, study_id, replicate, origin, headline FROM batch, n;"
        "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) INSERT INTO progress SELECT x, units_total, units_completed, units_failed, calls, bought, cached, replayed, retried, failed, input_tokens, output_tokens, cost_usd, unpriced, seconds, call_seconds, peak_concurrency, heartbeat, heartbeat_at, in_flight, limits, in_flight_usd, reasoning_tokens, cut, unusable, usage_missing FROM progress, n")),
    "two hundred thousand messages in one conversation": ("game", _million("call", "unit_id, step, wave, turn, speaker, model, key, status, text, input_tokens, output_tokens, seconds, source, attempts, at", "4294967297, 't' || x, x, x, 'Ada', 'simulated:x', x'00', 'answered', 'word', 1, 1, 1.0, 'live', 1, 1.0", 200_000)),
    "two hundred thousand entities": ("simulation", _million("library_entity", "id, name, description, attributes, created_at", "'e' || x, 'x', '', '{}', 1.0", 200_000)),
    "a name of 20 MB": ("game", _sql(f"UPDATE batch SET name = {LONG}, description = {LONG}")),
    "messages of 20 MB": ("game", _sql(f"UPDATE call SET text = {LONG} WHERE id < 4")),
    "a million participants": ("game", _sql("UPDATE unit SET participants = (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT json_group_array('p' || x) FROM n) WHERE id = 4294967297")),
    "a million calls in flight": ("paused", _sql("UPDATE progress SET in_flight = (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT json_group_array(json_array(x, x)) FROM n)")),
    "malformed limits": ("paused", _sql("UPDATE progress SET limits = '{\"providers\": [\"x\"]}', heartbeat_at = 1e12; UPDATE batch SET host = 'elsewhere'")),
    "details that are a string": ("mutation", _sql("UPDATE unit SET details = '\"x\"'")),
    "a deep config": ("game", _config("[" * 1_000_000)),
    "a config with keys twice": ("simulation", _config(_DOUBLED)),
    "a config of another kind": ("game", _sql("UPDATE batch SET kind = 'evolution'")),
    "a kind with an escape": ("game", _sql("UPDATE batch SET kind = char(27) || '[2J'")),
    "malformed agents": ("game", _set("agents", value=[1, None, "x"])),
    "a billion conversations": ("game", _set("secret_game", "num_interactions", value=10**9)),
    "a billion steps": ("mutation", _set("mutation", "num_env_steps", value=10**9)),
    "settings that are strings": ("game", _set("service", value={"name": "live", "max_concurrent": "many", "timeout": []})),
    "files of the user in the config": ("simulation", _set("simulation", "context_file", value="/etc/passwd")),
    "problems of the user's files": ("evolution", _set("evolution", "problems", value="/etc/passwd")),
    "malformed provider batches": ("ordered", _sql("UPDATE provider_batch SET calls = '{\"x\": 1}', state = 'created'")),
    "infinite times": ("ordered", _sql("UPDATE provider_batch SET created_at = 9e999, polled_at = -9e999; UPDATE call SET at = CASE WHEN id % 2 THEN 9e999 ELSE -9e999 END")),
    "a genome that is its own parent": ("evolution", _sql("UPDATE genome SET parents = json_array(genome_id)")),
    "two genomes that are each other's parents": ("evolution", _sql("UPDATE genome SET parents = (SELECT json_group_array(genome_id) FROM genome)")),
    "malformed findings": ("evolution", _sql("UPDATE finding SET content = '[1, 2]'")),
    "outcomes without a conversation": ("game", _sql("DELETE FROM unit; DELETE FROM call")),
    "spans outside the text": ("mutation", _sql("UPDATE line SET start = -9223372036854775807, length = 9223372036854775807, thought_start = -1")),
    "a malformed library": ("simulation", _sql("INSERT INTO library_entity VALUES ('e1', 'x', 'human', '', '[1]', 1.0); INSERT INTO library_agent VALUES ('a1', 'x', '\"x\"', 1.0); INSERT INTO library_type VALUES ('human', '[]', 1.0)")),
    "an unknown origin": ("game", _sql("UPDATE batch SET origin = 'x', study_id = '../x', replicate = -1")),
}  # fmt: skip


def _row_cases() -> Iterator[Case]:
    for table in TABLES:
        yield Case("rows", f"2 odd values in {table}", BASES.get(table, "game"), _odd_value(table, 2))
    for name, (base, forge) in _ROWS.items():
        yield Case("rows", name, base, forge, large=any(word in name for word in ("million", "thousand", "20 MB")))


VICTIM = "victim"
"""a folder beside the file that is none of its business"""


def _asks(**provider: Any) -> Forge:
    """The study goes on, with models of a server that the file names."""

    def forge(forgery: Forgery) -> None:
        server = forgery.server

        def change(config: dict[str, Any]) -> None:
            name = provider.get("name", "openai")
            settings = {key: _filled(value, server) for key, value in provider.items() if key != "name"}
            config["providers"].setdefault(name, {}).update(settings)
            for agent in config["agents"]:
                agent["model"] = f"{name}:gpt-4o-mini"
            if "simulation" in config:
                config["simulation"]["model"] = f"{name}:gpt-4o-mini"

        forgery.configured(change)
        forgery.sql(
            "UPDATE batch SET status = 'interrupted', simulated = 0; DELETE FROM call; UPDATE unit SET status = 'in_progress'"
        )

    return forge


def _filled(value: Any, server: str) -> Any:
    if isinstance(value, list):
        return [_filled(one, server) for one in value]
    return value.replace("SERVER", server) if isinstance(value, str) else value


def _and(*forges: Forge) -> Forge:
    def forge(forgery: Forgery) -> None:
        for one in forges:
            one(forgery)

    return forge


def _here(forgery: Forgery) -> None:
    forgery.run("UPDATE batch SET host = ?, status = 'in_progress', imported = 0", socket.gethostname())


def _queued(forgery: Forgery) -> None:
    forgery.sql("UPDATE batch SET status = 'pending', reason = 'queued'")


def _bought(forgery: Forgery) -> None:
    """Provider batches of the user's account that the file says are its own."""
    forgery.sql(
        "UPDATE provider_batch SET state = 'created', remote_id = 'batch_of_the_user'; UPDATE batch SET status = 'in_progress'"
    )


def _lock_of(forgery: Forgery) -> Path:
    return forgery.path.with_name(f"{forgery.path.name}-{forgery.value('SELECT id FROM batch')}.lock")


def _lock_is_link(forgery: Forgery) -> None:
    victim = forgery.path.parent / VICTIM
    victim.write_text("the user's own")
    _lock_of(forgery).symlink_to(victim)
    forgery.sql("UPDATE batch SET status = 'in_progress'")
    _here(forgery)


def _lock_is_folder(forgery: Forgery) -> None:
    _lock_of(forgery).mkdir()
    _here(forgery)


def _lock_is_fifo(forgery: Forgery) -> None:
    os.mkfifo(_lock_of(forgery))
    _here(forgery)


def _limits(arguments: dict[str, str]) -> Forge:
    """Words of control that were taken already, as a resume once read them."""

    def forge(forgery: Forgery) -> None:
        text = json.dumps({key: _filled(value, forgery.server) for key, value in arguments.items()})
        forgery.run(
            "INSERT INTO control (batch_number, at, command, arguments, taken_at) VALUES (1, 1.0, 'limits', ?, 1.0)",
            text,
        )

    return forge


_SERVER = _asks(base_url="SERVER/v1")
_TRUST: dict[str, tuple[str, Forge]] = {
    "a base_url of its own": ("game", _SERVER),
    "a base_url of its own, in a panel": ("simulation", _SERVER),
    "a base_url, forged as this machine's": ("game", _and(_SERVER, _here)),
    "a base_url, queued": ("simulation", _and(_SERVER, _queued)),
    "hosts of its own": ("game", _asks(name="ollama", hosts=["SERVER"])),
    "a key of another name": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", api_key_env="ANTHROPIC_API_KEY")),
    "the user's home folder as a key": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", api_key_env="HOME")),
    "a pool with a server of its own": ("game", _asks(name="lab", like="anthropic", hosts=["SERVER", "SERVER/x"], api_key_env="OPENAI_API_KEY")),
    "Anthropic at another address": ("game", _asks(name="anthropic", base_url="SERVER")),
    "the provider's own address and a paid model": ("game", _asks()),
    "queued by the file itself": ("queued", _queued),
    "provider batches of the user's account": ("ordered", _bought),
    "provider batches at a server of its own": ("ordered", _and(_SERVER, _bought)),
    "a lock that is a link": ("game", _lock_is_link),
    "a lock that is a folder": ("game", _lock_is_folder),
    "a lock that is a pipe": ("game", _lock_is_fifo),
    "a trust record beside it": ("game", _and(_SERVER, lambda forgery: (forgery.path.parent / "trust.json").write_text("{}"))),
    "a command to start": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", batch_command="touch owned")),
    "a stored stop request": ("paused", lambda forgery: forgery.sql("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'stop', '{}')")),
    "a stored change of limits": ("paused", lambda forgery: forgery.sql("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'limits', '{\"max_concurrent\": -1, \"budget_usd\": 1e18}')")),
    "limits that name a server": ("paused", _limits({"providers.openai.base_url": "SERVER/v1", "providers.openai.api_key_env": "ANTHROPIC_API_KEY"})),
    "limits that name a cluster": ("paused", _limits({"cluster.ray": "127.0.0.1:6379"})),
    "a kind of another batch": ("game", lambda forgery: forgery.sql("UPDATE batch SET kind = 'evolution', status = 'interrupted'")),
}  # fmt: skip


def _trust_cases() -> Iterator[Case]:
    for name, (base, forge) in _TRUST.items():
        yield Case("trust", name, base, forge)


HEADER = 100


def _bytes(change: Callable[[bytearray, Forgery], object]) -> Forge:
    def forge(forgery: Forgery) -> None:
        content = bytearray(forgery.path.read_bytes())
        change(content, forgery)
        forgery.path.write_bytes(content)

    return forge


def _flips(count: int, first: int = HEADER) -> Forge:
    def change(content: bytearray, forgery: Forgery) -> None:
        for _ in range(count):
            content[forgery.chance.randrange(first, len(content))] ^= 1 << forgery.chance.randrange(8)

    return _bytes(change)


def _cut(share: float) -> Forge:
    return _bytes(lambda content, forgery: content.__delitem__(slice(int(len(content) * share), None)))


def _overwrite(place: int, value: bytes) -> Forge:
    return _bytes(lambda content, forgery: content.__setitem__(slice(place, place + len(value)), value))


def _zero_page(content: bytearray, forgery: Forgery) -> None:
    size = int.from_bytes(content[16:18])
    page = forgery.chance.randrange(1, len(content) // size)
    content[page * size : (page + 1) * size] = bytes(size)


def _beside(suffix: str, content: Callable[[Forgery], bytes]) -> Forge:
    return lambda forgery: forgery.path.with_name(forgery.path.name + suffix).write_bytes(content(forgery))


def _hot_journal(forgery: Forgery) -> None:
    """As if a writer had died: pages of it are put back when the file is opened."""
    content = forgery.path.read_bytes()
    size = int.from_bytes(content[16:18])
    head = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + (1).to_bytes(4) + bytes(4) + (len(content) // size).to_bytes(4)
    head += (512).to_bytes(4) + size.to_bytes(4)
    page = content[size : 2 * size]
    checksum = sum(page[place] for place in range(size - 200, 0, -200)) & 0xFFFFFFFF
    journal = head.ljust(512, b"\0") + (2).to_bytes(4) + page + checksum.to_bytes(4)
    forgery.path.with_name(f"{forgery.path.name}-journal").write_bytes(journal)


def _instead(make: Callable[[Forgery], object]) -> Forge:
    def forge(forgery: Forgery) -> None:
        forgery.path.rename(forgery.path.with_name("elsewhere"))
        make(forgery)

    return forge


def _sparse(forgery: Forgery) -> None:
    """A hundred gigabytes on paper, with our header before them."""
    with forgery.path.open("r+b") as file:
        file.truncate(100 * 10**9)


def _utf16(forgery: Forgery) -> None:
    with forgery.opened() as connection:
        script = "\n".join(line for line in connection.iterdump() if "sqlite_sequence" not in line)
        mark, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
    forgery.path.unlink()
    forgery.sql(
        f"PRAGMA encoding = 'UTF-16le'; {script}; PRAGMA application_id = {mark}; PRAGMA user_version = {version}"
    )


_BYTES: dict[str, Forge] = {
    **{f"{count} flipped bits ({number})": _flips(count) for count in (1, 10, 200) for number in (1, 2)},
    "flipped bits in the header": _flips(3, 20),
    "half of it": _cut(0.5),
    "a hundred bytes of it": _bytes(lambda content, forgery: content.__delitem__(slice(100, None))),
    "a page of zeros": _bytes(_zero_page),
    "an odd page size": _overwrite(16, (777).to_bytes(2)),
    "a future file format": _overwrite(18, b"\x09\x09"),
    "a wrong length": _overwrite(28, (10**9).to_bytes(4)),
    "an unknown encoding": _overwrite(56, (9).to_bytes(4)),
    "in UTF-16": _utf16,
    "a text": _bytes(lambda content, forgery: content.__setitem__(slice(None), b"hello\n" * 1000)),
    "a folder": _instead(lambda forgery: forgery.path.mkdir()),
    "a pipe": _instead(lambda forgery: os.mkfifo(forgery.path)),
    "a link": _instead(lambda forgery: forgery.path.symlink_to("elsewhere")),
    "a link to itself": _instead(lambda forgery: forgery.path.symlink_to(forgery.path.name)),
    "a link to nothing": _instead(lambda forgery: forgery.path.symlink_to("nowhere/at/all.db")),
    "a file that may not be read": lambda forgery: forgery.path.chmod(0),
    "a sparse file of 100 GB": _sparse,
}
_SETTLED: dict[str, Forge] = {
    "a hot journal": _hot_journal,
    "a journal of noise": _beside("-journal", lambda forgery: b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + forgery.chance.randbytes(9000)),
    "a write-ahead log of noise": _beside("-wal", lambda forgery: forgery.chance.randbytes(9000)),
    "a write-ahead log in WAL mode": lambda forgery: (
        _overwrite(18, b"\x02\x02")(forgery),
        _beside("-wal", lambda forgery: b"\x37\x7f\x06\x82" + forgery.chance.randbytes(9000))(forgery),
    ),
}  # fmt: skip


def _byte_cases() -> Iterator[Case]:
    for name, forge in _BYTES.items():
        yield Case("bytes", name, "game", forge)
    for name, forge in _SETTLED.items():
        yield Case("bytes", name, "game", forge, settles=True)


CASES: tuple[Case, ...] = (*_schema_cases(), *_row_cases(), *_trust_cases(), *_byte_cases())
