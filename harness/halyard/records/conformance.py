# SPDX-License-Identifier: Apache-2.0
"""The documents of `halyard conformance --json`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

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
    # Of several.
    device: str | UnsetType = UNSET


class Turn(Record, frozen=True, kw_only=True):
    """Some cases on a device, one after the other. Seconds since the run began."""

    begin: float
    end: float
    cases: int


class Share(Record, frozen=True, kw_only=True):
    """The work of one of several devices. `lost` says why it dropped out."""

    device: str
    serial: str
    target: str
    driver: str
    cases: int
    busy: float
    lost: str
    turns: list[Turn]


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
    # Where several devices took part.
    shares: list[Share] | UnsetType = UNSET
