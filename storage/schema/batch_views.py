"""Views of batches as wholes, of the studies they make up, and of what happened while they ran."""

from tidepool.storage.schema.view import BATCH_ID, View, ViewColumn, moment
from tidepool.storage.states import STALE_SECONDS, BatchStatus, ProviderBatchPhase, StopCode

BATCHES = View(
    "batches",
    "One row for each batch: one config, run once.",
    (
        ViewColumn("id", "text", "Names the batch everywhere, in the command and in file names."),
        ViewColumn("study_id", "text", "The study it is a cell of; empty for a batch of its own.", since=2),
        ViewColumn(
            "kind", "text", "`secret_game`, `simulation`, `evolution`, `mutation`, or the name of a plugin's kind."
        ),
        ViewColumn("name", "text", "As the config names it."),
        ViewColumn(
            "status",
            "text",
            "How far it is. A batch whose process died shows as interrupted, also on a copy of the file.",
            values=tuple(BatchStatus),
        ),
        ViewColumn("reason", "text", "Why it stopped, in words for people; empty where nothing stopped it."),
        ViewColumn("seed", "integer", "The seed that every random draw comes from."),
        ViewColumn("simulated", "boolean", "Whether any model of the study is simulated."),
        ViewColumn("version", "text", "The version of Tidepool that made the batch.", since=2),
        ViewColumn("config", "JSON", "The whole config as it was frozen at the start, without any API key."),
        ViewColumn("created_at", "moment", "When it was made."),
        ViewColumn("finished_at", "moment", "When it last ended or was stopped; empty while it runs."),
        ViewColumn("cost_usd", "real", "What was spent so far, in dollars; empty where a price is unknown."),
        ViewColumn(
            "stop_code",
            "text",
            "Why it stopped, for programs; empty where nothing stopped it, and for batches that ended before version 2.",
            values=tuple(StopCode),
            since=2,
        ),
        ViewColumn(
            "replicate", "integer", "Which repetition of its cell it is, from 1; empty outside a study.", since=2
        ),
        ViewColumn("origin", "JSON", "Where it branched off another batch; empty for a batch that did not.", since=2),
        ViewColumn(
            "served_models",
            "JSON",
            "The models that providers say have answered, as a list; empty where none said.",
            since=3,
        ),
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
    (
        ViewColumn("id", "text", "Names the study.", since=2),
        ViewColumn("name", "text", "As the config names it.", since=2),
        ViewColumn("design", "JSON", "Factors, replicates and hypotheses, as they were frozen at the start.", since=2),
        ViewColumn("created_at", "moment", "When it was made.", since=2),
    ),
    f"""
    SELECT s.id, s.name, s.design, {moment("s.created_at")} AS created_at
    FROM study s""",
    since=2,
)

CELLS = View(
    "cells",
    "One row for each batch of a study and each factor: the level that the factor has there. A study without factors has "
    "one row for each batch.",
    (
        ViewColumn("study_id", "text", "The study: `studies.id`.", since=2),
        ViewColumn("batch_id", "text", "The batch.", since=2),
        ViewColumn("replicate", "integer", "Which repetition of its cell the batch is, from 1.", since=2),
        ViewColumn("factor", "text", "The factor's name; empty in a study without factors.", since=2),
        ViewColumn("level", "text", "The level it has in this batch.", since=2),
    ),
    """
    SELECT b.study_id, b.id AS batch_id, b.replicate, c.factor, c.level
    FROM batch b LEFT JOIN study_cell c ON c.batch_number = b.number
    WHERE b.study_id IS NOT NULL""",
    since=2,
)

WAVES = View(
    "waves",
    "One row for each wave: the calls that can be made at the same time.",
    (
        BATCH_ID,
        ViewColumn(
            "wave",
            "integer",
            "Its number, from 1: in conversations the position of the message, elsewhere the step of the study.",
        ),
        ViewColumn("calls", "integer", "Calls made or failed so far."),
        ViewColumn("failed", "integer", "Calls that failed for good."),
        ViewColumn("seconds", "real", "From the first call that was asked to the last answer, over all sessions."),
        ViewColumn(
            "transport",
            "text",
            "How its answers came: `live`, `batch` (the provider's batch API), `cache`; several joined by `+`.",
        ),
    ),
    """
    SELECT b.id AS batch_id, w.wave, w.calls, w.failed, w.seconds, w.transport
    FROM batch b JOIN wave w ON w.batch_number = b.number""",
)

PROVIDER_BATCHES = View(
    "provider_batches",
    "One row for each job at a provider's batch API. It is written before the provider is asked, so none is forgotten.",
    (
        ViewColumn("batch_id", "text", "The batch.", since=2),
        ViewColumn("provider", "text", "The provider's name.", since=2),
        ViewColumn("remote_id", "text", "The provider's name for it; empty until it has one.", since=2),
        ViewColumn(
            "state",
            "text",
            "How far it is on our side; the last four are closed.",
            values=tuple(ProviderBatchPhase),
            since=2,
        ),
        ViewColumn("calls", "integer", "How many calls it holds.", since=2),
        ViewColumn("created_at", "moment", "When it was decided on.", since=2),
        ViewColumn("finished_at", "moment", "When it was closed; empty while it is open.", since=2),
        ViewColumn("remote_state", "text", "The provider's own word at the last look.", since=2),
        ViewColumn("wave", "integer", "The wave its calls belong to.", since=2),
    ),
    f"""
    SELECT b.id AS batch_id, p.provider, p.remote_id, p.state, p.count AS calls,
           {moment("p.created_at")} AS created_at,
           {moment("p.finished_at")} AS finished_at, p.remote_state, p.wave
    FROM batch b JOIN provider_batch p ON p.batch_number = b.number""",
    since=2,
)

LOG = View(
    "log",
    "What was told while the batch ran, in order.",
    (
        BATCH_ID,
        ViewColumn("at", "moment", "When."),
        ViewColumn("level", "text", "How grave it is.", values=("info", "warning")),
        ViewColumn("message", "text", "One or more sentences."),
    ),
    f"""
    SELECT b.id AS batch_id, {moment("l.at")} AS at, l.level, l.message
    FROM batch b JOIN log_line l ON l.batch_number = b.number""",
)

RECORDS = View(
    "records",
    "Rows that a kind of study keeps which has no view of its own, such as a plugin's.",
    (
        ViewColumn("batch_id", "text", "The batch.", since=2),
        ViewColumn("conversation_id", "integer", "The unit it belongs to; empty: to the batch as a whole.", since=2),
        ViewColumn("name", "text", "What kind of row it is; the kind of study says which there are.", since=2),
        ViewColumn("position", "integer", "Its place among the rows of that name and unit.", since=2),
        ViewColumn("content", "JSON", "What it says.", since=2),
    ),
    """
    SELECT b.id AS batch_id, nullif(r.unit_id, b.number << 32) AS conversation_id, r.name, r.position, r.content
    FROM batch b JOIN record r ON r.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1""",
    since=2,
)

BATCH_VIEWS = (BATCHES, STUDIES, CELLS, WAVES, PROVIDER_BATCHES, LOG, RECORDS)
