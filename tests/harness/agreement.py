# SPDX-License-Identifier: Apache-2.0
"""The product's own judgement of differences, for tests that have nothing but these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.comparison.difference import MAX_STEPS, Difference
from halyard.comparison.judging import Rules, judge
from halyard.model import TensorInfo


def disagreements(
    differences: Sequence[Difference],
    operations: int = 1,
    steps: int = MAX_STEPS,
    reference: str = "LiteRT",
) -> Sequence[str]:
    """Of the outputs of a model with so many operations, all float where they have no steps."""
    infos = [
        TensorInfo(each.name, np.dtype(np.float32 if each.max_steps is None else np.uint8), (1,))
        for each in differences
    ]
    rules = Rules(operations, steps, infos, [None] * len(infos))
    return judge(rules, differences, reference).problems
