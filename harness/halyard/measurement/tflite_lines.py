# SPDX-License-Identifier: Apache-2.0
"""Times in the lines of TFLite's benchmark_model, for those whose scripts look for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def count_line(microseconds: Sequence[float]) -> str:
    """Whole numbers but for the mean, and the deviation of a population, as there."""
    values = [int(value) for value in microseconds]
    if not values:
        return "count=0"
    if min(values) == max(values):
        same = "(all same)" if len(values) > 1 else ""
        return f"count={len(values)} curr={values[-1]}{same}"
    p5, median, p95 = np.percentile(values, [5, 50, 95], method="nearest")
    return (
        f"count={len(values)} first={values[0]} curr={values[-1]} min={min(values)} "
        f"max={max(values)} avg={np.mean(values):g} std={int(np.std(values))} "
        f"p5={p5:.0f} median={median:.0f} p95={p95:.0f}"
    )


def timings_line(
    init_us: float, first_us: float, warmup_us: Sequence[float], inference_us: Sequence[float]
) -> str:
    """The first execution is one of the warm-up, as there."""
    return (
        f"Inference timings in us: Init: {init_us:.0f}, First inference: {first_us:.0f}, "
        f"Warmup (avg): {_mean([first_us, *warmup_us])}, "
        f"Inference (avg): {_mean(inference_us)}"
    )


def lines(
    init_ms: float, first_ms: float, warmup_ms: Sequence[float], inference_ms: Sequence[float]
) -> list[str]:
    """The warm-up's, that of the executions that count, and both beside the time to prepare."""
    init, first = init_ms * 1e3, first_ms * 1e3
    warmup = [value * 1e3 for value in warmup_ms]
    inference = [value * 1e3 for value in inference_ms]
    return [
        count_line([first, *warmup]),
        count_line(inference),
        timings_line(init, first, warmup, inference),
    ]


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values) if len(values) else math.nan:g}"
