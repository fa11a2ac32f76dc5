# SPDX-License-Identifier: Apache-2.0
"""The finding of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halyard.records import doctor


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"  # the service can be there all the same
    PROBLEM = "problem"
    UNKNOWN = "unknown"  # it could not be looked at


@dataclass(frozen=True)
class Finding:
    """The observation and, unless it is as it should be, the remedy: a sentence, and the command to
    type where there is one."""

    verdict: Verdict
    seen: str
    fix: str = ""
    command: str = ""
    check: str = ""  # the check's name, put in by the examination

    def record(self) -> doctor.Finding:
        return doctor.Finding(
            check=self.check,
            verdict=self.verdict.value,
            seen=self.seen,
            fix=self.fix,
            command=self.command,
        )


def ok(seen: str) -> Finding:
    return Finding(Verdict.OK, seen)


def warning(seen: str, fix: str, command: str = "") -> Finding:
    return Finding(Verdict.WARNING, seen, fix, command)


def problem(seen: str, fix: str, command: str = "") -> Finding:
    return Finding(Verdict.PROBLEM, seen, fix, command)


def unknown(seen: str, fix: str = "", command: str = "") -> Finding:
    return Finding(Verdict.UNKNOWN, seen, fix, command)
