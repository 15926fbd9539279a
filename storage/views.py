"""The SQL views strangers depend on: their names and columns never change.

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
        SELECT b.id AS batch_id, c.unit_id AS conversation_id, c.turn, c.wave, c.speaker, c.model,
               c.text AS content, NULL AS thought, c.input_tokens, c.output_tokens, c.cost_usd, c.seconds,
               c.source
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN call c ON c.unit_id = u.id
        WHERE c.turn IS NOT NULL AND c.status = 'answered'
        UNION ALL
        SELECT b.id, c.unit_id, l.turn, c.wave, l.speaker, c.model,
               substr(c.text, l.start + 1, l.length),
               CASE WHEN l.thought_start IS NULL THEN NULL
                    ELSE substr(c.text, l.thought_start + 1, l.thought_length) END,
               CASE WHEN l.position = 0 THEN c.input_tokens ELSE 0 END,
               CASE WHEN l.position = 0 THEN c.output_tokens ELSE 0 END,
               CASE WHEN l.position = 0 THEN c.cost_usd ELSE 0 END,
               CASE WHEN l.position = 0 THEN c.seconds ELSE 0 END, c.source
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN line l ON l.unit_id = u.id
             JOIN call c ON c.unit_id = l.unit_id AND c.step = l.step
        WHERE c.status = 'answered'""",
    "outcomes": """
        SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.mode, o.game, o.agent, o.opponent,
               o.side = 0 AS opener, o.revealed, o.obtained, o.detector, o.turn, o.score
        FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id""",
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
