"""Creates a branch: chooses conversations of a batch, reads and verifies them up to the branched turn, and freezes a new config.

To verify, every request up to the branched turn is rebuilt and compared with the hash of the original request. If one differs,
because of another version of the program or a changed file, no branch is created.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.answers import fits
from tidepool.engine.branching.replay import BranchStudy
from tidepool.engine.call import Call, seed_of
from tidepool.engine.config.freezing import load_frozen, with_overrides
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.gate import adopt, judge, plannable
from tidepool.engine.kinds import load_kind
from tidepool.engine.studies.branches import (
    MOST_TIMES,
    Branch,
    BranchKind,
    BranchStage,
    Origin,
    OriginAnswer,
    OriginTalk,
    read_origin,
)
from tidepool.engine.studies.conversation import OneByOne, rehearse
from tidepool.engine.studies.study import study_from
from tidepool.engine.trust.foreign_keys import without_foreign
from tidepool.engine.trust.record import trust_record
from tidepool.storage import batches
from tidepool.storage.file import reading
from tidepool.storage.queries.conversations import TalkRow, answers_by_step, talk_rows
from tidepool.storage.states import UnitStatus
from tidepool.storage.text import storable

MANY, FEW = 20, 5
"""default redraws: of one conversation, and of each of several"""
LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class BranchSpec:
    batch: str
    at: str
    conversations: Sequence[int] = ()
    """empty: all completed conversations"""
    say: str | None = None
    times: int | None = None
    overrides: Sequence[str] = ()


def new_branch(path: Path, spec: BranchSpec, *, trust: bool = False, plan_only: bool = False) -> BranchStudy:
    """Returns a study that is ready to be stored and run. Raises before anything is written if it is not possible."""
    with reading(path) as connection:
        batch = batches.find_batch(connection, spec.batch)
        kind = _branchable(batch)
        config_text = plannable(batch["id"], batch["config"]) if plan_only else batch["config"]
        config = with_overrides(load_frozen(config_text), spec.overrides)
        admission = judge(batch["id"], batch["config"], study_from(config))
        if not plan_only and not trust:
            admission.refuse()
        if (study := study_from(config)).code() and (admission.own or (trust and not plan_only)):
            study.find_code(trust_record().folders_of(batch["id"]) or [Path.cwd()])
        branch = _read(connection, batch, kind, config, spec)
    is_own = admission.own
    if trust and admission.needs_trust and not plan_only:
        adopt(path, admission.batch_id, admission.frozen)
        is_own = True
    return BranchStudy(_config(config, branch.origin, is_own=is_own), branch)


def _branchable(batch: sqlite3.Row) -> BranchKind:
    branches = load_kind(batch["kind"]).study.branches
    if branches is None:
        raise UsageError(f"Batch {batch['id']} is a {batch['kind']}: only batches of conversations can be branched.")
    if (origin := read_origin(batch["origin"])) is not None:
        raise UsageError(
            f"Batch {batch['id']} is itself a branch. Branch its original batch instead: {origin.batch_id}."
        )
    return branches


def _read(
    connection: sqlite3.Connection, batch: sqlite3.Row, branch_kind: BranchKind, config: FrozenConfig, spec: BranchSpec
) -> Branch:
    steps = branch_kind.steps(config)
    position = _place(steps, spec)
    rows = _chosen(batch, talk_rows(connection, batch["number"]), spec)
    earlier = branch_kind.earlier(connection, batch["number"], config, rows)
    stage = branch_kind.stage(config, earlier, OneByOne())
    talks = []
    for row in rows:
        talk, keys = _talk(connection, batch["number"], row, steps[: position + 1])
        _verify_replay(stage, talk, config.batch.seed, spec, keys)
        talks.append(talk)
    if spec.say is not None and (not spec.say.strip() or len(spec.say) > LONGEST_TEXT):
        raise UsageError(f"--say needs a text of 1 to {LONGEST_TEXT:,} characters.")
    say = None if spec.say is None else storable(spec.say)
    times = spec.times if spec.times is not None else MANY if len(rows) == 1 else FEW
    if not 1 <= times <= MOST_TIMES:
        raise UsageError(f"--times {times}: must be from 1 to {MOST_TIMES:,} redraws of each conversation.")
    origin = Origin(batch["id"], tuple(row.number for row in rows), spec.at, say, times)
    return Branch(origin, talks, earlier)


def _place(steps: Sequence[str], spec: BranchSpec) -> int:
    if spec.at not in steps:
        listed = ", ".join(steps) if len(steps) <= 8 else f"{', '.join(steps[:4])}, …, {steps[-1]}"
        raise UsageError(f"--at {spec.at}: there is no such message. The messages of this batch are {listed}.")
    position = steps.index(spec.at)
    if spec.say is not None and position == len(steps) - 1:
        raise UsageError(
            f"--at {spec.at}: no message follows it, so a replacement has no effect. Choose an earlier message."
        )
    return position


def _chosen(batch: sqlite3.Row, rows: Sequence[TalkRow], spec: BranchSpec) -> list[TalkRow]:
    completed = {row.number: row for row in rows if row.status == UnitStatus.COMPLETED}
    if not spec.conversations:
        if not completed:
            raise NotFound(f"Batch {batch['id']} has no completed conversation to branch.")
        return list(completed.values())
    numbers = {row.number for row in rows}
    for number in spec.conversations:
        if number not in completed:
            why = "is not complete" if number in numbers else "does not exist"
            raise NotFound(f"Conversation {number} of batch {batch['id']} {why}, so it cannot be branched.")
    return [completed[number] for number in sorted(set(spec.conversations))]


def _talk(
    connection: sqlite3.Connection, batch_number: int, row: TalkRow, steps: Sequence[str]
) -> tuple[OriginTalk, dict[str, bytes]]:
    """The conversation up to the last of these steps, which is resampled, and the hash of the request at each step."""
    answers = answers_by_step(connection, batch_number, row.number)
    if missing := [step for step in steps if step not in answers]:
        raise NotFound(f"Conversation {row.number} has no message {missing[0]}, so it cannot be branched there.")
    columns = ("step", "text", "truth", "finish_reason", "served_model", "thought")
    earlier_answers = [OriginAnswer(**{name: answers[step][name] for name in columns}) for step in steps[:-1]]
    return OriginTalk.of(row, earlier_answers), {step: answers[step]["key"] for step in steps}


class _ReplayVerified(Exception):
    """The branched turn is reached, and all requests match the originals."""


def _verify_replay(stage: BranchStage, talk: OriginTalk, seed: int, spec: BranchSpec, keys: dict[str, bytes]) -> None:
    texts = {answered.step: answered.text for answered in talk.before}

    def answer(call: Call) -> str:
        if call.key(seed_of(seed, talk.number, call.step)) != keys.get(call.step):
            raise UsageError(
                f"Conversation {talk.number} cannot be branched: its request at {call.step!r} would differ from the original. "
                "The batch was made by another version of Tidepool, or its file was changed."
            )
        if call.step == spec.at:
            if spec.say is not None and call.form.startswith("{") and not fits(spec.say, call.form):
                raise UsageError(
                    f"--say {spec.say!r} is no answer in the form that the study requests here: {call.form}"
                )
            raise _ReplayVerified
        return texts[call.step]

    try:
        rehearse(stage.story(talk), answer, talk.number)
    except _ReplayVerified:
        return


def _config(config: FrozenConfig, origin: Origin, *, is_own: bool) -> FrozenConfig:
    """Returns the original config with a new name, and a new seed, so that no redraw gets the original reply from cache."""
    data = json.loads(config.to_json())
    if not is_own:  # all its models are simulated, so no address of the file is adopted
        data = without_foreign(data)
    for section in ("design", "stop"):
        data.pop(section, None)
    data["batch"]["name"] = f"{config.batch.name}, branched at {origin.at}"
    data["batch"]["seed"] = seed_of(config.batch.seed, "branch")
    return load_frozen(json.dumps(data, ensure_ascii=False))
