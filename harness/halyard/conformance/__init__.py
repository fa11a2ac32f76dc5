# SPDX-License-Identifier: Apache-2.0
"""NNAPI conformance: golden cases, the cases derived from them, and the official check.

`halyard.conformance.suite` runs them on a device."""

from halyard.conformance.case import Case
from halyard.conformance.check import ExpectedOutput, Tolerance, Verdict
from halyard.conformance.golden import load
from halyard.conformance.variants import derived

__all__ = ["Case", "ExpectedOutput", "Tolerance", "Verdict", "derived", "load"]
