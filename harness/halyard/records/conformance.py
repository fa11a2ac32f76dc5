# SPDX-License-Identifier: Apache-2.0
"""What `halyard conformance --json` writes."""

from __future__ import annotations

from halyard.records.record import Document, Error, Record


class Case(Record, frozen=True, kw_only=True):
    """`max_error` is null where nothing was compared. Of what did not go well, `model` is its model
    as text, and `log` what the service wrote last, where it did not survive."""

    name: str
    spec: str
    status: str
    stage: str
    message: str
    max_steps: int | None
    max_error: Error | None
    compared: int
    operations: list[str]
    types: list[str]
    hal: str
    seconds: float
    model: str = ""
    log: str = ""


class Conformance(Document, frozen=True, kw_only=True):
    device: str
    target: str
    driver: str
    seconds: float
    planned: int
    left_out: int
    ended_early: str
    unreadable: list[str]
    passed: int
    failed: int
    unsupported: int
    crashed: int
    xfailed: int
    xpassed: int
    cases: list[Case]
