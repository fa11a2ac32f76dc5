# SPDX-License-Identifier: Apache-2.0
"""Draws at random. No two generators agree on them: what can be compared is how often each class
comes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation


@operation("RANDOM_MULTINOMIAL")
def random_multinomial(call: Call) -> Sequence[Array]:
    """Logits [batch, classes], the count of draws, seeds."""
    logits, count = call.real("logits"), call.integer("samples")
    source = np.random.default_rng([seed & 0xFFFFFFFF for seed in call.integers("seeds")])
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    limits = np.cumsum(powers / powers.sum(axis=1, keepdims=True), axis=1)[:, np.newaxis]
    draws = source.random((len(logits), count, 1))
    return [np.minimum((draws >= limits).sum(axis=2), logits.shape[1] - 1)]
