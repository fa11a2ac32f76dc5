# SPDX-License-Identifier: Apache-2.0
"""Several files of results as one, in memory: those of several machines, for one page.

A `host` or `vm` on two machines is two devices. Each is named with its machine then; a device with
a serial of its own, as a phone on USB has, is one device wherever it was plugged in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from halyard.errors import HalyardError
from halyard.store.store import Store, table_names, told

# Those that others name by their number, and the column in which they do.
_NUMBERED = {"sessions": "session", "devices": "device", "models": "model", "documents": "document"}
# Of a phone: other serials are addresses, or a virtual device's.
_SERIAL = re.compile(r"[0-9A-Za-z]{6,}")

Numbers = dict[str, dict[int, int]]


def merged(paths: Sequence[Path]) -> tuple[Store, bool]:
    """And whether they come from several machines. HalyardError for whatever is wrong with any."""
    into = Store.in_memory()
    try:
        with ExitStack() as stack:
            stores = [stack.enter_context(Store.open(path, read_only=True)) for path in paths]
            several = len({host for store in stores for host in _hosts(store)}) > 1
            for store in stores:
                with told(store.path):
                    _copy(store, into, several=several)
    except BaseException:
        into.close()
        raise
    return into, several


def _hosts(store: Store) -> list[str]:
    with told(store.path):
        found = store.connection.execute("SELECT host FROM sessions ORDER BY id").fetchall()
        return [host for [host] in found]


def _copy(store: Store, into: Store, *, several: bool) -> None:
    numbers: Numbers = {}
    into.connection.execute("BEGIN")
    for table in (*_NUMBERED, *(each for each in table_names() if each not in _NUMBERED)):
        rows = _rows(store, table, numbers)
        if table == "devices":
            rows = _named(store, into, rows) if several else rows
        if table in _NUMBERED:
            numbers[_NUMBERED[table]] = dict(_added(into, table, rows))
        else:
            _insert(into, table, rows)
    into.connection.commit()


def _rows(store: Store, table: str, numbers: Numbers) -> Iterator[dict[str, Any]]:
    """With the numbers that they have in the one that they go into."""
    cursor = store.connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        for column in numbers.keys() & row.keys():
            if row[column] is not None:
                if row[column] not in numbers[column]:
                    raise HalyardError(f"{store.path}: a row of {table} has no {column}")
                row[column] = numbers[column][row[column]]
        yield row


def _named(store: Store, into: Store, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    hosts: Mapping[int, str] = dict(
        store.connection.execute(
            "SELECT d.device, s.host FROM documents d JOIN sessions s ON s.id = d.session "
            "ORDER BY s.id"
        ).fetchall()
    )
    [*_, last] = _hosts(store) or [""]
    for row in rows:
        name, serial = row["name"], row["serial"]
        there = into.connection.execute("SELECT serial FROM devices WHERE name = ?", [name])
        is_other = any(other != serial for [other] in there)
        if is_other or not _SERIAL.fullmatch(serial or name):
            row["name"] = f"{name} at {hosts.get(row['id'], last)}"
        yield row


def _added(into: Store, table: str, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Their numbers before and now. A device or a model may be there already."""
    for row in rows:
        before = row.pop("id")
        if table in ("devices", "models"):
            yield before, into.shared(table, row)
        else:
            yield before, into.insert(table, row)


def _insert(into: Store, table: str, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        into.insert(table, row)
