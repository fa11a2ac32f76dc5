# SPDX-License-Identifier: Apache-2.0
"""Waiting until something holds: the one place in which tests look, sleep for a moment, and look
again. How long that takes decides nothing but when a test gives up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

# Seconds between two looks.
_POLL = 0.05


def comes_true(condition: Callable[[], T], *, seconds: float, every: float = _POLL) -> T:
    """The condition's value once it is true, or its last one after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(every)
    return found


def awaited(
    condition: Callable[[], T],
    otherwise: str | Callable[[], str],
    *,
    seconds: float = 60,
    every: float = _POLL,
) -> T:
    """The condition's value once it is true. Fails, and says `otherwise`, where it does not come in
    time."""
    found = comes_true(condition, seconds=seconds, every=every)
    if not found:
        text = otherwise if isinstance(otherwise, str) else otherwise()
        pytest.fail(f"not within {seconds:g} s: {text}")
    return found
