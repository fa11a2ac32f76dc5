# SPDX-License-Identifier: Apache-2.0
"""The document of `halyard doctor --json`."""

from __future__ import annotations

from halyard.records.record import Document, Record


class Finding(Record, frozen=True, kw_only=True):
    """`fix` and `command` are empty where nothing is to be done."""

    check: str
    verdict: str
    seen: str
    fix: str
    command: str


class Doctor(Document, frozen=True, kw_only=True):
    device: str
    instance: str
    ok: bool
    problems: int
    warnings: int
    unknown: int
    findings: list[Finding]
