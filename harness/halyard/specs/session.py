# SPDX-License-Identifier: Apache-2.0
"""The declarations of a spec so far. Each file has a session of its own, which the classes of the
language find by themselves while the file is run and expanded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from halyard.cases.names import Names
from halyard.errors import HalyardError

T = TypeVar("T")


class SpecError(HalyardError):
    """A spec says something that makes no sense. `line` is 0 until someone knows it."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class Configuration:
    """Settings that a spec may make for all that follows in it."""

    # Weights are handed over in shared memory: Parameters become CONSTANT_REFERENCE.
    use_shm_for_weights: bool = False


@dataclass
class Session:
    file: str  # as the compiled code names it
    spec: str  # the file's name up to its first dot
    version: str | None = None  # of the folder that the file lies in
    configuration: Configuration = field(default_factory=Configuration)
    operand_names: Names = field(default_factory=lambda: Names("", 1))
    test_names: Names = field(default_factory=Names)
    # Models and examples, as they come.
    declared: list[object] = field(default_factory=list)
    # By a test's name.
    versions: dict[str, str | None] = field(default_factory=dict)

    def of(self, kind: type[T]) -> list[T]:
        """The declarations of a kind, in order."""
        return [each for each in self.declared if isinstance(each, kind)]

    def line(self) -> int:
        """The line of the spec that is being run; 0 if none is."""
        frame = sys._getframe()  # noqa: SLF001 - the only way to a running frame
        while frame.f_back is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        return frame.f_lineno if frame.f_code.co_filename == self.file else 0


_CURRENT: ContextVar[Session] = ContextVar("_CURRENT")


def current() -> Session:
    """The session of the spec that is being run or expanded."""
    try:
        return _CURRENT.get()
    except LookupError:
        raise SpecError("the spec language works in a spec only") from None


@contextmanager
def running(session: Session) -> Iterator[None]:
    token = _CURRENT.set(session)
    try:
        yield
    finally:
        _CURRENT.reset(token)
