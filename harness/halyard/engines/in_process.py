# SPDX-License-Identifier: Apache-2.0
"""What engines that are Python packages have in common."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
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
        reason = f"it does not load ({error})" if there else "it is not installed"
        raise EngineMissing(f"{reason}: {hint}") from error


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
