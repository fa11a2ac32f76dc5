# SPDX-License-Identifier: Apache-2.0
"""Failures that a device is known to have. They are strict: one that passes is a failure, too."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

from halyard.conformance.outcome import Outcome, Status


@dataclass(frozen=True)
class Expectations:
    """Reasons by patterns of case names, as `expected_failures` of a device configuration has
    them; the first pattern that matches a name counts."""

    failures: Mapping[str, str] = field(default_factory=dict)

    def reason(self, case_name: str) -> str | None:
        for pattern, reason in self.failures.items():
            if fnmatch.fnmatchcase(case_name, pattern):
                return reason
        return None

    def judged(self, case_name: str, outcome: Outcome) -> Outcome:
        """The outcome in the light of what was expected of the case."""
        reason = self.reason(case_name)
        if reason is None:
            return outcome
        if outcome.status in (Status.FAILED, Status.CRASHED):
            message = f"expected, {reason}: {outcome.message}"
            return dataclasses.replace(outcome, status=Status.XFAILED, message=message)
        if outcome.status == Status.PASSED:
            message = f"it passes, and was expected to fail: {reason}"
            return dataclasses.replace(outcome, status=Status.XPASSED, message=message)
        return outcome
