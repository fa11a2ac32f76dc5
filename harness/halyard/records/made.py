# SPDX-License-Identifier: Apache-2.0
"""The documents of commands that make or move something, with --json: save, report, calibrate,
demo, push, pull and deploy."""

from __future__ import annotations

from typing import Literal

from halyard.records.doctor import Finding
from halyard.records.record import Document, Record
from halyard.records.run import Model, Run


class Saved(Document, frozen=True, kw_only=True):
    model: Model
    file: str
    bytes: int


class Page(Document, frozen=True, kw_only=True):
    file: str
    bytes: int
    plots: list[str]  # PNG files


class Ratio(Record, frozen=True, kw_only=True):
    """To the reference kernels on one thread; below 1 is better."""

    exec_time: float
    power_usage: float


class Calibration(Document, frozen=True, kw_only=True):
    device: str
    driver: list[str]  # its options
    ratios: dict[str, Ratio]  # by operand type
    file: str  # empty where none was asked for


class Demo(Document, frozen=True, kw_only=True):
    device: str
    ok: bool
    seconds: float
    exit_code: int  # of the service
    runs: list[Run]


class Transfer(Document, frozen=True, kw_only=True):
    device: str
    direction: Literal["push", "pull"]
    local: str
    remote: str
    files: int
    bytes: int


class Change(Record, frozen=True, kw_only=True):
    """`what`: put, replace or remove of a deployment, or make of a folder; of one that is taken
    back, what kind of thing is."""

    what: str
    target: str


class Deployment(Document, frozen=True, kw_only=True):
    """As doctor's document, with what was done for it, or with dry_run would be. There are findings
    only where the service was started."""

    device: str
    instance: str
    action: Literal["deploy", "undo"]
    dry_run: bool
    changes: list[Change]
    needs_boot: bool  # before it is whole
    ok: bool
    problems: int
    warnings: int
    unknown: int
    findings: list[Finding]
