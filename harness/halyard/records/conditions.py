# SPDX-License-Identifier: Apache-2.0
"""In what state a device was when it was measured. Null: the device does not tell."""

from __future__ import annotations

from halyard.records.record import Record


class Zone(Record, frozen=True, kw_only=True):
    name: str
    celsius: float


class Cores(Record, frozen=True, kw_only=True):
    """Of one frequency."""

    cpus: str
    governor: str
    mhz: float | None
    min_mhz: float | None
    max_mhz: float | None


class Supply(Record, frozen=True, kw_only=True):
    """A battery or a charger."""

    name: str
    type: str
    status: str
    percent: int | None
    volts: float | None
    amperes: float | None
    charge_mah: float | None


class Energy(Record, frozen=True, kw_only=True):
    """A counter's value, and the value at which it begins anew."""

    name: str
    joules: float
    range_joules: float | None


class Conditions(Record, frozen=True, kw_only=True):
    """`missing` says in words what the device has none of."""

    temperature_c: float | None
    zones: list[Zone]
    throttling: str | None
    cores: list[Cores]
    online_cpus: str | None
    allowed_cpus: str | None
    load: float | None
    supplies: list[Supply]
    energy: list[Energy]
    missing: list[str]


class Waited(Record, frozen=True, kw_only=True):
    """For a device to cool down. `reason`: why it was not waited for, or no longer."""

    seconds: float
    before_c: float | None
    after_c: float | None
    reason: str
