# SPDX-License-Identifier: Apache-2.0
"""Times as a person reads them, in milliseconds and without the unit."""

from __future__ import annotations

import math

# Below it, three decimals are too few to tell two times apart.
_FEW = 0.1


def milliseconds(value: float) -> str:
    """With as many digits as tell two times apart."""
    return _short(value) or f"{value:.{3 if value < 1 else 2 if value < 100 else 0}f}"


def microseconds(value: float) -> str:
    """To the microsecond, or finer: for what is summed up."""
    return _short(value) or f"{value:.{3 if value < 100 else 1}f}"


def _short(value: float) -> str:
    """Three digits that count; empty for what is no short time."""
    if not 0 < value < _FEW:
        return ""
    return f"{value:.{2 - math.floor(math.log10(value))}f}"
