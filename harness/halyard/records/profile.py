# SPDX-License-Identifier: Apache-2.0
"""The document of `halyard profile --json`."""

from __future__ import annotations

from halyard.records.record import Document, Record
from halyard.records.run import Device, DeviceMemory, Model, Node


class Processor(Record, frozen=True, kw_only=True):
    """While the model ran. Null: the device does not tell."""

    cpu: int
    mean_load: float | None
    min_khz: float | None
    max_khz: float | None


class Profile(Document, frozen=True, kw_only=True):
    """`executions`: those that nodes were timed in; times are their medians. `device_ms`: of all
    nodes, as devices tell."""

    model: Model
    device: Device
    target: str
    driver: str
    hal: str
    ok: bool
    problems: list[str]
    notes: list[str]
    executions: int
    wall_ms: float | None
    driver_ms: float | None
    nodes_ms: float | None
    device_ms: float | None = None
    device_memory: DeviceMemory | None = None
    nodes: list[Node]
    processors: list[Processor]
