# SPDX-License-Identifier: Apache-2.0
"""A file of results in rows of known types: it may come from anywhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from halyard.errors import ConfigError, HalyardError
from halyard.store.merging import merged
from halyard.store.store import Store, told


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Of a query, by the names of its columns."""


R = TypeVar("R", bound=Row)


class Device(Row, frozen=True, kw_only=True):
    name: str
    serial: str
    emulated: int | None
    properties: str
    driver: str | None
    documents: int
    first: str
    last: str


class Document(Row, frozen=True, kw_only=True):
    """One of those that were chosen; `order` is by time."""

    id: int
    order: int
    kind: str
    at: str
    device: str
    model: str
    target: str
    driver: str
    hal: str
    ok: int | None
    backends: str  # that ran something, as far as it is known


class Content(Row, frozen=True, kw_only=True):
    id: int
    json: str


class Outcomes(Row, frozen=True, kw_only=True):
    """How many cases last came to this."""

    kind: str
    device: str
    hal: str
    status: str
    count: int
    last: str


class OperationOutcomes(Row, frozen=True, kw_only=True):
    device: str
    operations: str
    status: str
    count: int


class Case(Row, frozen=True, kw_only=True):
    document: int
    kind: str
    device: str
    at: str
    suite: str
    name: str
    hal: str
    status: str
    stage: str
    message: str
    operations: str
    max_error: float | None
    max_steps: int | None


class PassRate(Row, frozen=True, kw_only=True):
    document: int
    kind: str
    device: str
    at: str
    good: int
    count: int


class Timing(Row, frozen=True, kw_only=True):
    document: int
    order: int
    kind: str
    at: str
    device: str
    target: str
    hal: str
    backends: str
    model: str
    engine: str
    span: str
    threads: int | None
    count: int
    prepare: float | None
    first: float | None
    min: float | None
    median: float | None
    p90: float | None
    p99: float | None
    max: float | None
    mean: float | None
    low: float | None
    high: float | None


class Agreement(Row, frozen=True, kw_only=True):
    document: int
    order: int
    at: str
    device: str
    hal: str
    backends: str
    model: str
    engine: str
    reference: str
    output: str
    max_abs_error: float | None
    max_relative_error: float | None
    max_steps: int | None
    exact_share: float | None
    nan: int | None
    ok: int | None


class Condition(Row, frozen=True, kw_only=True):
    """Of a device while a model was measured; memory is that of the process which ran it."""

    order: int
    at: str
    device: str
    hal: str
    backends: str
    model: str
    engine: str
    threads: int | None
    peak_memory: int | None
    temperature: float | None
    throttling: str | None
    governor: str | None
    mhz: float | None
    cpus: str | None
    load: float | None
    power: str | None
    joules: float | None


class Side(Row, frozen=True, kw_only=True):
    """Of two that took turns; what it is beside the other stands with B."""

    document: int
    at: str
    number: int
    side: str
    words: str
    device: str
    model: str
    threads: int | None
    count: int
    median: float | None
    p90: float | None
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    significant: int | None
    peak_memory: int | None
    temperature: float | None


class Placed(Row, frozen=True, kw_only=True):
    """How many operations of a document a backend ran."""

    document: int
    backend: str
    count: int
    partitions: int


class Refused(Row, frozen=True, kw_only=True):
    document: int
    refusals: str
    count: int


class Profile(Row, frozen=True, kw_only=True):
    document: int
    model_id: int
    at: str
    device: str
    backends: str
    model: str
    threads: int | None


class Node(Row, frozen=True, kw_only=True):
    label: str
    node: str
    type: str
    backend: str
    kernel: str
    median: float
    share: float | None


# A model as people call it: by its file where it has one, of which rtrim leaves the folder. Files
# of results may have what the file calls it itself, and many are called the same.
_MODEL = """
    trim(coalesce(nullif(substr(m.file, 1 + length(rtrim(m.file, replace(m.file, '/', '')))), ''),
    m.name) || ' ' || m.type || CASE WHEN m.size > 0 THEN ' ' || m.size ELSE '' END
    || CASE WHEN m.width NOT IN (0, 1) THEN printf(' x%g', m.width) ELSE '' END)
"""

# Of a comparison. A document of any kind may be spoilt.
_SIDES = """
    CASE WHEN json_valid(json) THEN json_extract(json, '$.a.name') END,
    CASE WHEN json_valid(json) THEN json_extract(json, '$.b.name') END
"""


def _of_ours(column: str, otherwise: str = "''") -> str:
    """Of an engine's row: peers run on the machine of the command, whatever device ours is on."""
    return f"CASE WHEN t.engine = 'halyard' THEN c.{column} ELSE {otherwise} END AS {column}"


_CHOSEN = f"""
CREATE TEMP TABLE chosen AS SELECT
    d.id, d.kind, d.at, d.target, d.driver, d.hal, d.ok,
    coalesce(v.name, '') AS device,
    coalesce({_MODEL}, '') AS model,
    'host' || CASE WHEN :several THEN ' at ' || s.host ELSE '' END AS here,
    row_number() OVER (ORDER BY d.at, d.id) AS "order",
    coalesce((SELECT group_concat(backend, '+') FROM
        (SELECT DISTINCT backend FROM placement WHERE document = d.id AND backend != ''
        ORDER BY backend)), '')
        AS backends
FROM documents d JOIN sessions s ON s.id = d.session
    LEFT JOIN devices v ON v.id = d.device LEFT JOIN models m ON m.id = d.model
WHERE (:all OR device IN (SELECT id FROM devices WHERE name IN (SELECT value FROM wanted)))
    AND d.at >= :since
"""

# Of each case on each device what it came to last, as SQLite takes the other columns of a group
# from the row that has the maximum.
_LATEST = """
CREATE TEMP TABLE latest AS SELECT
    max(c."order") AS newest, c.id AS document, c.kind, c.device, c.at,
    s.suite, s.name, s.hal, s.status, s.stage, s.message, s.operations, s.max_error, s.max_steps
FROM cases s JOIN chosen c ON c.id = s.document
GROUP BY c.kind, c.device, s.suite, s.name, s.hal
"""

# Where a case went as it should.
_GOOD = "('passed', 'unsupported', 'xfailed', 'skipped')"


class Results:
    """Those of some devices, or since a time. HalyardError for whatever is wrong with the files."""

    def __init__(self, paths: Sequence[Path], devices: Sequence[str] = (), since: str = "") -> None:
        self.name = ", ".join(path.name for path in paths)
        self.path = paths[0] if len(paths) == 1 else Path(", ".join(map(str, paths)))
        if len(paths) == 1:
            self._store, several = Store.open(paths[0], read_only=True), False
        else:
            self._store, several = merged(paths)
        try:
            with told(self.path):
                self._choose(devices, since, several=several)
        except BaseException:
            self._store.close()
            raise

    def _choose(self, devices: Sequence[str], since: str, *, several: bool) -> None:
        connection = self._store.connection
        known = [name for [name] in connection.execute("SELECT name FROM devices ORDER BY name")]
        for name in devices:
            if name not in known:
                raise ConfigError(f"--device {name}: {self.path} has {', '.join(known) or 'none'}")
        connection.execute("CREATE TEMP TABLE wanted (value TEXT)")
        connection.executemany("INSERT INTO wanted VALUES (?)", [[name] for name in devices])
        connection.execute(_CHOSEN, {"all": not devices, "since": since, "several": several})
        connection.execute(_LATEST)

    def _rows(self, kind: type[R], query: str, *values: object) -> list[R]:
        with told(self.path):
            cursor = self._store.connection.execute(query, values)
            cursor.row_factory = sqlite3.Row
            found: list[Any] = [dict(row) for row in cursor]
        try:
            return msgspec.convert(found, list[kind])  # type: ignore[valid-type]
        except msgspec.ValidationError as error:
            raise HalyardError(f"{self.path}: a row is not as it should be: {error}") from error

    def documents(self) -> list[Document]:
        """The oldest first."""
        return self._rows(Document, 'SELECT * FROM chosen ORDER BY "order"')

    def contents(self, kind: str) -> list[Content]:
        """Whole documents of a kind, the last one of each device and model, and of each two sides
        that were compared."""
        return self._rows(
            Content,
            "SELECT d.id, d.json FROM documents d JOIN "
            f'(SELECT id, max("order") FROM chosen JOIN documents USING (id) '
            f"WHERE chosen.kind = ? GROUP BY chosen.device, chosen.model, {_SIDES}) "
            "USING (id) ORDER BY d.id",
            kind,
        )

    def content(self, document: int) -> str:
        [found] = self._rows(Content, "SELECT id, json FROM documents WHERE id = ?", document)
        return found.json

    def devices(self) -> list[Device]:
        return self._rows(
            Device,
            "SELECT v.name, v.serial, v.emulated, v.properties, "
            "(SELECT driver FROM chosen WHERE device = v.name AND driver != '' "
            'ORDER BY "order" DESC LIMIT 1) AS driver, '
            'count(*) AS documents, min(c.at) AS first, max(c.at) AS last, max(c."order") '
            "FROM chosen c JOIN devices v ON v.name = c.device GROUP BY v.name ORDER BY v.name",
        )

    def outcomes(self) -> list[Outcomes]:
        return self._rows(
            Outcomes,
            "SELECT kind, device, hal, status, count(*) AS count, max(at) AS last FROM latest "
            "GROUP BY kind, device, hal, status ORDER BY kind, device, hal, status",
        )

    def operations(self) -> list[OperationOutcomes]:
        return self._rows(
            OperationOutcomes,
            "SELECT device, operations, status, count(*) AS count FROM latest "
            "WHERE operations != '' GROUP BY device, operations, status",
        )

    def bad_cases(self, most: int) -> list[Case]:
        """The cases that failed when they last ran."""
        return self._rows(
            Case,
            f"SELECT * FROM latest WHERE status NOT IN {_GOOD} "
            "ORDER BY kind, device, suite, name, hal LIMIT ?",
            most,
        )

    def pass_rates(self) -> list[PassRate]:
        return self._rows(
            PassRate,
            "SELECT c.id AS document, c.kind, c.device, c.at, count(*) AS count, "
            f"sum(s.status IN {_GOOD}) AS good "
            'FROM chosen c JOIN cases s ON s.document = c.id GROUP BY c.id ORDER BY c."order"',
        )

    def timings(self) -> list[Timing]:
        """The oldest first."""
        return self._rows(
            Timing,
            'SELECT c.id AS document, c."order", c.kind, c.at, c.target, '
            f"{_of_ours('device', 'c.here')}, {_of_ours('hal')}, {_of_ours('backends')}, "
            f"{_MODEL} AS model, t.engine, t.span, t.threads, t.count, t.prepare, "
            "t.first, t.min, t.median, t.p90, t.p99, t.max, t.mean, t.low, t.high "
            "FROM timings t JOIN chosen c ON c.id = t.document JOIN models m ON m.id = t.model "
            'WHERE t.median IS NOT NULL ORDER BY c."order"',
        )

    def agreements(self) -> list[Agreement]:
        """The last ones of each output."""
        return self._rows(
            Agreement,
            'SELECT c.id AS document, max(c."order") AS "order", c.at, c.device, c.hal, '
            f"c.backends, {_MODEL} AS model, a.engine, a.reference, a.output, a.max_abs_error, "
            "a.max_relative_error, a.max_steps, a.exact_share, a.nan, c.ok "
            "FROM agreements a JOIN chosen c ON c.id = a.document JOIN models m ON m.id = a.model "
            f"WHERE c.kind != 'compare' "
            f"GROUP BY c.device, c.hal, c.backends, {_MODEL}, a.engine, a.output "
            "ORDER BY model, c.device, c.hal, a.engine, a.output",
        )

    def conditions(self) -> list[Condition]:
        """The last ones of each model on each device."""
        return self._rows(
            Condition,
            f'SELECT max(c."order") AS "order", c.at, {_of_ours("device", "c.here")}, '
            f"{_of_ours('hal')}, {_of_ours('backends')}, {_MODEL} AS model, t.engine, t.threads, "
            "t.peak_memory, t.temperature, t.throttling, t.governor, t.mhz, t.cpus, t.load, "
            "t.power, t.joules "
            "FROM conditions t JOIN chosen c ON c.id = t.document JOIN models m ON m.id = t.model "
            f"GROUP BY 3, 4, 5, {_MODEL}, t.engine, t.threads "
            "ORDER BY model, 3, 4, 5, t.threads, t.engine != 'halyard', t.engine",
        )

    def sides(self) -> list[Side]:
        """The oldest first, A before B."""
        return self._rows(
            Side,
            "SELECT c.id AS document, c.at, p.number, p.side, p.words, "
            f"coalesce(v.name, c.device) AS device, {_MODEL} AS model, p.threads, p.count, "
            "p.median, p.p90, p.low, p.high, p.ratio, p.ratio_low, p.ratio_high, p.p, "
            "p.significant, p.peak_memory, p.temperature "
            "FROM pairs p JOIN chosen c ON c.id = p.document JOIN models m ON m.id = p.model "
            "LEFT JOIN devices v ON v.id = p.device "
            'ORDER BY c."order", p.number, p.side',
        )

    def placed(self) -> list[Placed]:
        return self._rows(
            Placed,
            "SELECT p.document, p.backend, count(*) AS count, "
            "count(DISTINCT p.partition) AS partitions FROM placement p "
            "JOIN chosen c ON c.id = p.document "
            "GROUP BY p.document, p.backend ORDER BY p.document, count DESC",
        )

    def refused(self) -> list[Refused]:
        return self._rows(
            Refused,
            "SELECT p.document, p.refusals, count(*) AS count FROM placement p "
            "JOIN chosen c ON c.id = p.document WHERE p.refusals != '{}' "
            "GROUP BY p.document, p.refusals ORDER BY p.document, count DESC",
        )

    def profiles(self) -> list[Profile]:
        """The last one of each model on each device."""
        return self._rows(
            Profile,
            'SELECT c.id AS document, n.model AS model_id, max(c."order"), c.at, c.device, '
            f"c.backends, {_MODEL} AS model, n.threads "
            "FROM nodes n JOIN chosen c ON c.id = n.document JOIN models m ON m.id = n.model "
            "GROUP BY n.model, c.device, c.backends, n.threads ORDER BY model, c.device, n.threads",
        )

    def nodes(self, profile: Profile) -> list[Node]:
        """Those that take longest first."""
        return self._rows(
            Node,
            "SELECT label, node, type, backend, kernel, median, share FROM nodes "
            "WHERE document = ? AND model = ? AND threads IS ? ORDER BY median DESC",
            profile.document,
            profile.model_id,
            profile.threads,
        )

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
