CREATE TABLE history (number INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT;
CREATE TABLE release (
    release_id TEXT PRIMARY KEY,
    accepted_at INTEGER NOT NULL REFERENCES history,
    terms BLOB NOT NULL,
    granted TEXT NOT NULL,
    spent TEXT NOT NULL,
    data_digest TEXT NOT NULL,
    curator BLOB NOT NULL,
    curator_signature BLOB NOT NULL,
    certificate BLOB,
    closed_at INTEGER REFERENCES history,
    secret BLOB,
    introduction BLOB,
    introduced_keys BLOB
) STRICT;
CREATE TABLE answer (
    release_id TEXT NOT NULL REFERENCES release,
    query_id TEXT NOT NULL,
    query BLOB NOT NULL,
    rho TEXT NOT NULL,
    sampler INTEGER NOT NULL,
    noise_key BLOB,
    link BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (release_id, query_id)
) STRICT;
CREATE INDEX in_order ON answer (release_id);
CREATE TABLE bound (
    release_id TEXT NOT NULL,
    query_id TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (release_id, query_id, name),
    FOREIGN KEY (release_id, query_id) REFERENCES answer
) STRICT;
CREATE TABLE IF NOT EXISTS placement (
    release_id TEXT PRIMARY KEY REFERENCES release,
    size INTEGER NOT NULL,
    people TEXT NOT NULL,
    positions BLOB NOT NULL
) STRICT;
CREATE TABLE peer (
    identity BLOB NOT NULL,
    events INTEGER NOT NULL,
    head BLOB NOT NULL,
    seen_at INTEGER NOT NULL REFERENCES history,
    PRIMARY KEY (identity, events)
) STRICT;
CREATE TABLE IF NOT EXISTS restoration (
    number INTEGER PRIMARY KEY REFERENCES history,
    counted TEXT,
    reason TEXT,
    stated INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS moment (
    number INTEGER PRIMARY KEY REFERENCES history,
    at INTEGER NOT NULL,
    release_id TEXT NOT NULL,
    query_id TEXT
) STRICT;
PRAGMA user_version = 8;
