"""Views of conversations: who said what, and what came of it."""

from tidepool.storage.schema.view import BATCH_ID, CONVERSATION_ID, FINISH_REASONS, View, ViewColumn, moment
from tidepool.storage.states import Source, UnitStatus

CONVERSATIONS = View(
    "conversations",
    "One row for each unit, the smallest thing that completes or fails on its own: a conversation, a simulation, the "
    "evaluation of a genome, an episode.",
    (
        ViewColumn("id", "integer", "Names it within the file; another file may number it otherwise."),
        BATCH_ID,
        ViewColumn("sequence_number", "integer", "Its place in the batch's plan, from 1."),
        ViewColumn("game", "integer", "The game of a secret game it belongs to, from 1."),
        ViewColumn("round", "integer", "The round of a game, or a genome's generation."),
        ViewColumn(
            "interaction_type",
            "text",
            "`solo`, `dyadic` or `group` by the number of speakers; what a genome was asked for (`genome`, "
            "`random_search`, `validation`, …); the phase of an episode.",
        ),
        ViewColumn(
            "participants",
            "JSON",
            "A list: the speakers in speaking order, the genome's id, or who chose in an episode.",
        ),
        ViewColumn("status", "text", "How far it is.", values=tuple(UnitStatus)),
        ViewColumn("error", "text", "Why it failed."),
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
    (
        BATCH_ID,
        CONVERSATION_ID,
        ViewColumn("turn", "integer", "In a secret game the message's position, in a simulation the turn; from 1."),
        ViewColumn("wave", "integer", "The wave its call belongs to."),
        ViewColumn("speaker", "text", "Who says it."),
        ViewColumn(
            "model",
            "text",
            "The model that was asked, as `PROVIDER:MODEL`; `assigned` for a message that a branch says itself.",
        ),
        ViewColumn(
            "served_model",
            "text",
            "The model that the provider says has answered; empty where it said nothing.",
            since=2,
        ),
        ViewColumn("content", "text", "What was said."),
        ViewColumn(
            "thought", "text", "What was thought and not shown to the others: a persona's, or a model's reasoning."
        ),
        ViewColumn(
            "finish_reason",
            "text",
            "Why the reply ended: `cut` at its length limit, `complete` by itself. Empty where it was not recorded.",
            values=FINISH_REASONS,
            since=2,
        ),
        ViewColumn("input_tokens", "integer", "What was read, with the first message of a reply; 0 with its others."),
        ViewColumn("output_tokens", "integer", "What was written, likewise."),
        ViewColumn("cost_usd", "real", "Its price in dollars, likewise; empty where it is unknown."),
        ViewColumn("seconds", "real", "How long the call took, likewise."),
        ViewColumn("source", "text", "Where the reply came from.", values=(Source.LIVE, Source.BATCH, Source.CACHE)),
        ViewColumn("position", "integer", "Tells apart the messages of one reply, from 0."),
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
    (
        BATCH_ID,
        CONVERSATION_ID,
        ViewColumn("mode", "text", "How points are counted.", values=("standard", "retained", "diversity", "targeted")),
        ViewColumn("game", "integer", "The game it belongs to, from 1."),
        ViewColumn("agent", "text", "Whose side it is."),
        ViewColumn("opponent", "text", "The other side; the same name where an agent meets itself."),
        ViewColumn("opener", "boolean", "Whether this side spoke first."),
        ViewColumn(
            "scenario", "integer", "Its place in the config's list of scenarios, from 1; empty without them.", since=2
        ),
        ViewColumn(
            "secret", "text", "What this side was to keep; empty for sides that ended before version 2.", since=2
        ),
        ViewColumn("revealed", "boolean", "Whether a detector found this side's own secret in its own words."),
        ViewColumn(
            "uncertain",
            "boolean",
            "Whether all that was found is an ordinary reading as well; empty where that was not looked at.",
            since=2,
        ),
        ViewColumn("obtained", "boolean", "Whether the other side revealed."),
        ViewColumn("detector", "text", "What found it first, such as `exact`, `spelled`, `encoded`, `fuzzy`."),
        ViewColumn("turn", "integer", "The message it was found in."),
        ViewColumn("score", "real", "Points of this side; empty until its game ends, in modes that count only then."),
        ViewColumn(
            "model", "text", "The model that played this side; empty for sides that ended before version 2.", since=2
        ),
        ViewColumn("served_model", "text", "The model that the provider says has answered.", since=2),
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
    (
        BATCH_ID,
        CONVERSATION_ID,
        ViewColumn("agent", "text", "Whose side it is."),
        ViewColumn("opponent", "text", "The other side."),
        ViewColumn("opener", "boolean", "Whether this side spoke first."),
        ViewColumn("revealed", "boolean", "What the detectors of wording say."),
        ViewColumn("verdict", "boolean", "Whether the judge says that it revealed; empty: no clear answer."),
        ViewColumn("model", "text", "The judge."),
        ViewColumn("answer", "text", "The judge's words."),
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
    (
        BATCH_ID,
        ViewColumn("game", "integer", "The game, from 1."),
        ViewColumn("round", "integer", "The round, from 1."),
        ViewColumn("agent", "text", "Who sat out."),
    ),
    """
    SELECT b.id AS batch_id, s.game, s.round, s.agent
    FROM batch b JOIN sit_out s ON s.batch_number = b.number""",
)

JUDGEMENTS = View(
    "judgements",
    "What a judge said of each entity of a simulation.",
    (
        BATCH_ID,
        CONVERSATION_ID,
        ViewColumn("place", "integer", "The entity's place in the speaking order, from 1."),
        ViewColumn("entity", "text", "Its name."),
        ViewColumn("rating", "real", "The rating; empty: no clear one, or no answer."),
        ViewColumn("model", "text", "The judge."),
        ViewColumn("answer", "text", "The judge's words."),
    ),
    """
    SELECT b.id AS batch_id, j.unit_id AS conversation_id, j.place, j.entity, j.rating, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place""",
)

CODES = View(
    "codes",
    "What people said of a side of a conversation, or of one of its messages, coding by hand.",
    (
        ViewColumn("batch_id", "text", "The batch.", since=2),
        ViewColumn("conversation_id", "integer", "The conversation: `conversations.id`.", since=2),
        ViewColumn("agent", "text", "Whose side it is.", since=2),
        ViewColumn("coder", "text", "Who says it.", since=2),
        ViewColumn("code", "text", "What was said.", since=2),
        ViewColumn("at", "moment", "When.", since=2),
        ViewColumn("side", "integer", "The side, from 0 in speaking order: an agent may meet itself.", since=2),
        ViewColumn("turn", "integer", "The message it is about; empty: the side as a whole.", since=2),
        ViewColumn("weight", "real", "How many sides of the batch it stands for, by the sample's plan.", since=2),
    ),
    f"""
    SELECT b.id AS batch_id, k.unit_id AS conversation_id, k.agent, k.coder, k.code, {moment("k.at")} AS at, k.side,
           nullif(k.turn, 0) AS turn, k.weight
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN code k ON k.unit_id = u.id""",
    since=2,
)

TALK_VIEWS = (CONVERSATIONS, MESSAGES, OUTCOMES, VERDICTS, SIT_OUTS, JUDGEMENTS, CODES)
