# SPDX-License-Identifier: Apache-2.0
"""The file of results: opening it, and adding to it.

It has a rollback journal, not a write-ahead log: but for the moment of a write it is one file,
which can be copied. A writer holds it for what one command found out; the others wait.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from halyard.errors import HalyardError
from halyard.output_file import check_writable
from halyard.records import Document
from halyard.store import schema
from halyard.store.facts import (
    MEASURED,
    Columns,
    Device,
    Facts,
    Model,
    Row,
    Value,
    facts_of,
    facts_of_text,
)

# Seconds that a writer waits for the others.
_PATIENCE = 60.0
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Origin:
    """Which command found something out. `device` is what the user calls it: a serial may be
    another one every time, as the virtual device's is."""

    command: str = ""
    device: str = ""


def check(path: Path) -> None:
    """ConfigError or HalyardError where results can't go into the file, which is not made yet."""
    check_writable(path)
    if path.exists() and path.stat().st_size:
        Store.open(path).close()


class Store:
    """Of this schema's version. HalyardError for whatever is wrong with the file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        """Made where it is not there yet, unless it is only to be read."""
        if read_only and not path.exists():
            raise HalyardError(f"{path}: there is no such file; --results {path} of run makes one")
        mode = "ro" if read_only else "rwc"
        with told(path):
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
            )
        store = cls(path, connection)
        try:
            with told(path):
                # Views and triggers that a file from elsewhere defines must not run.
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA foreign_keys = ON")
                store._check_version(make=not read_only)
                if store._header()[1] < schema.VERSION:
                    if read_only:
                        store._go_into_memory()
                    store._upgrade()
        except BaseException:
            store.connection.close()
            raise
        return store

    @classmethod
    def in_memory(cls) -> Self:
        store = cls(Path(":memory:"), sqlite3.connect(":memory:", isolation_level=None))
        store._check_version(make=True)
        return store

    def _check_version(self, *, make: bool) -> None:
        if self._header() == (0, 0) and self._is_empty() and make:
            with self._transaction():
                # Another writer may have been quicker.
                if self._is_empty():
                    for statement in schema.TABLES.split(";"):
                        self.connection.execute(statement)
                    self.connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
                    self.connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        application, version = self._header()
        if not make and self._is_empty():
            raise HalyardError(f"{self.path}: it has no results")
        if application != schema.APPLICATION:
            raise HalyardError(f"{self.path}: this SQLite file holds something else than results")
        if version not in schema.CHANGES:
            raise HalyardError(
                f"{self.path}: its tables are of version {version}, and this halyard has version "
                f"{schema.VERSION}; name another file, or use the halyard that made it"
            )
        # Anything may stand in their place in a file from elsewhere: a view without an end.
        if not _tables(self.connection).items() >= _own_tables(version).items():
            raise HalyardError(f"{self.path}: its tables are not those of version {version}")

    def _go_into_memory(self) -> None:
        """The file itself stays as it is."""
        memory = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.backup(memory)
        self.connection.close()
        self.connection = memory
        memory.execute("PRAGMA trusted_schema = OFF")

    def _upgrade(self) -> None:
        """From an earlier version: the later tables get what the documents say."""
        with self._transaction():
            # Another writer may have been quicker.
            [_, version] = self._header()
            before = _tables(self.connection).keys()
            for number in range(version + 1, schema.VERSION + 1):
                for statement in schema.CHANGES[number].split(";"):
                    self.connection.execute(statement)
            added = _tables(self.connection).keys() - before
            found = self.connection.execute("SELECT id, kind FROM documents").fetchall()
            for number, kind in found if added else ():
                if kind in MEASURED:
                    [[text]] = self.connection.execute(
                        "SELECT json FROM documents WHERE id = ?", [number]
                    )
                    rows = facts_of_text(kind, text).rows
                    self._add_rows(number, [row for row in rows if row.table in added])
            self.connection.execute(f"PRAGMA user_version = {schema.VERSION}")

    def _header(self) -> tuple[int, int]:
        [[application]] = self.connection.execute("PRAGMA application_id")
        [[version]] = self.connection.execute("PRAGMA user_version")
        return int(application), int(version)

    def _is_empty(self) -> bool:
        [[tables]] = self.connection.execute("SELECT count(*) FROM sqlite_master")
        return int(tables) == 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE: one that became a writer later could not wait for another.
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()

    # ---- adding -----------------------------------------------------------------------------

    def add(self, *documents: Document, origin: Origin | None = None) -> None:
        """All of them, as one session, or none."""
        origin = origin or Origin()
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with told(self.path), self._transaction():
            session = self.insert(
                "sessions",
                {
                    "at": now,
                    "command": origin.command,
                    "host": platform.node(),
                    "halyard": importlib.metadata.version("halyard"),
                },
            )
            for document in documents:
                self._add(document, session, now, origin)

    def _add(self, document: Document, session: int, now: str, origin: Origin) -> None:
        facts = facts_of(document)
        number = self.insert("documents", self._columns(document, facts, session, now, origin))
        self._add_rows(number, facts.rows)

    def _add_rows(self, document: int, rows: Iterable[Row]) -> None:
        for row in rows:
            columns: dict[str, Value] = {"document": document, **row.columns}
            if row.model is not None:
                columns["model"] = self._model(row.model)
            if row.device is not None:
                columns["device"] = self._device(row.device, "")
            self.insert(row.table, columns)

    def _columns(
        self, document: Document, facts: Facts, session: int, now: str, origin: Origin
    ) -> dict[str, Value]:
        return {
            "session": session,
            "device": self._device(facts.device, origin.device),
            "model": None if facts.model is None else self._model(facts.model),
            "kind": type(document).__name__.lower(),
            "at": facts.at or now,
            "target": facts.target,
            "driver": facts.driver,
            "hal": facts.hal,
            "ok": facts.ok,
            "json": msgspec.json.encode(document).decode(),
        }

    def _device(self, device: Device | None, named: str) -> int | None:
        """The last statement about a device holds."""
        if device is None and not named:
            return None
        device = device or Device("")
        name = named or device.name or device.serial
        self.connection.execute(
            "INSERT INTO devices (name, serial, emulated, properties) VALUES (?, ?, ?, '{}') "
            "ON CONFLICT (name) DO UPDATE SET "
            "serial = coalesce(nullif(excluded.serial, ''), serial), "
            "emulated = coalesce(excluded.emulated, emulated)",
            (name, device.serial, device.emulated),
        )
        if device.properties:
            self.connection.execute(
                "UPDATE devices SET properties = ? WHERE name = ?",
                (json.dumps(dict(device.properties), sort_keys=True), name),
            )
        return self._number("devices", {"name": name})

    def _model(self, model: Model) -> int:
        columns: Columns = {
            "name": model.name,
            "type": model.type,
            "size": model.size,
            "width": model.width,
            "file": model.file,
        }
        return self.shared("models", columns)

    def shared(self, table: str, columns: Columns) -> int:
        """The number of a device or a model, which is added unless it is there."""
        self.insert(table, columns, "OR IGNORE")
        return self._number(table, {"name": columns["name"]} if table == "devices" else columns)

    def _number(self, table: str, columns: Columns) -> int:
        where = " AND ".join(f"{name} = ?" for name in columns)
        [[number]] = self.connection.execute(
            f"SELECT id FROM {table} WHERE {where}", [_fitting(each) for each in columns.values()]
        )
        return int(number)

    def insert(self, table: str, columns: Columns, otherwise: str = "") -> int:
        marks = ", ".join("?" * len(columns))
        cursor = self.connection.execute(
            f"INSERT {otherwise} INTO {table} ({', '.join(columns)}) VALUES ({marks})",
            [_fitting(value) for value in columns.values()],
        )
        return cursor.lastrowid or 0

    # ---- its end ----------------------------------------------------------------------------

    def close(self) -> None:
        with told(self.path):
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    """How each was made, by its name."""
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))


@cache
def _own_tables(version: int) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in range(1, version + 1):
            connection.executescript(schema.CHANGES[number])
        return _tables(connection)


def table_names() -> Sequence[str]:
    return list(_own_tables(schema.VERSION))


def _fitting(value: Value) -> Value:
    """A device may say any number of 64 bits, and SQLite's have a sign."""
    return min(value, _LARGEST) if isinstance(value, int) else value


_REASONS: Mapping[int, str] = {
    sqlite3.SQLITE_NOTADB: "this is no SQLite file, and so none with results",
    sqlite3.SQLITE_CORRUPT: "this file of results is damaged",
    sqlite3.SQLITE_BUSY: f"others have held this file for {_PATIENCE:.0f} s; try again later",
    sqlite3.SQLITE_CANTOPEN: "this file can't be opened",
    sqlite3.SQLITE_READONLY: "this file can't be written",
    sqlite3.SQLITE_FULL: "the disk is full",
}


@contextmanager
def told(path: Path) -> Iterator[None]:
    """SQLite's errors become a HalyardError that names the file."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise HalyardError(f"{path}: a result has a text that is no UTF-8 ({error})") from error
    except sqlite3.Error as error:
        # Its lower half is what every version of SQLite has.
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        reason = _REASONS.get(code, "this file of results can't be used")
        raise HalyardError(f"{path}: {reason} ({error})") from error
