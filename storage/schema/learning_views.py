"""Views of prompt evolution and query mutation: what was tried, and how it did."""

from tidepool.storage.schema.view import BATCH_ID, FINISH_REASONS, View, ViewColumn

GENOMES = View(
    "genomes",
    "One row for each prompt that an evolution tried.",
    (
        BATCH_ID,
        ViewColumn("generation", "integer", "In which it came about; 0 are the seed prompts."),
        ViewColumn("genome_id", "text", "Names it within the batch."),
        ViewColumn("parents", "JSON", "A list of the ids of the prompts it was made from."),
        ViewColumn("operator", "text", "How it came about: `seed`, or operators joined by `+`."),
        ViewColumn("prompt", "text", "The prompt itself."),
        ViewColumn("fitness", "real", "How well it did; empty: nothing came back."),
        ViewColumn("accuracy", "real", "Share of right answers among those that came back."),
        ViewColumn("missing", "real", "Share of calls that did not come back."),
    ),
    """
    SELECT b.id AS batch_id, g.generation, g.genome_id, g.parents, g.operator, g.prompt, g.fitness,
           g.accuracy, g.missing
    FROM batch b JOIN genome g ON g.batch_number = b.number""",
)

ANSWERS = View(
    "answers",
    "One row for each call in which a prompt met a problem, as it was graded.",
    (
        ViewColumn("batch_id", "text", "The batch.", since=2),
        ViewColumn("generation", "integer", "The generation it was asked for.", since=2),
        ViewColumn("genome_id", "text", "The prompt: `genomes.genome_id`.", since=2),
        ViewColumn("problem", "integer", "The problem's number within its split, from 0.", since=2),
        ViewColumn("sample", "integer", "Which repetition of the same question, from 0.", since=2),
        ViewColumn("model", "text", "The model that was asked, as `PROVIDER:MODEL`.", since=2),
        ViewColumn("question", "text", "The problem.", since=2),
        ViewColumn("gold", "text", "The right answer.", since=2),
        ViewColumn("reply", "text", "What the model said; empty: the call failed.", since=2),
        ViewColumn("extracted", "text", "The answer as it was read from the reply; empty: none was found.", since=2),
        ViewColumn("correct", "boolean", "Whether it is right; empty: the call failed.", since=2),
        ViewColumn("score", "real", "What the scorer gave.", since=2),
        ViewColumn(
            "finish_reason",
            "text",
            "Why the reply ended, as in `messages`.",
            values=FINISH_REASONS,
            since=2,
        ),
        ViewColumn(
            "split",
            "text",
            "What its problem is for: prompts are bred by `search`, picked by `choose`, judged by `judge`.",
            since=2,
        ),
        ViewColumn("conversation_id", "integer", "The evaluation it is a part of: `conversations.id`.", since=2),
    ),
    """
    SELECT b.id AS batch_id, a.generation, a.genome_id, a.problem, a.sample, c.model, p.question, p.gold,
           CASE WHEN c.status = 'answered' THEN c.text END AS reply, a.extracted, a.correct, a.score,
           c.finish_reason, a.split, a.unit_id AS conversation_id
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN answer a ON a.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = a.unit_id AND c.step = a.step
         LEFT JOIN problem p ON p.batch_number = b.number AND p.split = a.split AND p.number = a.problem""",
    since=2,
)

TRAINING = View(
    "training",
    "One row for each update of the policy that a mutation study learns.",
    (
        BATCH_ID,
        ViewColumn("update_number", "integer", "Its number, from 1."),
        ViewColumn("env_steps", "integer", "Steps of all environments so far."),
        ViewColumn("mean_reward", "real", "Mean reward of the steps since the update before, from 0 to 1."),
        ViewColumn("success_rate", "real", "Share of episodes since then that ended well."),
    ),
    """
    SELECT b.id AS batch_id, t.update_number, t.env_steps, t.mean_reward, t.success_rate
    FROM batch b JOIN training_update t ON t.batch_number = b.number""",
)

LEARNING_VIEWS = (GENOMES, ANSWERS, TRAINING)
