# SPDX-License-Identifier: Apache-2.0
"""The tables of a file of results; docs/results.md says what they mean."""

from collections.abc import Mapping

# It grows with every change of the tables.
VERSION = 3
# In the file's header, where SQLite keeps what program a file belongs to: "Hlyd".
APPLICATION = 0x486C7964

# Of what ran, every row names its document; times are milliseconds.
_FIRST = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    command TEXT NOT NULL,
    host TEXT NOT NULL,
    halyard TEXT NOT NULL
) STRICT;

CREATE TABLE devices (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    serial TEXT NOT NULL,
    emulated INTEGER,
    properties TEXT NOT NULL
) STRICT;

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    size INTEGER NOT NULL,
    width REAL NOT NULL,
    file TEXT NOT NULL,
    UNIQUE (name, type, size, width, file)
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions,
    device INTEGER REFERENCES devices,
    model INTEGER REFERENCES models,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    target TEXT NOT NULL,
    driver TEXT NOT NULL,
    hal TEXT NOT NULL,
    ok INTEGER,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX documents_by_kind ON documents (kind, at);

CREATE TABLE timings (
    document INTEGER NOT NULL REFERENCES documents,
    model INTEGER NOT NULL REFERENCES models,
    engine TEXT NOT NULL,
    span TEXT NOT NULL,
    threads INTEGER,
    count INTEGER NOT NULL,
    prepare REAL,
    first REAL,
    min REAL,
    p25 REAL,
    median REAL,
    p75 REAL,
    p90 REAL,
    p95 REAL,
    p99 REAL,
    max REAL,
    mean REAL,
    std REAL,
    low REAL,
    high REAL
) STRICT;
CREATE INDEX timings_by_document ON timings (document);
CREATE INDEX timings_by_model ON timings (model);

CREATE TABLE agreements (
    document INTEGER NOT NULL REFERENCES documents,
    model INTEGER NOT NULL REFERENCES models,
    engine TEXT NOT NULL,
    reference TEXT NOT NULL,
    threads INTEGER,
    output TEXT NOT NULL,
    max_abs_error REAL,
    max_relative_error REAL,
    max_steps INTEGER,
    exact_share REAL,
    nan INTEGER
) STRICT;
CREATE INDEX agreements_by_document ON agreements (document);

CREATE TABLE cases (
    document INTEGER NOT NULL REFERENCES documents,
    suite TEXT NOT NULL,
    name TEXT NOT NULL,
    hal TEXT NOT NULL,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    message TEXT NOT NULL,
    operations TEXT NOT NULL,
    max_error REAL,
    max_steps INTEGER,
    seconds REAL NOT NULL
) STRICT;
CREATE INDEX cases_by_document ON cases (document, status);
CREATE INDEX cases_by_name ON cases (name);

CREATE TABLE placement (
    document INTEGER NOT NULL REFERENCES documents,
    operation INTEGER NOT NULL,
    label TEXT NOT NULL,
    node TEXT NOT NULL,
    backend TEXT NOT NULL,
    piece INTEGER NOT NULL,
    kernel TEXT NOT NULL,
    refusals TEXT NOT NULL
) STRICT;
CREATE INDEX placement_by_document ON placement (document);

CREATE TABLE nodes (
    document INTEGER NOT NULL REFERENCES documents,
    model INTEGER NOT NULL REFERENCES models,
    threads INTEGER,
    operation INTEGER,
    label TEXT NOT NULL,
    node TEXT NOT NULL,
    type TEXT NOT NULL,
    backend TEXT NOT NULL,
    kernel TEXT NOT NULL,
    median REAL NOT NULL,
    share REAL
) STRICT;
CREATE INDEX nodes_by_document ON nodes (document);
"""

_CONDITIONS_AND_PAIRS = """
CREATE TABLE conditions (
    document INTEGER NOT NULL REFERENCES documents,
    model INTEGER NOT NULL REFERENCES models,
    engine TEXT NOT NULL,
    threads INTEGER,
    peak_memory INTEGER,
    temperature REAL,
    throttling TEXT,
    governor TEXT,
    mhz REAL,
    cpus TEXT,
    load REAL,
    power TEXT,
    joules REAL
) STRICT;
CREATE INDEX conditions_by_document ON conditions (document);

CREATE TABLE pairs (
    document INTEGER NOT NULL REFERENCES documents,
    number INTEGER NOT NULL,
    side TEXT NOT NULL,
    words TEXT NOT NULL,
    device INTEGER REFERENCES devices,
    model INTEGER NOT NULL REFERENCES models,
    threads INTEGER,
    count INTEGER NOT NULL,
    median REAL,
    p90 REAL,
    low REAL,
    high REAL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    p REAL,
    significant INTEGER,
    peak_memory INTEGER,
    temperature REAL
) STRICT;
CREATE INDEX pairs_by_document ON pairs (document);
"""

_PARTITIONS = """
ALTER TABLE placement RENAME COLUMN piece TO partition;
"""

# The changes of each version.
CHANGES: Mapping[int, str] = {1: _FIRST, 2: _CONDITIONS_AND_PAIRS, 3: _PARTITIONS}
TABLES = "".join(CHANGES.values())
