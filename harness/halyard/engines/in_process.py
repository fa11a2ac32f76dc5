# SPDX-License-Identifier: Apache-2.0
"""The common part of engines that are Python packages."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

from halyard.engines.engine import EngineMissing


def imported(name: str, hint: str) -> ModuleType:
    """EngineMissing where it can't be imported, which says how to get it."""
    package = name.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(name)
    except ImportError as error:
        there = importlib.util.find_spec(package) is not None
        reason = f"{package} does not load ({error})" if there else f"{package} is not installed"
        raise EngineMissing(f"{reason}: {hint}") from error


@contextmanager
def without_chatter() -> Iterator[None]:
    """Native code's output to stderr meanwhile comes once it is over, without its lines that are
    marked as mere information. Not for two threads at a time."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as said:
        stderr = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            said.seek(0)
            for line in said:
                if not line.startswith(b"INFO: "):
                    os.write(2, line)


def timed(execute: Callable[[], None], count: int, warmup: int) -> list[int]:
    """Nanoseconds of each call that counts."""
    for _ in range(warmup):
        execute()
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        execute()
        times.append(time.perf_counter_ns() - start)
    return times
