# SPDX-License-Identifier: Apache-2.0
"""Differences of results, in steps and in real values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from halyard.comparison.difference import Difference, compare
from halyard.model import TensorInfo

FLOATS = TensorInfo("out", np.dtype(np.float32), (3,))
QUANTIZED = TensorInfo("out", np.dtype(np.uint8), (4,), scale=0.5, zero_point=10)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_equal_floats_have_no_difference() -> None:
    difference = compare(FLOATS, floats(1, np.nan, np.inf), floats(1, np.nan, np.inf))
    assert (difference.max_abs_error, difference.max_relative_error) == (0, 0)
    assert difference.exact_share == 1
    assert difference.max_steps is None


def test_float_errors_are_absolute_and_relative_to_the_expected_value() -> None:
    difference = compare(FLOATS, floats(1, 100, 0), floats(1.5, 101, 0.25))
    assert difference.max_abs_error == 1
    assert difference.max_relative_error == 0.5
    assert difference.exact_share == 0


def test_an_error_is_relative_to_nothing_where_zero_is_expected() -> None:
    difference = compare(FLOATS, floats(0, 0, 0), floats(0, 0.5, 0))
    assert (difference.max_abs_error, difference.max_relative_error) == (0.5, 0.0)


def test_nothing_but_nan_on_both_sides_is_no_agreement() -> None:
    difference = compare(FLOATS, floats(*[np.nan] * 3), floats(*[np.nan] * 3))
    assert difference.says_nothing
    assert difference.text() == "out: all of 3 are NaN on both sides: nothing is compared"
    some = compare(FLOATS, floats(1, np.nan, 0), floats(1, np.nan, 0))
    assert not some.says_nothing
    assert some.text().endswith("of 3 exact, where 1 are not zero and 1 are NaN on both sides")


@pytest.mark.parametrize(
    ("expected", "actual"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf)]
)
def test_a_nan_or_infinity_on_one_side_is_an_infinite_error(expected: float, actual: float) -> None:
    difference = compare(FLOATS, floats(0, expected, 0), floats(0, actual, 0))
    assert difference.max_abs_error == np.inf
    assert difference.max_relative_error == np.inf


def test_quantised_errors_are_counted_in_steps_without_wrapping() -> None:
    expected, actual = np.array([0, 10, 255, 7], np.uint8), np.array([255, 10, 254, 7], np.uint8)
    difference = compare(QUANTIZED, expected, actual)
    assert difference.max_steps == 255
    assert difference.max_abs_error == 127.5
    assert difference.exact_share == 0.5
    assert (
        difference.text()
        == "out: largest difference 255 steps, 50.00 % of 4 exact, where 3 are not zero"
    )


@pytest.mark.parametrize(("steps", "said"), [(0, "0 steps,"), (1, "1 step,"), (2, "2 steps,")])
def test_one_step_is_one_step(steps: int, said: str) -> None:
    expected = np.full(4, 20, np.uint8)
    assert said in compare(QUANTIZED, expected, expected + np.uint8(steps)).text()


def test_expected_values_that_are_not_zero_are_counted() -> None:
    difference = compare(QUANTIZED, np.array([10, 10, 12, 10], np.uint8), np.zeros(4, np.uint8))
    assert (difference.nonzero, difference.count) == (1, 4)
    assert difference.largest == 1.0
    difference = compare(FLOATS, floats(0, -3, np.inf), floats(1, 1, 1))
    assert (difference.nonzero, difference.largest) == (2, 3.0)
    assert compare(FLOATS, floats(0.25, 0, -0.5), floats(1, 1, 1)).largest == 0.5


@given(hnp.arrays(np.int8, 6), hnp.arrays(np.int8, 6), st.integers(-128, 127))
def test_steps_times_scale_is_the_real_error(a: np.ndarray, b: np.ndarray, zero: int) -> None:
    info = TensorInfo("out", np.dtype(np.int8), (6,), scale=0.125, zero_point=zero)
    difference = compare(info, a, b)
    assert difference.max_steps is not None
    assert difference.max_abs_error == difference.max_steps * 0.125
    assert (difference.exact_share == 1) == (difference.max_steps == 0)


@pytest.mark.parametrize(("dtype", "is_half"), [(np.float16, True), (np.float32, False)])
def test_a_half_tensor_is_known_as_one(dtype: type[np.floating], is_half: bool) -> None:
    info = TensorInfo("out", np.dtype(dtype), (1,))
    assert compare(info, np.ones(1, dtype), np.ones(1, dtype)).is_half == is_half


def test_an_empty_tensor_is_equal_to_itself() -> None:
    info = TensorInfo("out", np.dtype(np.uint8), (0, 3), scale=1.0)
    empty = np.zeros((0, 3), np.uint8)
    difference = compare(info, empty, empty)
    assert difference == Difference("out", 0, 0.0, 0.0, 0, 1.0)


def test_values_of_another_type_or_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"actual is float64\[3\], not float32\[3\]"):
        compare(FLOATS, floats(1, 2, 3), np.zeros(3))
    with pytest.raises(ValueError, match="expected is"):
        compare(FLOATS, floats(1, 2), floats(1, 2, 3))


def test_mean_root_mean_square_and_ratio_of_the_errors() -> None:
    difference = compare(FLOATS, floats(3, 0, 4), floats(3, 0, 5))
    assert difference.mean_abs_error == pytest.approx(1 / 3)
    assert difference.rms_error == pytest.approx((1 / 3) ** 0.5)
    assert difference.snr_db == pytest.approx(10 * np.log10(25))
    assert difference.cosine == pytest.approx(29 / (5 * 34**0.5))


def test_equal_values_have_no_noise() -> None:
    difference = compare(FLOATS, floats(1, np.nan, 2), floats(1, np.nan, 2))
    assert (difference.snr_db, difference.cosine, difference.rms_error) == (np.inf, 1.0, 0.0)


def test_an_infinite_error_is_all_noise() -> None:
    difference = compare(FLOATS, floats(1, 1, 2), floats(1, np.nan, 2))
    assert (difference.snr_db, difference.cosine) == (-np.inf, 0.0)
    assert difference.rms_error == np.inf


def test_zeros_are_no_signal() -> None:
    difference = compare(FLOATS, floats(0, 0, 0), floats(0, 1, 0))
    assert (difference.snr_db, difference.cosine) == (-np.inf, 0.0)
    both = compare(FLOATS, floats(0, 0, 0), floats(0, 0, 0))
    assert (both.snr_db, both.cosine) == (np.inf, 1.0)
