# SPDX-License-Identifier: Apache-2.0
"""Which cases are wanted: by an expression over their names, by operation, by type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from halyard.cases.case import Case
from halyard.errors import ConfigError
from halyard.programs.operations import check_name, likely
from halyard.proto import halyard_pb2 as pb

_TOKEN = re.compile(r"\s*(?:(?P<bracket>[()])|(?P<word>(?:\w|:|\+|-|\.|\[|\]|\\|/)+))")

Matcher = Callable[[str], bool]


def matcher(expression: str) -> Matcher:
    """Pytest's -k: words that occur in the name, whatever their case, with `and`, `or`, `not` and
    brackets. ConfigError for what is none."""
    return _Parser(expression).whole()


class _Parser:
    """By recursive descent: `or` binds least, `not` most."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(f"unexpected {text[at:].strip()[:1]!r}")
            self._tokens.append(found["bracket"] or found["word"])
            at = found.end()
        self._next = 0

    def whole(self) -> Matcher:
        if not self._tokens:
            return lambda _: True
        result = self._either()
        if self._next < len(self._tokens):
            raise self._error(f"unexpected {self._tokens[self._next]!r}")
        return result

    def _either(self) -> Matcher:
        result = self._both()
        while self._took("or"):
            result = _either(result, self._both())
        return result

    def _both(self) -> Matcher:
        result = self._single()
        while self._took("and"):
            result = _both(result, self._single())
        return result

    def _single(self) -> Matcher:
        if self._took("not"):
            inner = self._single()
            return lambda name: not inner(name)
        if self._took("("):
            result = self._either()
            if not self._took(")"):
                raise self._error("a bracket is not closed")
            return result
        if self._next == len(self._tokens) or self._tokens[self._next] in (")", "and", "or"):
            raise self._error("a word is missing")
        word = self._tokens[self._next].lower()
        self._next += 1
        return lambda name: word in name.lower()

    def _took(self, token: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next] == token:
            self._next += 1
            return True
        return False

    def _error(self, what: str) -> ConfigError:
        return ConfigError(f"-k {self._text!r}: {what}")


def _either(first: Matcher, second: Matcher) -> Matcher:
    return lambda name: first(name) or second(name)


def _both(first: Matcher, second: Matcher) -> Matcher:
    return lambda name: first(name) and second(name)


@dataclass(frozen=True)
class Selection:
    """All that is left out is no condition."""

    expression: str = ""
    operations: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    @classmethod
    def of(cls, expression: str, operations: str, types: str) -> Selection:
        """From the command line: names with commas between, in any case, with TENSOR_ or not."""
        matcher(expression)
        names = _names("--operations", operations)
        for name in sorted(names):
            check_name(name, "--operations")
        type_names = {name.removeprefix("TENSOR_") for name in _names("--types", types)}
        prefix = "OPERAND_TYPE_TENSOR_"
        there = [each.name for each in pb.OperandType.DESCRIPTOR.values]
        known = [name.removeprefix(prefix) for name in there if name.startswith(prefix)]
        for name in sorted(type_names):
            if name not in known:
                raise ConfigError(f"--types: no {name!r}{likely(name, known)}")
        return cls(expression, names, frozenset(type_names))

    def of_cases(self, cases: Iterable[Case]) -> list[Case]:
        """The cases with a wanted name, any of the operations and a tensor of any of the types."""
        wanted = matcher(self.expression)
        return [
            case
            for case in cases
            if wanted(case.name)
            and (not self.operations or self.operations & case.operations)
            and (not self.types or self.types & case.types)
        ]


def _names(option: str, text: str) -> frozenset[str]:
    if not text:
        return frozenset()
    names = [name.strip().upper() for name in text.split(",")]
    if not all(names):
        raise ConfigError(f"{option} has an empty name")
    return frozenset(names)
