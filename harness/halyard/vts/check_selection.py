# SPDX-License-Identifier: Apache-2.0
"""Which tests are wanted, by name, and on which cases."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halyard.cases.case import Case
from halyard.conformance.selection import matcher

Matcher = Callable[[str], bool]


def gtest_filter(text: str) -> Matcher:
    """GoogleTest's --gtest_filter: patterns with * and ?, colons between them; behind a - those
    that are not wanted."""
    wanted, _, unwanted = text.partition("-")
    positive, negative = _any_of(wanted or "*"), _any_of(unwanted)
    return lambda name: positive(name) and not negative(name)


def _any_of(patterns: str) -> Matcher:
    translated = [
        "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
        for pattern in patterns.split(":")
        if pattern
    ]
    expressions = [re.compile(each) for each in translated]
    return lambda name: any(each.fullmatch(name) for each in expressions)


@dataclass(frozen=True)
class Wanted:
    """Both have to match a test's name. `sample`: as many cases of each kind, at random; 0: all."""

    expression: str = ""
    filter: str = ""
    sample: int = 0
    seed: int = 0

    def matcher(self) -> Matcher:
        """ConfigError for an expression that is none."""
        by_expression, by_filter = matcher(self.expression), gtest_filter(self.filter)
        return lambda name: by_filter(name) and by_expression(name)

    def sampled(self, cases: Sequence[Case]) -> list[Case]:
        """In their order."""
        if not self.sample or len(cases) <= self.sample:
            return list(cases)
        chosen = random.Random(self.seed).sample(range(len(cases)), self.sample)
        return [cases[index] for index in sorted(chosen)]
