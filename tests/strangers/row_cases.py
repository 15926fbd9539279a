"""Files of the right schema with rows that no Tidepool writes."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from tests.strangers.case import Case, Forge, Forgery

BASES = {
    "outcome": "game",
    "judgement": "talks",
    "line": "mutation",
    "genome": "evolution",
    "finding": "evolution",
    "training_update": "mutation",
    "provider_batch": "ordered",
    "prompt": "talks",
    "problem": "evolution",
    "answer": "evolution",
    "library_entity": "talks",
    "library_type": "talks",
    "library_agent": "game",
}
"""the file that has rows of a table, or uses them; else the game"""
TABLES = (
    *("batch", "progress", "wave", "unit", "call", "prompt", "line", "provider_batch", "surplus", "outcome", "sit_out"),
    *("judgement", "genome", "training_update", "log_line", "finding", "control", "library_entity", "library_type"),
    *("library_agent", "study", "study_cell", "problem", "answer", "code", "record"),
)
ODD: dict[str, Any] = {
    "a blob": b"\x00\xff\xfe odd",
    "a text": "odd",
    "a real": 0.5,
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "a negative number": -7,
    "a huge number": 9223372036854775807,
    "a number of another world": 10**18,
    "nothing": None,
    "an empty text": "",
    "JSON of another shape": '[[["odd"]]]',
    "a JSON number": "1e999",
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "an escape": "\x1b[2J\x1b]0;owned\x07",
    "a text with a zero byte": "od\x00d",
    "text that is none": b"CAST",
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
        if kind == "text that is none":
            forgery.sql(f"{place} CAST(x'fffe80' AS TEXT) {where}")
        elif kind == "nothing":
            forgery.without_rules(table, f"{place} NULL {where}")
        else:
            forgery.run(f"{place} ? {where}", ODD[kind])
    except sqlite3.IntegrityError:  # a row's own number takes only numbers
        forgery.run(f"{place} -1 {where}")


def _sql(script: str) -> Forge:
    return lambda forgery: forgery.sql(script)


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
    "no progress row of one of two": ("several", _sql("DELETE FROM progress WHERE batch_number = 1")),
    "no batch for the units": ("game", _sql("DELETE FROM batch")),
    "no units for the calls": ("game", _sql("DELETE FROM unit")),
    "no calls for the units": ("evolution", _sql("DELETE FROM call")),
    "no findings": ("evolution", _sql("DELETE FROM finding")),
    "no training": ("mutation", _sql("DELETE FROM training_update; DELETE FROM finding")),
    "two batches as last": (
        "several",
        lambda forgery: forgery.without_rules(
            "batch", "UPDATE batch SET number = CASE number WHEN 1 THEN 1073741823 ELSE 1073741824 END"
        ),
    ),
    "a batch number of another world": ("game", _sql("UPDATE batch SET number = 9223372036854775807")),
    "a negative batch number": ("game", _sql("UPDATE batch SET number = -1; UPDATE progress SET batch_number = -1")),
    "a batch without an id": ("game", _sql("UPDATE batch SET id = ''")),
    "an id with slashes": ("game", _sql("UPDATE batch SET id = '../../../evil'")),
    "an id with a line break": ("talks", _sql("UPDATE batch SET id = 'a' || char(10) || 'b'")),
    "an id with a zero byte": ("game", _sql("UPDATE batch SET id = 'a' || char(0) || 'b'")),
    "an id of a flag": ("game", _sql("UPDATE batch SET id = '--json'")),
    "units_total of 10**18": ("game", _sql(f"UPDATE progress SET units_total = {10**18}")),
    "negative counters": ("game", _sql("UPDATE progress SET units_total = -5, units_completed = -9, calls = -3, seconds = -1")),
    "counters of infinity": ("game", _sql("UPDATE progress SET seconds = 9e999, call_seconds = 9e999, cost_usd = 9e999")),
    "negative sequence numbers": ("talks", _sql("UPDATE unit SET sequence_number = -sequence_number")),
    "units of another batch": ("game", _sql("UPDATE unit SET id = id + 4294967296")),
    "units far apart": ("game", _sql(f"UPDATE unit SET id = {(1 << 32) + (1 << 31)}, sequence_number = {1 << 31} WHERE id = {(1 << 32) + 4}")),
    "a million waves": ("game", _million("wave", "batch_number, wave, calls, failed, cached, retried, seconds, transport", "1, x, 1, 0, 0, 0, 1.0, 'live'")),
    "waves of another world": ("game", _sql(f"UPDATE wave SET wave = {1 << 60} + wave; UPDATE call SET wave = {1 << 60} + wave")),
    "a million units": ("talks", _million("unit", "id, batch_number, sequence_number, participants, status, sealed", "4294967296 + x, 1, x, '[\"Ada\"]', 'completed', 0")),
    "a million lines of log": ("game", _million("log_line", "batch_number, at, level, message", "1, 1.0, 'info', 'x' || x")),
    "a million orders": ("ordered", _million("provider_batch", "id, batch_number, provider, lot, upload_id, unsure, state, calls, count, wave, content_hash, reservation_usd, created_at", "'o' || x, 1, 'openai', '', '', 0, 'created', '[]', 1, 1, 'x', 0.0, 1.0", 300_000)),
    "twenty thousand batches": ("game", _sql(
        "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) INSERT INTO batch SELECT x, 'b' || x, kind, name, description, status, reason, paused, seed, simulated, imported, config, version, host, created_at, finished_at, stop_code, study_id, replicate, origin FROM batch, n;"
        "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) INSERT INTO progress SELECT x, units_total, units_completed, units_failed, calls, bought, cached, replayed, retried, failed, input_tokens, output_tokens, cost_usd, unpriced, seconds, call_seconds, peak_concurrency, heartbeat, heartbeat_at, in_flight, limits, in_flight_usd, reasoning_tokens, cut, unusable, usage_missing FROM progress, n")),
    "two hundred thousand messages in one talk": ("game", _million("call", "unit_id, step, wave, turn, speaker, model, key, status, text, input_tokens, output_tokens, seconds, source, attempts, at", "4294967297, 't' || x, x, x, 'Ada', 'simulated:x', x'00', 'answered', 'word', 1, 1, 1.0, 'live', 1, 1.0", 200_000)),
    "fifty thousand genomes": ("evolution", _million("genome", "batch_number, generation, genome_id, parents, operator, prompt", "1, x, 'g' || x, '[]', 'x', 'x'", 50_000)),
    "two hundred thousand entities": ("talks", _million("library_entity", "id, name, description, attributes, created_at", "'e' || x, 'x', '', '{}', 1.0", 200_000)),
    "a name of 20 MB": ("game", _sql(f"UPDATE batch SET name = {LONG}, description = {LONG}")),
    "messages of 20 MB": ("game", _sql(f"UPDATE call SET text = {LONG} WHERE id < 4")),
    "a speaker of 20 MB": ("talks", _sql(f"UPDATE call SET speaker = {LONG} WHERE id = 1; UPDATE unit SET participants = json_array({LONG}) WHERE sequence_number = 1")),
    "an error of 20 MB": ("game", _sql(f"UPDATE unit SET status = 'failed', error = {LONG} WHERE sequence_number = 1; UPDATE batch SET reason = {LONG}")),
    "an agent of 20 MB": ("game", _sql(f"UPDATE outcome SET agent = {LONG}, opponent = {LONG} WHERE side = 0")),
    "a prompt of 20 MB": ("evolution", _sql(f"UPDATE genome SET prompt = {LONG} WHERE rowid < 3")),
    "a line of log of 20 MB": ("game", _sql(f"UPDATE log_line SET message = {LONG}, level = {LONG}")),
    "a million participants": ("game", _sql("UPDATE unit SET participants = (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT json_group_array('p' || x) FROM n) WHERE id = 4294967297")),
    "a million calls in flight": ("paused", _sql("UPDATE progress SET in_flight = (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT json_group_array(json_array(x, x)) FROM n)")),
    "words in flight": ("paused", _sql("UPDATE progress SET in_flight = '{\"a\": [\"b\"]}', limits = '[1, 2]', heartbeat_at = 1e12")),
    "limits of another shape": ("paused", _sql("UPDATE progress SET limits = '{\"providers\": [\"x\"]}', heartbeat_at = 1e12; UPDATE batch SET host = 'elsewhere'")),
    "rests of another shape": ("paused", _sql("UPDATE progress SET limits = '{\"providers\": {\"x\": {\"resting\": {\"why\": [], \"since\": \"a\", \"until\": {}, \"down\": 3}}}}', heartbeat_at = 1e12; UPDATE batch SET host = 'elsewhere'")),
    "participants that are none": ("talks", _sql("UPDATE unit SET participants = '{\"Ada\": 1}', details = '[1]'")),
    "participants that are numbers": ("game", _sql("UPDATE unit SET participants = '[1, null, {}]'")),
    "details that are none": ("mutation", _sql("UPDATE unit SET details = '\"x\"'")),
    "a config that is no JSON": ("game", _config("{'odd': ")),
    "a config that is empty": ("talks", _config("")),
    "a config that is a list": ("evolution", _config("[]")),
    "a config that is a number": ("mutation", _config("7")),
    "a config without anything": ("game", _config("{}")),
    "a deep config": ("game", _config("[" * 1_000_000)),
    "a config with keys twice": ("talks", _config(_DOUBLED)),
    "a config of another kind": ("game", _sql("UPDATE batch SET kind = 'evolution'")),
    "a config of a kind that there is not": ("game", _sql("UPDATE batch SET kind = 'os', config = replace(config, 'secret_game', 'os')")),
    "a kind with an escape": ("game", _sql("UPDATE batch SET kind = char(27) || '[2J'")),
    "agents of another shape": ("game", _set("agents", value=[1, None, "x"])),
    "a billion conversations": ("game", _set("secret_game", "num_interactions", value=10**9)),
    "a billion messages each": ("paused", _set("secret_game", "messages_per_interaction", value=10**9)),
    "a billion simulations": ("queued", _set("simulation", "num_simulations", value=10**9)),
    "a billion turns": ("talks", _set("simulation", "n_turns", value=10**9)),
    "groups of a million": ("talks", _set("simulation", "interaction_size", value=10**6)),
    "a population of a billion": ("evolution", _set("evolution", "population_size", value=10**9)),
    "a billion generations": ("evolution", _set("evolution", "max_generations", value=10**9)),
    "a billion problems": ("evolution", _set("evolution", "max_problems", value=10**9)),
    "a billion steps": ("mutation", _set("mutation", "num_env_steps", value=10**9)),
    "a billion processes": ("mutation", _set("mutation", "num_processes", value=10**9)),
    "settings that are words": ("game", _set("service", value={"name": "live", "max_concurrent": "many", "timeout": []})),
    "metadata that is a list": ("game", _set("batch", "metadata", value=[1])),
    "files of the user in the config": ("talks", _set("simulation", "context_file", value="/etc/passwd")),
    "a policy of the user's files": ("mutation", _set("mutation", "policy", value="/etc/passwd")),
    "problems of the user's files": ("evolution", _set("evolution", "problems", value="/etc/passwd")),
    "states that there are not": ("game", _sql("UPDATE batch SET status = 'owned'; UPDATE unit SET status = 'owned'; UPDATE call SET status = 'owned'")),
    "sources that there are not": ("game", _sql("UPDATE call SET source = 'owned', finish_reason = 'owned'; UPDATE wave SET transport = 'owned'")),
    "phases that there are not": ("ordered", _sql("UPDATE provider_batch SET state = 'owned', provider = 'owned'")),
    "orders of another shape": ("ordered", _sql("UPDATE provider_batch SET calls = '{\"x\": 1}', state = 'created'")),
    "orders of calls that are none": ("ordered", _sql("UPDATE provider_batch SET calls = '[[\"x\"], [1, 2, 3, 4]]', state = 'created'")),
    "moments of the year 10**9": ("game", _sql("UPDATE batch SET created_at = 3e16, finished_at = 3e16; UPDATE log_line SET at = 3e16; UPDATE call SET at = 3e16; UPDATE unit SET started_at = 3e16, finished_at = 3e16")),
    "moments before time": ("talks", _sql("UPDATE batch SET created_at = -9e18; UPDATE log_line SET at = -9e18; UPDATE unit SET started_at = -9e18")),
    "moments that never come": ("ordered", _sql("UPDATE provider_batch SET created_at = 9e999, polled_at = -9e999; UPDATE call SET at = CASE WHEN id % 2 THEN 9e999 ELSE -9e999 END")),
    "a genome that is its own parent": ("evolution", _sql("UPDATE genome SET parents = json_array(genome_id)")),
    "two genomes that are each other's parents": ("evolution", _sql("UPDATE genome SET parents = (SELECT json_group_array(genome_id) FROM genome)")),
    "parents that are none": ("evolution", _sql("UPDATE genome SET parents = '[{}, 1, null, \"nobody\"]'")),
    "fitness of infinity": ("evolution", _sql("UPDATE genome SET fitness = 9e999, accuracy = -9e999")),
    "findings of another shape": ("evolution", _sql("UPDATE finding SET content = '[1, 2]'")),
    "findings that are null": ("mutation", _sql("UPDATE finding SET content = 'null'")),
    "findings that are empty": ("evolution", _sql("UPDATE finding SET content = '{}'")),
    "findings that are no JSON": ("mutation", _sql("UPDATE finding SET content = 'x'")),
    "updates of another shape": ("mutation", _sql("UPDATE training_update SET details = '[1]', mean_reward = 9e999")),
    "outcomes without a talk": ("game", _sql("DELETE FROM unit; DELETE FROM call")),
    "outcomes of a million agents": ("game", _million("outcome", "unit_id, side, mode, game, agent, opponent, revealed, obtained", "4294967297, x, 'standard', 1, 'a' || x, 'b' || x, 1, 0", 100_000)),
    "ratings off any scale": ("talks", _sql("UPDATE judgement SET rating = 9e999")),
    "spans off the text": ("mutation", _sql("UPDATE line SET start = -9223372036854775807, length = 9223372036854775807, thought_start = -1")),
    "a library of another shape": ("talks", _sql("INSERT INTO library_entity VALUES ('e1', 'x', 'human', '', '[1]', 1.0); INSERT INTO library_agent VALUES ('a1', 'x', '\"x\"', 1.0); INSERT INTO library_type VALUES ('human', '[]', 1.0)")),
    "words of control": ("paused", _sql("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'stop', '{}'), (1, 1.0, 'limits', '[]'), (1, 1.0, 'owned', 'x')")),
    "an origin that is none": ("game", _sql("UPDATE batch SET origin = 'x', study_id = '../x', replicate = -1")),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for table in TABLES:
        for times in (1, 2, 3):
            name = f"{times} odd value{'s' if times > 1 else ''} in {table}"
            yield Case("rows", name, BASES.get(table, "game"), _odd_value(table, times))
    for name, (base, forge) in _ROWS.items():
        yield Case("rows", name, base, forge, large=any(word in name for word in ("million", "thousand", "20 MB")))
