# SPDX-License-Identifier: Apache-2.0
"""Logistic and tanh of 16-bit fixed-point numbers, as Google's published gemmlowp computes them
(fixedpoint.h): the quantised LSTMs are defined by it, and its last bits are not those of the real
functions. A number with i integer bits has 15 - i fractional ones; all is int64 with 16-bit values.
"""

from __future__ import annotations

import numpy as np

from halyard.model import Array

ONE = 32767  # of no integer bits, as near as it gets
_MIN = -32768
# e ** -(2 ** exponent), and more constants, without integer bits or with two.
_EXP_OF_MINUS = {-2: 25520, -1: 19875, 0: 12055, 1: 4435, 2: 600, 3: 11, 4: 0}
_EXP_OF_MINUS_EIGHTH = 28918
_THIRD = 10923
_48_OVER_17 = 23130
_32_OVER_17 = 15420
_ONE_OF_TWO_BITS = 1 << 13


def logistic(a: Array, integer_bits: int) -> Array:
    magnitude = np.abs(a)
    positive = _saturated(_newton(_exp_of_negative(-magnitude, integer_bits)) * 2)
    return np.where(a == 0, 1 << 14, np.where(a > 0, positive, ONE - positive))


def tanh(a: Array, integer_bits: int) -> Array:
    """(1 - x) / (1 + x) for x = exp(-2 |a|): a factor of 2 is an integer bit more."""
    x = _newton(_exp_of_negative(-np.abs(a), integer_bits + 1))
    result = _saturated((x - _ONE_OF_TWO_BITS) * 4)
    # 2 / (1 + x) - 1, of which _newton gives the first part in halves.
    return np.where(a == 0, 0, np.where(a > 0, result, -result))


def scaled(whole: Array, factor: float, shift: int | None = None) -> Array:
    """Whole numbers times a factor of 31 bits, and divided by a power of two where the factor is
    below a half (or `shift` says so), with a rounding after either."""
    if shift is None:
        shift = max(0, -int(np.frexp(factor)[1]))
    significand = np.rint(factor * 2.0 ** (shift + 31)) / 2.0**31
    return halved(np.floor(whole * significand + 0.5).astype(np.int64), shift)


def over_root(whole: Array, square: int) -> Array:
    """Whole numbers over the root of another, which is scaled by fours to be near 2 ** 28 first."""
    if square <= 1:
        return np.rint(whole).astype(np.int64)
    fours = (31 - square.bit_length()) // 2 - 1
    return scaled(whole, square**-0.5, max(0, 11 - fours))


def _saturated(a: Array) -> Array:
    return np.clip(a, _MIN, ONE)


def product(a: Array | int, b: Array | int) -> Array:
    """Rounded: a * b / 2 ** 15, halves away from zero, as C divides."""
    product = np.asarray(a) * np.asarray(b)
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return _saturated(np.where(nudged >= 0, nudged >> 15, -((-nudged) >> 15)))


def halved(a: Array, times: int) -> Array:
    """a / 2 ** times, halves away from zero."""
    mask = (1 << times) - 1
    threshold = (mask >> 1) + (a < 0)
    return (a >> times) + ((a & mask) > threshold)


def _exp_of_negative(a: Array, integer_bits: int) -> Array:
    """exp(a) for a <= 0, without integer bits: of the part below a quarter by a polynomial, of the
    other bits by a factor each."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    below = (a & (quarter - 1)) - quarter
    result = _exp_of_small(_saturated(below << integer_bits))
    rest = below - a
    for exponent, factor in _EXP_OF_MINUS.items():
        if integer_bits > exponent:
            result = np.where(rest & (1 << (fraction + exponent)), product(result, factor), result)
    return np.where(a == 0, ONE, result)


def _exp_of_small(a: Array) -> Array:
    """For -1/4 <= a < 0: a Taylor expansion about -1/8."""
    x = a + (1 << 12)
    x2 = product(x, x)
    x3, x4 = product(x2, x), product(x2, x2)
    tail = halved(product(halved(x4, 2) + x3, _THIRD) + x2, 1)
    return _saturated(_EXP_OF_MINUS_EIGHTH + product(_EXP_OF_MINUS_EIGHTH, x + tail))


def _newton(a: Array) -> Array:
    """2 / (1 + a) for 0 <= a < 1, with two integer bits: three steps of Newton's division."""
    half = (a + ONE + 1) // 2
    x = _48_OVER_17 - product(half, _32_OVER_17)
    for _ in range(3):
        x = x + _saturated(product(x, _ONE_OF_TWO_BITS - product(half, x)) * 4)
    return x
