# SPDX-License-Identifier: Apache-2.0
"""NNAPI test cases: golden ones, those derived from them, and the official check of results."""

from halyard.cases.case import Case
from halyard.cases.check import ExpectedOutput, Tolerance, Verdict
from halyard.cases.golden import load
from halyard.cases.variants import derived

__all__ = ["Case", "ExpectedOutput", "Tolerance", "Verdict", "derived", "load"]
