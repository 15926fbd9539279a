"""The SQL views strangers depend on: their names and columns never change.

Messages of a conversation are in order by wave and position: `position` tells apart those of one reply.

A batch counts as running while its heartbeat is fresh; the view can therefore be trusted in any SQLite client,
also on a copy whose process is gone.
"""

STALE_SECONDS = 15

_MOMENT = "strftime('%Y-%m-%dT%H:%M:%fZ', {0}, 'unixepoch')"

VIEWS = {
    "batches": f"""
        SELECT b.id, b.kind, b.name,
               CASE WHEN b.status = 'in_progress'
                     AND (julianday('now') - 2440587.5) * 86400.0 - coalesce(p.heartbeat_at, 0) > {STALE_SECONDS}
                    THEN 'interrupted' ELSE b.status END AS status,
               b.reason, b.seed, b.simulated, b.config,
               {_MOMENT.format("b.created_at")} AS created_at,
               {_MOMENT.format("b.finished_at")} AS finished_at,
               CASE WHEN p.unpriced > 0 THEN NULL ELSE p.cost_usd END AS cost_usd
        FROM batch b LEFT JOIN progress p ON p.batch_number = b.number""",
    "conversations": """
        SELECT u.id, b.id AS batch_id, u.sequence_number, u.game, u.round, u.interaction_type,
               u.participants, u.status, u.error
        FROM batch b JOIN unit u ON u.batch_number = b.number
        WHERE u.sequence_number > 0""",
    "messages": """
        SELECT b.id AS batch_id, c.unit_id AS conversation_id, coalesce(l.turn, c.turn) AS turn, c.wave,
               coalesce(l.speaker, c.speaker) AS speaker, c.model,
               CASE WHEN l.step IS NULL THEN c.text ELSE substr(c.text, l.start + 1, l.length) END AS content,
               CASE WHEN l.thought_start IS NULL THEN NULL
                    ELSE substr(c.text, l.thought_start + 1, l.thought_length) END AS thought,
               CASE WHEN coalesce(l.position, 0) = 0 THEN c.input_tokens ELSE 0 END AS input_tokens,
               CASE WHEN coalesce(l.position, 0) = 0 THEN c.output_tokens ELSE 0 END AS output_tokens,
               CASE WHEN coalesce(l.position, 0) = 0 THEN c.cost_usd ELSE 0 END AS cost_usd,
               CASE WHEN coalesce(l.position, 0) = 0 THEN c.seconds ELSE 0 END AS seconds, c.source,
               coalesce(l.position, 0) AS position
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN call c ON c.unit_id = u.id
             LEFT JOIN line l ON l.unit_id = c.unit_id AND l.step = c.step
        WHERE c.status = 'answered' AND (c.turn IS NOT NULL OR l.step IS NOT NULL)""",
    "outcomes": """
        SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.mode, o.game, o.agent, o.opponent,
               o.side = 0 AS opener, o.revealed, o.obtained, o.detector, o.turn, o.score
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id""",
    "judgements": """
        SELECT b.id AS batch_id, j.unit_id AS conversation_id, j.place, j.entity, j.rating, c.model, c.text AS answer
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
             LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place""",
    "verdicts": """
        SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.agent, o.opponent, o.side = 0 AS opener, o.revealed,
               o.verdict, c.model, c.text AS answer
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id
             JOIN call c ON c.unit_id = o.unit_id AND c.step = o.verdict_step""",
    "sit_outs": """
        SELECT b.id AS batch_id, s.game, s.round, s.agent
        FROM batch b JOIN sit_out s ON s.batch_number = b.number""",
    "waves": """
        SELECT b.id AS batch_id, w.wave, w.calls, w.failed, w.seconds, w.transport
        FROM batch b JOIN wave w ON w.batch_number = b.number""",
    "log": f"""
        SELECT b.id AS batch_id, {_MOMENT.format("l.at")} AS at, l.level, l.message
        FROM batch b JOIN log_line l ON l.batch_number = b.number""",
    "genomes": """
        SELECT b.id AS batch_id, g.generation, g.genome_id, g.parents, g.operator, g.prompt, g.fitness,
               g.accuracy, g.missing
        FROM batch b JOIN genome g ON g.batch_number = b.number""",
    "training": """
        SELECT b.id AS batch_id, t.update_number, t.env_steps, t.mean_reward, t.success_rate
        FROM batch b JOIN training_update t ON t.batch_number = b.number""",
}
