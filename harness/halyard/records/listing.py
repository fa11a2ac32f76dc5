# SPDX-License-Identifier: Apache-2.0
"""The documents of `halyard devices`, `operations` and `vm start`, `stop` and `status` with
--json."""

from __future__ import annotations

from halyard.records.record import Document, Record


class NamedDevice(Record, frozen=True, kw_only=True):
    name: str  # as --device takes it
    kind: str
    state: str


class Devices(Document, frozen=True, kw_only=True):
    devices: list[NamedDevice]
    configurations: list[str]  # paths
    note: str


class Operation(Record, frozen=True, kw_only=True):
    name: str
    code: int
    since: str
    types: dict[str, str]  # and the HAL version from which on each is taken


class Operations(Document, frozen=True, kw_only=True):
    operations: list[Operation]


class VirtualDeviceState(Document, frozen=True, kw_only=True):
    """Where it does not run, all but `machine`, `name` and `running` is empty."""

    machine: str
    name: str
    running: bool
    adb: str
    kernel: str
    pid: int | None
    emulated: bool | None
    boot_seconds: float | None
