"""The views of a study file: the stable interface for scripts and other programs.

Each view is a query with the meaning of every column. Names and order of columns are a promise: a new column goes behind
the others. `schema.sql` and `docs/data.md` are generated from this list.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from tidepool.storage.states import STALE_SECONDS, BatchStatus, ProviderBatchPhase, Source, StopCode, UnitStatus

ColumnType = Literal["text", "integer", "real", "boolean", "JSON", "moment"]
"""JSON and moments are texts, a boolean is 0 or 1"""


@dataclass(frozen=True, slots=True)
class ViewColumn:
    name: str
    type: ColumnType
    meaning: str
    values: tuple[str, ...] = ()
    """all that the column may hold, where that is a closed list"""


@dataclass(frozen=True, slots=True)
class View:
    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    query: str


def columns(table: str, **values: Iterable[str]) -> tuple[ViewColumn, ...]:
    """Reads lines of `name | type | meaning`; a line that is indented continues the one before. `values` are closed lists."""
    lines = re.sub(r"\n +", " ", textwrap.dedent(table).strip()).splitlines()
    cells = [line.split(" | ") for line in lines]
    return tuple(
        ViewColumn(name, cast(ColumnType, kind), meaning, tuple(values.get(name, ()))) for name, kind, meaning in cells
    )


def moment(column: str) -> str:
    """Seconds since 1970 as a text that sorts and that every tool reads."""
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, 'unixepoch')"


FINISH_REASONS = ("complete", "cut", "filtered", "refused", "tool", "empty", "error")
"""why a reply ended, in words that are the same for every provider"""


BATCHES = View(
    "batches",
    "One row for each batch: one config, run once.",
    columns(
        """
        id | text | Names the batch everywhere, in the command and in file names.
        study_id | text | The study it is a cell of; empty for a batch of its own.
        kind | text | `secret_game`, `simulation`, `evolution`, `mutation`, or the name of a plugin's kind.
        name | text | As the config names it.
        status | text | How far it is. A batch whose process died shows as interrupted, also on a copy of the file.
        reason | text | Why it stopped, in words for people; empty where nothing stopped it.
        seed | integer | The seed that every random draw comes from.
        simulated | boolean | Whether any model of the study is simulated.
        version | text | The version of Tidepool that made the batch.
        config | JSON | The whole config as it was frozen at the start, without any API key.
        created_at | moment | When it was made.
        finished_at | moment | When it last ended or was stopped; empty while it runs.
        cost_usd | real | What was spent so far, in dollars; empty where a price is unknown.
        stop_code | text | Why it stopped, for programs; empty where nothing stopped it.
        replicate | integer | Which repetition of its cell it is, from 1; empty outside a study.
        origin | JSON | Where it branched off another batch; empty for a batch that did not.
        served_models | text | The models that providers say have answered, joined by commas; empty where none said.
        """,
        status=BatchStatus,
        stop_code=StopCode,
    ),
    f"""
    SELECT b.id, b.study_id, b.kind, b.name,
           CASE WHEN b.status = 'in_progress'
                 AND abs((julianday('now') - 2440587.5) * 86400.0 - coalesce(p.heartbeat_at, 0)) > {STALE_SECONDS}
                THEN 'interrupted' ELSE b.status END AS status,
           b.reason, b.seed, b.simulated, b.version, b.config,
           {moment("b.created_at")} AS created_at,
           {moment("b.finished_at")} AS finished_at,
           CASE WHEN p.unpriced > 0 THEN NULL ELSE p.cost_usd END AS cost_usd,
           b.stop_code, b.replicate, b.origin,
           (SELECT group_concat(served_model, ', ') FROM
               (SELECT DISTINCT c.served_model FROM call c
                WHERE c.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1 AND c.served_model IS NOT NULL
                ORDER BY 1)) AS served_models
    FROM batch b LEFT JOIN progress p ON p.batch_number = b.number""",
)

STUDIES = View(
    "studies",
    "One row for each study: a design whose cells are batches.",
    columns(
        """
        id | text | Names the study.
        name | text | As the config names it.
        design | JSON | Factors, replicates and hypotheses, as they were frozen at the start.
        created_at | moment | When it was made.
        """
    ),
    f"""
    SELECT s.id, s.name, s.design, {moment("s.created_at")} AS created_at
    FROM study s""",
)

CELLS = View(
    "cells",
    "One row for each batch of a study and each factor: the level that the factor has there. A study without factors has "
    "one row for each batch.",
    columns(
        """
        study_id | text | The study: `studies.id`.
        batch_id | text | The batch.
        replicate | integer | Which repetition of its cell the batch is, from 1.
        factor | text | The factor's name; empty in a study without factors.
        level | text | The level it has in this batch.
        """
    ),
    """
    SELECT b.study_id, b.id AS batch_id, b.replicate, c.factor, c.level
    FROM batch b LEFT JOIN study_cell c ON c.batch_number = b.number
    WHERE b.study_id IS NOT NULL""",
)

WAVES = View(
    "waves",
    "One row for each wave: the calls that can be made at the same time.",
    columns(
        """
        batch_id | text | The batch.
        wave | integer | Its number, from 1: in conversations the position of the message, elsewhere the step of the
            study.
        calls | integer | Calls made or failed so far.
        failed | integer | Calls that failed for good.
        seconds | real | From the first call that was asked to the last answer, over all sessions.
        transport | text | How its answers came: `live`, `batch` (the provider's batch API), `cache`; several joined by
            `+`.
        """
    ),
    """
    SELECT b.id AS batch_id, w.wave, w.calls, w.failed, w.seconds, w.transport
    FROM batch b JOIN wave w ON w.batch_number = b.number""",
)

PROVIDER_BATCHES = View(
    "provider_batches",
    "One row for each job at a provider's batch API. It is written before the provider is asked, so none is forgotten.",
    columns(
        """
        batch_id | text | The batch.
        provider | text | The provider's name.
        remote_id | text | The provider's name for it; empty until it has one.
        state | text | How far it is on our side; the last four are closed.
        calls | integer | How many calls it holds.
        created_at | moment | When it was decided on.
        finished_at | moment | When it was closed; empty while it is open.
        remote_state | text | The provider's own word at the last look.
        wave | integer | The wave its calls belong to.
        """,
        state=ProviderBatchPhase,
    ),
    f"""
    SELECT b.id AS batch_id, p.provider, p.remote_id, p.state, p.count AS calls,
           {moment("p.created_at")} AS created_at,
           {moment("p.finished_at")} AS finished_at, p.remote_state, p.wave
    FROM batch b JOIN provider_batch p ON p.batch_number = b.number""",
)

LOG = View(
    "log",
    "What was told while the batch ran, in order.",
    columns(
        """
        batch_id | text | The batch.
        at | moment | When.
        level | text | How grave it is.
        message | text | One or more sentences.
        """,
        level=("info", "warning", "error"),
    ),
    f"""
    SELECT b.id AS batch_id, {moment("l.at")} AS at, l.level, l.message
    FROM batch b JOIN log_line l ON l.batch_number = b.number""",
)

RECORDS = View(
    "records",
    "Rows that a kind of study keeps which has no view of its own, such as a plugin's.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The unit it belongs to; empty: to the batch as a whole.
        name | text | What kind of row it is; the kind of study says which there are.
        position | integer | Its place among the rows of that name and unit.
        content | JSON | What it says.
        """
    ),
    """
    SELECT b.id AS batch_id, nullif(r.unit_id, b.number << 32) AS conversation_id, r.name, r.position, r.content
    FROM batch b JOIN record r ON r.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1""",
)


CONVERSATIONS = View(
    "conversations",
    "One row for each unit, the smallest thing that completes or fails on its own: a conversation, a simulation, the "
    "evaluation of a genome, an episode.",
    columns(
        """
        id | integer | Names it within the file; another file may number it otherwise.
        batch_id | text | The batch.
        sequence_number | integer | Its place in the batch's plan, from 1.
        game | integer | The game of a secret game it belongs to, from 1.
        round | integer | The round of a game, or a genome's generation.
        interaction_type | text | `solo`, `dyadic` or `group` by the number of speakers; what a genome was asked for
            (`genome`, `random_search`, `validation`, …); the phase of an episode.
        participants | JSON | A list: the speakers in speaking order, the genome's id, or who chose in an episode.
        status | text | How far it is.
        error | text | Why it failed.
        """,
        status=UnitStatus,
    ),
    """
    SELECT u.id, b.id AS batch_id, u.sequence_number, u.game, u.round, u.interaction_type,
           u.participants, u.status, u.error
    FROM batch b JOIN unit u ON u.batch_number = b.number
    WHERE u.sequence_number > 0""",
)

MESSAGES = View(
    "messages",
    "One row for each message: a reply shown to somebody, or a part of one. Those of a conversation are in order by `wave` "
    "and `position`. A call that failed has no message.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        turn | integer | In a secret game the message's position, in a simulation the turn; from 1.
        wave | integer | The wave its call belongs to.
        speaker | text | Who says it.
        model | text | The model that was asked, as `PROVIDER:MODEL`; `assigned` for a message that a branch says
            itself.
        served_model | text | The model that the provider says has answered; empty where it said nothing.
        content | text | What was said.
        thought | text | What was thought and not shown to the others: a persona's, or a model's reasoning.
        finish_reason | text | Why the reply ended: `cut` at its length limit, `complete` by itself. Empty where it was
            not recorded.
        input_tokens | integer | What was read, with the first message of a reply; 0 with its others.
        output_tokens | integer | What was written, likewise.
        cost_usd | real | Its price in dollars, likewise; empty where it is unknown.
        seconds | real | How long the call took, likewise.
        source | text | Where the reply came from.
        position | integer | Tells apart the messages of one reply, from 0.
        """,
        finish_reason=FINISH_REASONS,
        source=(Source.LIVE, Source.BATCH, Source.CACHE),
    ),
    """
    SELECT b.id AS batch_id, c.unit_id AS conversation_id, coalesce(l.turn, c.turn) AS turn, c.wave,
           coalesce(l.speaker, c.speaker) AS speaker, c.model, c.served_model,
           CASE WHEN l.step IS NULL THEN c.text ELSE substr(c.text, l.start + 1, l.length) END AS content,
           CASE WHEN l.thought_start IS NOT NULL THEN substr(c.text, l.thought_start + 1, l.thought_length)
                WHEN coalesce(l.position, 0) = 0 THEN c.thought END AS thought,
           c.finish_reason,
           CASE WHEN coalesce(l.position, 0) = 0 THEN c.input_tokens ELSE 0 END AS input_tokens,
           CASE WHEN coalesce(l.position, 0) = 0 THEN c.output_tokens ELSE 0 END AS output_tokens,
           CASE WHEN coalesce(l.position, 0) = 0 THEN c.cost_usd ELSE 0.0 END AS cost_usd,
           CASE WHEN coalesce(l.position, 0) = 0 THEN c.seconds ELSE 0.0 END AS seconds, c.source,
           coalesce(l.position, 0) AS position
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN call c ON c.unit_id = u.id
         LEFT JOIN line l ON l.unit_id = c.unit_id AND l.step = c.step
    WHERE c.status = 'answered' AND (c.turn IS NOT NULL OR l.step IS NOT NULL)""",
)

OUTCOMES = View(
    "outcomes",
    "One row for each side of a finished conversation of a secret game. A conversation that failed has none.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        mode | text | How points are counted.
        game | integer | The game it belongs to, from 1.
        agent | text | Whose side it is.
        opponent | text | The other side; the same name where an agent meets itself.
        opener | boolean | Whether this side spoke first.
        scenario | integer | Its place in the config's list of scenarios, from 1; empty without them.
        secret | text | What this side was to keep.
        revealed | boolean | Whether a detector found this side's own secret in its own words.
        uncertain | boolean | Whether all that was found is an ordinary reading as well; empty where that was not looked
            at.
        obtained | boolean | Whether the other side revealed.
        detector | text | What found it first, such as `exact`, `spelled`, `encoded`, `fuzzy`.
        turn | integer | The message it was found in.
        score | real | Points of this side; empty until its game ends, in modes that count only then.
        model | text | The model that played this side.
        served_model | text | The model that the provider says has answered.
        """,
        mode=("standard", "retained", "diversity", "targeted"),
    ),
    """
    SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.mode, o.game, o.agent, o.opponent, o.side = 0 AS opener,
           o.scenario, o.secret, o.revealed, o.uncertain, o.obtained, o.detector, o.turn, o.score, o.model,
           o.served_model
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id""",
)

VERDICTS = View(
    "verdicts",
    "What a judge said of each side of a secret game; kept apart from `outcomes.revealed`.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        agent | text | Whose side it is.
        opponent | text | The other side.
        opener | boolean | Whether this side spoke first.
        revealed | boolean | What the detectors of wording say.
        verdict | boolean | Whether the judge says that it revealed; empty: no clear answer.
        model | text | The judge.
        answer | text | The judge's words.
        """
    ),
    """
    SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.agent, o.opponent, o.side = 0 AS opener, o.revealed,
           o.verdict, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id
         JOIN call c ON c.unit_id = o.unit_id AND c.step = o.verdict_step""",
)

SIT_OUTS = View(
    "sit_outs",
    "One row for each round of a secret game in which an agent had no conversation.",
    columns(
        """
        batch_id | text | The batch.
        game | integer | The game, from 1.
        round | integer | The round, from 1.
        agent | text | Who sat out.
        """
    ),
    """
    SELECT b.id AS batch_id, s.game, s.round, s.agent
    FROM batch b JOIN sit_out s ON s.batch_number = b.number""",
)

JUDGEMENTS = View(
    "judgements",
    "What a judge said of each entity of a simulation.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        place | integer | The entity's place in the speaking order, from 1.
        entity | text | Its name.
        rating | real | The rating; empty: no clear one, or no answer.
        model | text | The judge.
        answer | text | The judge's words.
        """
    ),
    """
    SELECT b.id AS batch_id, j.unit_id AS conversation_id, j.place, j.entity, j.rating, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place""",
)

CODES = View(
    "codes",
    "What people said of a side of a conversation, or of one of its messages, coding by hand.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        agent | text | Whose side it is.
        coder | text | Who says it.
        code | text | What was said.
        at | moment | When.
        side | integer | The side, from 0 in speaking order: an agent may meet itself.
        turn | integer | The message it is about; empty: the side as a whole.
        weight | real | How many sides of the batch it stands for, by the sample's plan.
        """
    ),
    f"""
    SELECT b.id AS batch_id, k.unit_id AS conversation_id, k.agent, k.coder, k.code, {moment("k.at")} AS at, k.side,
           nullif(k.turn, 0) AS turn, k.weight
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN code k ON k.unit_id = u.id""",
)


GENOMES = View(
    "genomes",
    "One row for each prompt that an evolution tried.",
    columns(
        """
        batch_id | text | The batch.
        generation | integer | In which it came about; 0 are the seed prompts.
        genome_id | text | Names it within the batch.
        parents | JSON | A list of the ids of the prompts it was made from.
        operator | text | How it came about: `seed`, or operators joined by `+`.
        prompt | text | The prompt itself.
        fitness | real | How well it did; empty: nothing came back.
        accuracy | real | Share of right answers among those that came back.
        missing | real | Share of calls that did not come back.
        """
    ),
    """
    SELECT b.id AS batch_id, g.generation, g.genome_id, g.parents, g.operator, g.prompt, g.fitness,
           g.accuracy, g.missing
    FROM batch b JOIN genome g ON g.batch_number = b.number""",
)

ANSWERS = View(
    "answers",
    "One row for each call in which a prompt met a problem, as it was graded.",
    columns(
        """
        batch_id | text | The batch.
        generation | integer | The generation it was asked for.
        genome_id | text | The prompt: `genomes.genome_id`.
        problem | integer | The problem's number within its split, from 0.
        sample | integer | Which repetition of the same question, from 0.
        model | text | The model that was asked, as `PROVIDER:MODEL`.
        question | text | The problem.
        gold | text | The right answer.
        reply | text | What the model said; empty: the call failed.
        extracted | text | The answer as it was read from the reply; empty: none was found.
        correct | boolean | Whether it is right; empty: no answer could be read from the reply, or the call failed.
        score | real | What the scorer gave.
        finish_reason | text | Why the reply ended, as in `messages`.
        split | text | What its problem is for: prompts are bred by `search` and judged by `judge`.
        conversation_id | integer | The evaluation it is a part of: `conversations.id`.
        """,
        finish_reason=FINISH_REASONS,
    ),
    """
    SELECT b.id AS batch_id, a.generation, a.genome_id, a.problem, a.sample, c.model, p.question, p.gold,
           CASE WHEN c.status = 'answered' THEN c.text END AS reply, a.extracted, a.correct, a.score,
           c.finish_reason, a.split, a.unit_id AS conversation_id
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN answer a ON a.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = a.unit_id AND c.step = a.step
         LEFT JOIN problem p ON p.batch_number = b.number AND p.split = a.split AND p.number = a.problem""",
)

TRAINING = View(
    "training",
    "One row for each update of the policy that a mutation study learns.",
    columns(
        """
        batch_id | text | The batch.
        update_number | integer | Its number, from 1.
        env_steps | integer | Steps of all environments so far.
        mean_reward | real | Mean reward of the steps since the update before, from 0 to 1.
        success_rate | real | Share of episodes since then that ended well.
        """
    ),
    """
    SELECT b.id AS batch_id, t.update_number, t.env_steps, t.mean_reward, t.success_rate
    FROM batch b JOIN training_update t ON t.batch_number = b.number""",
)

MEASURES = View(
    "measures",
    "One row for each value that a study measured: of each side of a conversation, each rated entity, each held-out answer of a "
    "finalist, each held-out episode. Statistics, designs and comparisons rest on these rows.",
    columns(
        """
        batch_id | text | The batch.
        unit | integer | The unit it was measured in: `conversations.id`.
        participant | text | Whose value it is: an agent, an entity, a genome, who chose in an episode; empty: of the unit as a
            whole.
        measure | text | `revealed`, `obtained` and `score` of a secret game, `rating` of a simulation, `score` of an answer,
            `reward` of an episode, `speaker_revealed` and the like of a branch, or a name of the study's own.
        value | real | The value; empty where it is missing.
        cluster | text | Values with the same cluster may depend on each other: a game (only if memory or kept secrets link
            its conversations), the entities in speaking order, a problem, a query, the conversation that a redraw continues.
        block | text | What was drawn for the unit: its scenario; empty where nothing was.
        missing | boolean | Whether it was to be measured and was not: the unit failed, or no clear answer came.
        """
    ),
    """
    SELECT b.id AS batch_id, u.id AS unit, o.agent AS participant, m.measure,
           CAST(CASE m.measure WHEN 'revealed' THEN o.revealed WHEN 'obtained' THEN o.obtained ELSE o.score END AS REAL)
               AS value,
           'game ' || o.game AS cluster, 'scenario ' || o.scenario AS block,
           m.measure = 'score' AND o.score IS NULL AS missing
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id
         JOIN (SELECT 'revealed' AS measure UNION ALL SELECT 'obtained' UNION ALL SELECT 'score') m
    UNION ALL
    SELECT b.id, u.id, j.entity, 'rating', j.rating, u.participants, NULL, j.rating IS NULL
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
    WHERE u.status = 'completed'
    UNION ALL
    SELECT b.id, u.id, NULL, m.measure, NULL,
           CASE b.kind WHEN 'simulation' THEN u.participants ELSE 'game ' || u.game END, NULL, 1
    FROM batch b JOIN unit u ON u.batch_number = b.number
         JOIN (SELECT 'secret_game' AS kind, 'revealed' AS measure UNION ALL SELECT 'secret_game', 'obtained'
               UNION ALL SELECT 'secret_game', 'score' UNION ALL SELECT 'simulation', 'rating') m ON m.kind = b.kind
    WHERE u.status = 'failed'
          AND (b.kind = 'secret_game'
               OR EXISTS (SELECT 1 FROM judgement j WHERE j.unit_id BETWEEN b.number << 32 AND (b.number + 1) << 32))
    UNION ALL
    SELECT b.id, u.id, a.genome_id, 'score', a.score, 'problem ' || a.problem, NULL, a.correct IS NULL
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN answer a ON a.unit_id = u.id
    WHERE a.split = 'judge'
    UNION ALL
    SELECT b.id, u.id, m.participant, m.measure, m.value, m.cluster, NULL, m.value IS NULL
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN measure m ON m.unit_id = u.id""",
)


VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        *(BATCHES, STUDIES, CELLS, WAVES, PROVIDER_BATCHES, LOG, RECORDS),
        *(CONVERSATIONS, MESSAGES, OUTCOMES, VERDICTS, SIT_OUTS, JUDGEMENTS, CODES),
        *(GENOMES, ANSWERS, TRAINING, MEASURES),
    )
}


def reference_of(view: View) -> Iterator[str]:
    """The view as a section of a Markdown page, with a table of its columns."""
    yield f"## `{view.name}`\n"
    yield f"{view.meaning}\n"
    yield "| column | type | |"
    yield "| --- | --- | --- |"
    for column in view.columns:
        values = f" One of {', '.join(f'`{value}`' for value in column.values)}." if column.values else ""
        meaning = (column.meaning + values).replace("|", "\\|")
        yield f"| `{column.name}` | {column.type} | {meaning} |"
    yield ""
