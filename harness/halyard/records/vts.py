# SPDX-License-Identifier: Apache-2.0
"""The document of `halyard vts --json`."""

from __future__ import annotations

from halyard.records.record import Document, Record


class Counts(Record, frozen=True, kw_only=True):
    passed: int
    failed: int
    skipped: int


class Test(Record, frozen=True, kw_only=True):
    """`reason` is empty where it passed; `model` is that of a failed one, as text."""

    name: str
    suite: str
    hal: str
    outcome: str
    reason: str
    seconds: float
    model: str = ""


class Vts(Document, frozen=True, kw_only=True):
    """`classes` by their names."""

    device: str
    target: str
    driver: str
    hal: list[str]
    seconds: float
    planned: int
    ended_early: str
    unreadable: list[str]
    passed: int
    failed: int
    skipped: int
    classes: dict[str, Counts]
    tests: list[Test]
