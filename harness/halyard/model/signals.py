# SPDX-License-Identifier: Apache-2.0
"""Synthetic sequences: feature vectors that change slowly, as those of speech do.

Each section of a sequence has a pattern of its own, one of a few that come back, and blends into
the next one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_PATTERNS = 12
_MEAN_STRETCH = 6.0
_BLEND = 0.6
_NOISE = 0.15

# How many steps of a byte are a standard deviation.
_DEVIATION = 32


def signal(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint8]:
    """A sequence of the shape [1, frames, features]; 128 is the middle."""
    batch, frames, features = shape
    if batch != 1:
        raise ValueError(f"one sequence at a time, not {batch}")
    # The patterns are the language's, the same in every sequence.
    language = np.random.default_rng([0x51646E, features])
    patterns = language.normal(0, 1, (_PATTERNS, features))
    random = np.random.default_rng([0x5160A1, seed])
    values = np.empty((frames, features))
    state = patterns[random.integers(_PATTERNS)]
    pattern, left = state, 0
    for frame in range(frames):
        if left == 0:
            pattern = patterns[random.integers(_PATTERNS)]
            left = 1 + int(random.geometric(1 / _MEAN_STRETCH))
        state = _BLEND * state + (1 - _BLEND) * pattern
        values[frame] = state
        left -= 1
    values += random.normal(0, _NOISE, values.shape)
    return np.asarray(np.clip(np.rint(values * _DEVIATION + 128), 0, 255)[None], np.uint8)
