"""The views of a study file, which are the stable interface for scripts and other programs.

Each view is a query with a description of every column. Names and order of columns never change; new columns are added at
the end. `schema.sql` and `docs/data.md` are generated from this list.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from tidepool.storage.states import STALE_SECONDS, BatchStatus, ProviderBatchPhase, Source, StopCode, UnitStatus

ColumnType = Literal["text", "integer", "real", "boolean", "JSON", "moment"]
"""JSON and moments are stored as text, a boolean as 0 or 1"""


@dataclass(frozen=True, slots=True)
class ViewColumn:
    name: str
    type: ColumnType
    meaning: str
    values: tuple[str, ...] = ()
    """all possible values, for a closed list"""


@dataclass(frozen=True, slots=True)
class View:
    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    query: str


def columns(table: str, **values: Iterable[str]) -> tuple[ViewColumn, ...]:
    """Parses lines of `name | type | meaning`. An indented line continues the one before. `values` are closed lists."""
    lines = re.sub(r"\n +", " ", textwrap.dedent(table).strip()).splitlines()
    cells = [line.split(" | ") for line in lines]
    return tuple(
        ViewColumn(name, cast(ColumnType, kind), meaning, tuple(values.get(name, ()))) for name, kind, meaning in cells
    )


def moment(column: str) -> str:
    """SQL that turns seconds since 1970 into a sortable text that every tool reads."""
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, 'unixepoch')"


FINISH_REASONS = ("complete", "cut", "filtered", "refused", "tool", "empty", "error")
"""why a reply ended, in the same words for every provider"""


BATCHES = View(
    "batches",
    "One row for each batch. A batch is one run of a config.",
    columns(
        """
        id | text | The id of the batch in commands and file names.
        study_id | text | The study with a `[design]` that the batch belongs to; empty without one.
        kind | text | `secret_game`, `simulation`, `evolution`, `mutation`, a plugin's kind, or a class of yours such as
            `debate.py:Debate`.
        name | text | The name from the config.
        status | text | The state of the batch. A batch whose process died shows as interrupted, even in a copy of the file.
        reason | text | Why it stopped, for people; empty if nothing stopped it.
        seed | integer | The seed of all random draws.
        simulated | boolean | Whether any model of the batch is simulated.
        version | text | The version of Tidepool that created the batch.
        config | JSON | The complete config, frozen at the start, without API keys.
        created_at | moment | When it was created.
        finished_at | moment | When it last ended or was stopped; empty while it runs.
        cost_usd | real | The cost so far in dollars; empty if a price is unknown.
        stop_code | text | Why it stopped, for programs; empty if nothing stopped it.
        replicate | integer | The number of the replicate in its cell, from 1; empty without a study.
        origin | JSON | The source of a branch; empty for other batches.
        served_models | text | The models that answered, as reported by the providers, joined by commas; empty if not reported.
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
    "One row for each study. A study is a design whose cells are batches.",
    columns(
        """
        id | text | The id of the study.
        name | text | The name from the config.
        design | JSON | Factors, replicates and hypotheses, frozen at the start.
        created_at | moment | When it was created.
        """
    ),
    f"""
    SELECT s.id, s.name, s.design, {moment("s.created_at")} AS created_at
    FROM study s""",
)

CELLS = View(
    "cells",
    "One row for each factor and batch of a study, with the level of the factor in this batch. A study without factors has "
    "one row for each batch.",
    columns(
        """
        study_id | text | The study: `studies.id`.
        batch_id | text | The batch.
        replicate | integer | The number of the replicate in its cell, from 1.
        factor | text | The factor's name; empty in a study without factors.
        level | text | The level of the factor in this batch.
        """
    ),
    """
    SELECT b.study_id, b.id AS batch_id, b.replicate, c.factor, c.level
    FROM batch b LEFT JOIN study_cell c ON c.batch_number = b.number
    WHERE b.study_id IS NOT NULL""",
)

WAVES = View(
    "waves",
    "One row for each wave. A wave is the set of calls that can be sent at the same time.",
    columns(
        """
        batch_id | text | The batch.
        wave | integer | The number of the wave, from 1. In conversations it is the position of the message, elsewhere the
            step of the study.
        calls | integer | Calls that were answered or failed so far.
        failed | integer | Calls that failed for good.
        seconds | real | Time from the first request to the last reply, summed over all sessions.
        transport | text | How the replies arrived: `live`, `batch` (the provider's batch API) or `cache`; several are
            joined by `+`.
        """
    ),
    """
    SELECT b.id AS batch_id, w.wave, w.calls, w.failed, w.seconds, w.transport
    FROM batch b JOIN wave w ON w.batch_number = b.number""",
)

PROVIDER_BATCHES = View(
    "provider_batches",
    "One row for each job at a provider's batch API. The row is written before the request is sent, so none is lost.",
    columns(
        """
        batch_id | text | The batch.
        provider | text | The provider's name.
        remote_id | text | The id at the provider; empty until it has one.
        state | text | The state on our side. The last four values are closed.
        calls | integer | The number of its calls.
        created_at | moment | When it was planned.
        finished_at | moment | When it was closed; empty while it is open.
        remote_state | text | The last known state at the provider, in the provider's words.
        wave | integer | The wave of its calls.
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
    "The log of each batch, in order.",
    columns(
        """
        batch_id | text | The batch.
        at | moment | When.
        level | text | The severity.
        message | text | The message.
        """,
        level=("info", "warning", "error"),
    ),
    f"""
    SELECT b.id AS batch_id, {moment("l.at")} AS at, l.level, l.message
    FROM batch b JOIN log_line l ON l.batch_number = b.number""",
)

RECORDS = View(
    "records",
    "Rows of kinds of study without a view of their own, such as a plugin's.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The unit of the row; empty for the whole batch.
        name | text | The kind of row, as defined by the kind of study.
        position | integer | Its place among the rows of this name and unit.
        content | JSON | The content of the row.
        """
    ),
    """
    SELECT b.id AS batch_id, nullif(r.unit_id, b.number << 32) AS conversation_id, r.name, r.position, r.content
    FROM batch b JOIN record r ON r.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1""",
)


CONVERSATIONS = View(
    "conversations",
    "One row for each unit. A unit completes or fails on its own. It is a conversation, a simulation, the evaluation of a "
    "genome, or an episode.",
    columns(
        """
        id | integer | The id within this file; it changes when the batch is copied to another file.
        batch_id | text | The batch.
        sequence_number | integer | Its place in the batch's plan, from 1.
        game | integer | The game of a secret game, from 1.
        round | integer | The round of a game, or the generation of a genome.
        interaction_type | text | `solo`, `dyadic` or `group` by the number of speakers; the purpose of a genome's
            evaluation (`genome`, `random_search`, `validation`, …); the phase of an episode.
        participants | JSON | A list: the speakers in speaking order, the genome's id, or the player of an episode.
        status | text | The state of the unit.
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
    "One row for each message, which is a reply or a part of one. Sort by `wave` and `position` to read a conversation in "
    "order. A failed call has no message.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        turn | integer | The position of the message in a secret game, or the turn in a simulation; from 1.
        wave | integer | The wave of its call.
        speaker | text | The name of the speaker.
        model | text | The requested model, as `PROVIDER:MODEL`; `assigned` for a message that a branch sets
            itself.
        served_model | text | The model that answered, as reported by the provider; empty if not reported.
        content | text | The text of the message.
        thought | text | Text that the other speakers do not see: a persona's thoughts, or a model's reasoning.
        finish_reason | text | Why the reply ended: `cut` at its length limit, `complete` by itself. Empty if it was
            not recorded.
        input_tokens | integer | Input tokens of the reply, on its first message; 0 on the others.
        output_tokens | integer | Output tokens of the reply, on its first message; 0 on the others.
        cost_usd | real | Cost of the reply in dollars, on its first message; 0 on the others; empty if unknown.
        seconds | real | Duration of the call, on the first message; 0 on the others.
        source | text | Where the reply came from.
        position | integer | The place of the message within its reply, from 0.
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
        mode | text | The scoring mode.
        game | integer | The game of the conversation, from 1.
        agent | text | The agent of this side.
        opponent | text | The other agent; the same name in self-play.
        opener | boolean | Whether this side spoke first.
        scenario | integer | Its place in the config's list of scenarios, from 1; empty without scenarios.
        secret | text | The secret of this side.
        revealed | boolean | Whether a detector found the secret of this side in its own messages.
        uncertain | boolean | Whether everything that was found also has an ordinary reading; empty if not
            checked.
        obtained | boolean | Whether the other side revealed its secret.
        detector | text | The detector that found it first, such as `exact`, `spelled`, `encoded`, `fuzzy`.
        turn | integer | The message in which it was found.
        score | real | Points of this side; empty until the game ends, in modes that score only then.
        model | text | The model that played this side.
        served_model | text | The model that answered, as reported by the provider.
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
    "The verdict of a judge on each side of a secret game, separate from `outcomes.revealed`.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        agent | text | The agent of this side.
        opponent | text | The other agent.
        opener | boolean | Whether this side spoke first.
        revealed | boolean | The result of the detectors.
        verdict | boolean | Whether the judge says that this side revealed its secret; empty if unclear.
        model | text | The judge model.
        answer | text | The judge's reply.
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
        agent | text | The agent without a conversation.
        """
    ),
    """
    SELECT b.id AS batch_id, s.game, s.round, s.agent
    FROM batch b JOIN sit_out s ON s.batch_number = b.number""",
)

JUDGEMENTS = View(
    "judgements",
    "The rating of each persona of a simulation by a judge.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        place | integer | The persona's place in the speaking order, from 1.
        entity | text | The persona's name.
        rating | real | The rating; empty if unclear or not answered.
        model | text | The judge model.
        answer | text | The judge's reply.
        """
    ),
    """
    SELECT b.id AS batch_id, j.unit_id AS conversation_id, j.place, j.entity, j.rating, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place""",
)

CODES = View(
    "codes",
    "The codes that people gave to a side of a conversation, or to one of its messages, in hand coding.",
    columns(
        """
        batch_id | text | The batch.
        conversation_id | integer | The conversation: `conversations.id`.
        agent | text | The agent of this side.
        coder | text | The person who gave the code.
        code | text | The code.
        at | moment | When it was given.
        side | integer | The side, from 0 in speaking order, because names repeat in self-play.
        turn | integer | The coded message; empty for the whole side.
        weight | real | How many sides of the batch it represents, by the sampling plan.
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
        generation | integer | The generation in which it was created; 0 for seed prompts.
        genome_id | text | The id within the batch.
        parents | JSON | A list of the ids of its parent prompts.
        operator | text | How it was created: `seed`, or operators joined by `+`.
        prompt | text | The text of the prompt.
        fitness | real | The fitness; empty if no call was answered.
        accuracy | real | Share of correct answers among the answered calls.
        missing | real | Share of calls that were not answered.
        """
    ),
    """
    SELECT b.id AS batch_id, g.generation, g.genome_id, g.parents, g.operator, g.prompt, g.fitness,
           g.accuracy, g.missing
    FROM batch b JOIN genome g ON g.batch_number = b.number""",
)

ANSWERS = View(
    "answers",
    "One row for each call that tested a prompt on a problem, with its grade.",
    columns(
        """
        batch_id | text | The batch.
        generation | integer | The generation of the evaluation.
        genome_id | text | The prompt: `genomes.genome_id`.
        problem | integer | The problem's number within its split, from 0.
        sample | integer | The repetition of the same question, from 0.
        model | text | The requested model, as `PROVIDER:MODEL`.
        question | text | The problem.
        gold | text | The expected answer.
        reply | text | The model's reply; empty if the call failed.
        extracted | text | The answer parsed from the reply; empty if none was found.
        correct | boolean | Whether it is correct; empty if no answer could be parsed or the call failed.
        score | real | The score given by the scorer.
        finish_reason | text | Why the reply ended, as in `messages`.
        split | text | The use of the problem: `search` for training problems, `judge` for held-out problems.
        conversation_id | integer | The evaluation it is part of: `conversations.id`.
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
    "One row for each update of the policy of a mutation study.",
    columns(
        """
        batch_id | text | The batch.
        update_number | integer | The number of the update, from 1.
        env_steps | integer | Steps of all environments so far.
        mean_reward | real | Mean reward of the steps since the last update, from 0 to 1.
        success_rate | real | Share of successful episodes since the last update.
        """
    ),
    """
    SELECT b.id AS batch_id, t.update_number, t.env_steps, t.mean_reward, t.success_rate
    FROM batch b JOIN training_update t ON t.batch_number = b.number""",
)

MEASURES = View(
    "measures",
    "One row for each measured value: of each side of a conversation, each rated persona, each held-out answer of a finalist, "
    "each held-out episode. Statistics, designs and comparisons use these rows.",
    columns(
        """
        batch_id | text | The batch.
        unit | integer | The unit of the value: `conversations.id`.
        participant | text | The participant of the value: an agent, a persona, a genome, the player of an episode; empty for the
            whole unit.
        measure | text | `revealed`, `obtained` and `score` of a secret game, `rating` of a simulation, `score` of an answer,
            `reward` of an episode, `speaker_revealed` and similar of a branch, or a name defined by the study.
        value | real | The value; empty if it is missing.
        cluster | text | Values with the same cluster may depend on each other: a game (only if memory or collected secrets link
            its conversations), the personas of a simulation (listed in speaking order), a problem, a query, the
            conversation that a resampled one continues.
        block | text | The scenario that was drawn for the unit; empty without one.
        missing | boolean | Whether the value is missing because the unit failed or the answer was unclear.
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
    """Yields the view as a section of a Markdown page, with a table of its columns."""
    yield f"## `{view.name}`\n"
    yield f"{view.meaning}\n"
    yield "| column | type | meaning |"
    yield "| --- | --- | --- |"
    for column in view.columns:
        values = f" One of {', '.join(f'`{value}`' for value in column.values)}." if column.values else ""
        meaning = (column.meaning + values).replace("|", "\\|")
        yield f"| `{column.name}` | {column.type} | {meaning} |"
    yield ""
