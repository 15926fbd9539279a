CREATE TABLE answer (
    unit_id INTEGER NOT NULL,
    step VARCHAR NOT NULL,
    generation INTEGER,
    genome_id VARCHAR NOT NULL,
    split VARCHAR NOT NULL,
    problem INTEGER NOT NULL,
    sample INTEGER NOT NULL,
    extracted TEXT,
    correct BOOLEAN,
    score FLOAT,
    details TEXT,
    PRIMARY KEY (unit_id, step)
);

CREATE TABLE batch (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    reason VARCHAR,
    paused BOOLEAN NOT NULL,
    seed INTEGER NOT NULL,
    simulated BOOLEAN NOT NULL,
    imported BOOLEAN NOT NULL,
    config TEXT NOT NULL,
    version VARCHAR NOT NULL,
    host VARCHAR,
    created_at FLOAT NOT NULL,
    finished_at FLOAT,
    stop_code VARCHAR,
    study_id VARCHAR,
    replicate INTEGER,
    origin TEXT,
    headline TEXT,
    UNIQUE (id)
);

CREATE TABLE call (
    id INTEGER NOT NULL,
    unit_id INTEGER NOT NULL,
    step VARCHAR NOT NULL,
    wave INTEGER NOT NULL,
    turn INTEGER,
    speaker VARCHAR,
    model VARCHAR NOT NULL,
    "key" BLOB NOT NULL,
    prompt BLOB,
    status VARCHAR NOT NULL,
    text TEXT NOT NULL,
    truth VARCHAR,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd FLOAT,
    seconds FLOAT NOT NULL,
    source VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    error VARCHAR,
    order_id VARCHAR,
    at FLOAT NOT NULL,
    finish_reason VARCHAR,
    served_model VARCHAR,
    thought TEXT,
    reasoning_tokens INTEGER NOT NULL,
    usage_missing BOOLEAN NOT NULL,
    seal BLOB,
    PRIMARY KEY (id)
);

CREATE UNIQUE INDEX call_by_address ON call (unit_id, step);

CREATE INDEX call_by_key ON call ("key") WHERE status = 'answered';

CREATE TABLE code (
    unit_id INTEGER NOT NULL,
    side INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    coder VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    weight FLOAT,
    details TEXT,
    at FLOAT NOT NULL,
    PRIMARY KEY (unit_id, side, turn, coder)
);

CREATE TABLE control (
    id INTEGER NOT NULL,
    batch_number INTEGER NOT NULL,
    at FLOAT NOT NULL,
    command VARCHAR NOT NULL,
    arguments VARCHAR NOT NULL,
    taken_at FLOAT,
    PRIMARY KEY (id)
);

CREATE INDEX control_by_batch ON control (batch_number, taken_at);

CREATE TABLE finding (
    batch_number INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (batch_number, name)
);

CREATE TABLE genome (
    batch_number INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    genome_id VARCHAR NOT NULL,
    parents VARCHAR NOT NULL,
    operator VARCHAR NOT NULL,
    prompt TEXT NOT NULL,
    fitness FLOAT,
    accuracy FLOAT,
    missing FLOAT,
    details VARCHAR,
    PRIMARY KEY (batch_number, generation, genome_id)
);

CREATE TABLE judgement (
    unit_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    entity VARCHAR NOT NULL,
    rating FLOAT,
    PRIMARY KEY (unit_id, place)
);

CREATE TABLE library_agent (
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    definition TEXT NOT NULL,
    created_at FLOAT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE library_entity (
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    type VARCHAR,
    description VARCHAR NOT NULL,
    attributes VARCHAR NOT NULL,
    created_at FLOAT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE library_type (
    name VARCHAR NOT NULL,
    definition TEXT NOT NULL,
    created_at FLOAT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE line (
    unit_id INTEGER NOT NULL,
    step VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    speaker VARCHAR NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    thought_start INTEGER,
    thought_length INTEGER,
    PRIMARY KEY (unit_id, step, position)
);

CREATE TABLE log_line (
    id INTEGER NOT NULL,
    batch_number INTEGER NOT NULL,
    at FLOAT NOT NULL,
    level VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX log_by_batch ON log_line (batch_number, id);

CREATE TABLE measure (
    unit_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    measure VARCHAR NOT NULL,
    participant VARCHAR,
    value FLOAT,
    cluster VARCHAR,
    PRIMARY KEY (unit_id, position)
);

CREATE TABLE outcome (
    unit_id INTEGER NOT NULL,
    side INTEGER NOT NULL,
    mode VARCHAR NOT NULL,
    game INTEGER NOT NULL,
    agent VARCHAR NOT NULL,
    opponent VARCHAR NOT NULL,
    revealed BOOLEAN NOT NULL,
    obtained BOOLEAN NOT NULL,
    detector VARCHAR,
    turn INTEGER,
    start INTEGER,
    "end" INTEGER,
    score FLOAT,
    verdict BOOLEAN,
    verdict_step VARCHAR,
    scenario INTEGER,
    secret VARCHAR,
    uncertain BOOLEAN,
    model VARCHAR,
    served_model VARCHAR,
    details VARCHAR,
    PRIMARY KEY (unit_id, side)
);

CREATE TABLE problem (
    batch_number INTEGER NOT NULL,
    split VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    gold TEXT NOT NULL,
    PRIMARY KEY (batch_number, split, number)
);

CREATE TABLE progress (
    batch_number INTEGER NOT NULL,
    units_total INTEGER NOT NULL,
    units_completed INTEGER NOT NULL,
    units_failed INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    bought INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    replayed INTEGER NOT NULL,
    retried INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd FLOAT NOT NULL,
    unpriced INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    call_seconds FLOAT NOT NULL,
    peak_concurrency INTEGER NOT NULL,
    heartbeat INTEGER NOT NULL,
    heartbeat_at FLOAT NOT NULL,
    in_flight VARCHAR NOT NULL,
    limits VARCHAR NOT NULL,
    in_flight_usd FLOAT NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cut INTEGER NOT NULL,
    unusable INTEGER NOT NULL,
    usage_missing INTEGER NOT NULL,
    PRIMARY KEY (batch_number)
);

CREATE TABLE prompt (
    hash BLOB NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (hash)
);

CREATE TABLE provider_batch (
    id VARCHAR NOT NULL,
    batch_number INTEGER NOT NULL,
    provider VARCHAR NOT NULL,
    lot VARCHAR NOT NULL,
    upload_id VARCHAR NOT NULL,
    remote_id VARCHAR,
    unsure BOOLEAN NOT NULL,
    state VARCHAR NOT NULL,
    remote_state VARCHAR,
    calls TEXT NOT NULL,
    count INTEGER NOT NULL,
    wave INTEGER NOT NULL,
    content_hash VARCHAR NOT NULL,
    reservation_usd FLOAT NOT NULL,
    created_at FLOAT NOT NULL,
    finished_at FLOAT,
    polled_at FLOAT,
    PRIMARY KEY (id)
);

CREATE INDEX provider_batch_by_batch ON provider_batch (batch_number, state);

CREATE TABLE record (
    unit_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (unit_id, name, position)
);

CREATE TABLE sit_out (
    batch_number INTEGER NOT NULL,
    game INTEGER NOT NULL,
    round INTEGER NOT NULL,
    agent VARCHAR NOT NULL,
    PRIMARY KEY (batch_number, game, round, agent)
);

CREATE TABLE study (
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    design TEXT NOT NULL,
    created_at FLOAT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE study_cell (
    batch_number INTEGER NOT NULL,
    factor VARCHAR NOT NULL,
    level VARCHAR NOT NULL,
    PRIMARY KEY (batch_number, factor)
);

CREATE TABLE surplus (
    id INTEGER NOT NULL,
    batch_number INTEGER NOT NULL,
    order_id VARCHAR NOT NULL,
    unit_id INTEGER NOT NULL,
    step VARCHAR NOT NULL,
    text TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd FLOAT,
    at FLOAT NOT NULL,
    reason VARCHAR,
    PRIMARY KEY (id)
);

CREATE TABLE training_update (
    batch_number INTEGER NOT NULL,
    update_number INTEGER NOT NULL,
    env_steps INTEGER NOT NULL,
    mean_reward FLOAT,
    success_rate FLOAT,
    details VARCHAR,
    PRIMARY KEY (batch_number, update_number)
);

CREATE TABLE unit (
    id INTEGER NOT NULL,
    batch_number INTEGER NOT NULL,
    sequence_number INTEGER NOT NULL,
    game INTEGER,
    round INTEGER,
    interaction_type VARCHAR,
    participants VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    error VARCHAR,
    sealed BOOLEAN NOT NULL,
    started_at FLOAT,
    finished_at FLOAT,
    details VARCHAR,
    PRIMARY KEY (id)
);

CREATE INDEX unit_by_batch ON unit (batch_number, status);

CREATE TABLE wave (
    batch_number INTEGER NOT NULL,
    wave INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    retried INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    transport VARCHAR NOT NULL,
    PRIMARY KEY (batch_number, wave)
);

CREATE VIEW batches AS
    SELECT b.id, b.study_id, b.kind, b.name,
           CASE WHEN b.status = 'in_progress'
                 AND abs((julianday('now') - 2440587.5) * 86400.0 - coalesce(p.heartbeat_at, 0)) > 15
                THEN 'interrupted' ELSE b.status END AS status,
           b.reason, b.seed, b.simulated, b.version, b.config,
           strftime('%Y-%m-%dT%H:%M:%fZ', b.created_at, 'unixepoch') AS created_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', b.finished_at, 'unixepoch') AS finished_at,
           CASE WHEN p.unpriced > 0 THEN NULL ELSE p.cost_usd END AS cost_usd,
           b.stop_code, b.replicate, b.origin,
           (SELECT group_concat(served_model, ', ') FROM
               (SELECT DISTINCT c.served_model FROM call c
                WHERE c.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1 AND c.served_model IS NOT NULL
                ORDER BY 1)) AS served_models
    FROM batch b LEFT JOIN progress p ON p.batch_number = b.number;

CREATE VIEW studies AS
    SELECT s.id, s.name, s.design, strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at, 'unixepoch') AS created_at
    FROM study s;

CREATE VIEW cells AS
    SELECT b.study_id, b.id AS batch_id, b.replicate, c.factor, c.level
    FROM batch b LEFT JOIN study_cell c ON c.batch_number = b.number
    WHERE b.study_id IS NOT NULL;

CREATE VIEW waves AS
    SELECT b.id AS batch_id, w.wave, w.calls, w.failed, w.seconds, w.transport
    FROM batch b JOIN wave w ON w.batch_number = b.number;

CREATE VIEW provider_batches AS
    SELECT b.id AS batch_id, p.provider, p.remote_id, p.state, p.count AS calls,
           strftime('%Y-%m-%dT%H:%M:%fZ', p.created_at, 'unixepoch') AS created_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', p.finished_at, 'unixepoch') AS finished_at, p.remote_state, p.wave
    FROM batch b JOIN provider_batch p ON p.batch_number = b.number;

CREATE VIEW log AS
    SELECT b.id AS batch_id, strftime('%Y-%m-%dT%H:%M:%fZ', l.at, 'unixepoch') AS at, l.level, l.message
    FROM batch b JOIN log_line l ON l.batch_number = b.number;

CREATE VIEW records AS
    SELECT b.id AS batch_id, nullif(r.unit_id, b.number << 32) AS conversation_id, r.name, r.position, r.content
    FROM batch b JOIN record r ON r.unit_id BETWEEN b.number << 32 AND ((b.number + 1) << 32) - 1;

CREATE VIEW conversations AS
    SELECT u.id, b.id AS batch_id, u.sequence_number, u.game, u.round, u.interaction_type,
           u.participants, u.status, u.error
    FROM batch b JOIN unit u ON u.batch_number = b.number
    WHERE u.sequence_number > 0;

CREATE VIEW messages AS
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
    WHERE c.status = 'answered' AND (c.turn IS NOT NULL OR l.step IS NOT NULL);

CREATE VIEW outcomes AS
    SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.mode, o.game, o.agent, o.opponent, o.side = 0 AS opener,
           o.scenario, o.secret, o.revealed, o.uncertain, o.obtained, o.detector, o.turn, o.score, o.model,
           o.served_model
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id;

CREATE VIEW verdicts AS
    SELECT b.id AS batch_id, o.unit_id AS conversation_id, o.agent, o.opponent, o.side = 0 AS opener, o.revealed,
           o.verdict, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN outcome o ON o.unit_id = u.id
         JOIN call c ON c.unit_id = o.unit_id AND c.step = o.verdict_step;

CREATE VIEW sit_outs AS
    SELECT b.id AS batch_id, s.game, s.round, s.agent
    FROM batch b JOIN sit_out s ON s.batch_number = b.number;

CREATE VIEW judgements AS
    SELECT b.id AS batch_id, j.unit_id AS conversation_id, j.place, j.entity, j.rating, c.model, c.text AS answer
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN judgement j ON j.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place;

CREATE VIEW codes AS
    SELECT b.id AS batch_id, k.unit_id AS conversation_id, k.agent, k.coder, k.code, strftime('%Y-%m-%dT%H:%M:%fZ', k.at, 'unixepoch') AS at, k.side,
           nullif(k.turn, 0) AS turn, k.weight
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN code k ON k.unit_id = u.id;

CREATE VIEW genomes AS
    SELECT b.id AS batch_id, g.generation, g.genome_id, g.parents, g.operator, g.prompt, g.fitness,
           g.accuracy, g.missing
    FROM batch b JOIN genome g ON g.batch_number = b.number;

CREATE VIEW answers AS
    SELECT b.id AS batch_id, a.generation, a.genome_id, a.problem, a.sample, c.model, p.question, p.gold,
           CASE WHEN c.status = 'answered' THEN c.text END AS reply, a.extracted, a.correct, a.score,
           c.finish_reason, a.split, a.unit_id AS conversation_id
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN answer a ON a.unit_id = u.id
         LEFT JOIN call c ON c.unit_id = a.unit_id AND c.step = a.step
         LEFT JOIN problem p ON p.batch_number = b.number AND p.split = a.split AND p.number = a.problem;

CREATE VIEW training AS
    SELECT b.id AS batch_id, t.update_number, t.env_steps, t.mean_reward, t.success_rate
    FROM batch b JOIN training_update t ON t.batch_number = b.number;

CREATE VIEW measures AS
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
    FROM batch b JOIN unit u ON u.batch_number = b.number JOIN measure m ON m.unit_id = u.id;
