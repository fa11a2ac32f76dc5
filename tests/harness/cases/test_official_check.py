# SPDX-License-Identifier: Apache-2.0
"""The official check at its limits: a bit less passes, a bit more does not."""

import numpy as np
import pytest

from halyard.cases.check import ExpectedOutput, Multinomial, Tolerance, Verdict, check
from halyard.proto import halyard_pb2 as pb


def judged(
    expected: ExpectedOutput, values: np.ndarray, dimensions: tuple[int, ...] | None = None
) -> Verdict:
    result = pb.CaseResult()
    shape = expected.dimensions if dimensions is None else dimensions
    result.examples.add().outputs.add(data=values.tobytes(), dimensions=shape, is_sufficient=True)
    return check([expected], False, None, result)


def refusal(verdict: Verdict) -> str:
    """Why it does not pass."""
    assert not verdict.passed
    return verdict.reason


def floats(values: list[float], absolute: float, relative: float) -> ExpectedOutput:
    array = np.array(values, np.float32)
    return ExpectedOutput("out", (len(values),), array, Tolerance(absolute, relative))


# Powers of two, so that nothing is rounded on the way.
@pytest.mark.parametrize(
    ("absolute", "relative", "wanted", "limit"),
    [
        (0.25, 0.0, 8.0, 0.25),
        (0.25, 0.0, 0.0, 0.25),
        (0.0, 0.125, 8.0, 1.0),
        (0.0, 0.125, -8.0, 1.0),
        (0.25, 0.125, 8.0, 1.25),
        (0.25, 0.125, -8.0, 1.25),
        (0.0, 0.0, 8.0, 0.0),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_element_may_be_off_by_the_absolute_and_the_relative_tolerance(
    absolute: float, relative: float, wanted: float, limit: float, sign: int
) -> None:
    expected = floats([wanted], absolute, relative)
    at = np.array([wanted + sign * limit], np.float32)
    beyond = np.array([wanted + sign * (limit + 2**-10)], np.float32)
    assert judged(expected, at).passed
    assert not judged(expected, beyond).passed


@pytest.mark.parametrize(("steps", "passes"), [(0, True), (1, True), (2, False)])
def test_a_quantised_element_may_be_off_by_whole_steps(steps: int, passes: bool) -> None:
    expected = ExpectedOutput("out", (2,), np.array([7, 250], np.uint8), Tolerance(1, 0))
    for values in ([7, 250 + steps], [7 - steps, 250]):
        assert judged(expected, np.array(values, np.uint8)).passed == passes


def test_bytes_do_not_wrap() -> None:
    expected = ExpectedOutput("out", (1,), np.array([255], np.uint8), Tolerance(1, 0))
    assert not judged(expected, np.array([0], np.uint8)).passed


def test_a_case_without_a_tolerance_is_exact() -> None:
    expected = ExpectedOutput("out", (1,), np.array([3], np.int32), None)
    assert judged(expected, np.array([3], np.int32)).passed
    assert not judged(expected, np.array([4], np.int32)).passed


@pytest.mark.parametrize("position", range(4))
def test_one_wrong_element_is_named_wherever_it_is(position: int) -> None:
    values = np.zeros(4, np.float32)
    values[position] = 1
    verdict = judged(floats([0, 0, 0, 0], 0.5, 0), values)
    assert refusal(verdict) == (
        f"output 'out': 1 of 4 elements are off: [{position}] is 1.0, expected 0.0"
    )


def test_of_many_wrong_elements_three_are_shown() -> None:
    reason = refusal(judged(floats([0] * 5, 0, 0), np.arange(1, 6).astype(np.float32)))
    assert "5 of 5 elements are off: " in reason
    assert [f"[{index}]" in reason for index in range(5)] == [True, True, True, False, False]


@pytest.mark.parametrize("dimensions", [(3, 2), (6,), (1, 6), (2, 3, 1), (2, 4), ()])
def test_the_dimensions_are_the_expected_ones_and_not_only_as_many(
    dimensions: tuple[int, ...],
) -> None:
    expected = ExpectedOutput("out", (2, 3), np.zeros(6, np.float32), Tolerance(1, 1))
    verdict = judged(expected, np.zeros(6, np.float32), dimensions)
    assert refusal(verdict) == f"output 'out': dimensions {list(dimensions)}, expected [2, 3]"
    assert judged(expected, np.zeros(6, np.float32)).passed


@pytest.mark.parametrize("count", [5, 7])
def test_the_bytes_are_as_many_as_expected(count: int) -> None:
    expected = ExpectedOutput("out", (6,), np.zeros(6, np.float32), Tolerance(1, 1))
    verdict = judged(expected, np.zeros(count, np.float32))
    assert refusal(verdict) == f"output 'out': {4 * count} bytes, expected 24"


def test_a_buffer_called_too_small_does_not_pass() -> None:
    expected = floats([0], 1, 0)
    result = pb.CaseResult()
    result.examples.add().outputs.add(data=bytes(4), dimensions=[1], is_sufficient=False)
    assert "too small" in refusal(check([expected], False, None, result))


def test_the_number_of_outputs_counts() -> None:
    expected = floats([0], 1, 0)
    result = pb.CaseResult()
    example = result.examples.add()
    for _ in range(2):
        example.outputs.add(data=bytes(4), dimensions=[1], is_sufficient=True)
    assert refusal(check([expected], False, None, result)) == "2 outputs, 1 expected"
    assert check([expected, expected], False, None, result).passed


@pytest.mark.parametrize(("share", "passes"), [(0.5, True), (0.5625, True), (0.5703125, False)])
def test_a_frequency_may_be_off_by_its_tolerance(share: float, passes: bool) -> None:
    draws = np.zeros(256, np.int32)
    draws[: round(256 * share)] = 1
    expected = ExpectedOutput("out", (1, 256), draws, None)
    result = pb.CaseResult()
    result.examples.add().outputs.add(data=draws.tobytes(), dimensions=(1, 256), is_sufficient=True)
    multinomial = Multinomial(np.zeros((1, 2)), 0.0625)
    assert check([expected], False, multinomial, result).passed == passes


@pytest.mark.parametrize(
    ("draws", "reason"),
    [
        ([1, 1], ""),
        ([0, 0], "batch 0: a frequency is off by 1"),
        ([2, 1], "a class beyond 0 to 1"),
        ([2, 2], "a class beyond 0 to 1"),
        ([-1, 1], "a class beyond 0 to 1"),
        ([-1, -1], "a class beyond 0 to 1"),
    ],
)
def test_draws_are_classes_of_the_logits(draws: list[int], reason: str) -> None:
    values = np.array(draws, np.int32)
    result = pb.CaseResult()
    result.examples.add().outputs.add(data=values.tobytes(), dimensions=(1, 2), is_sufficient=True)
    multinomial = Multinomial(np.array([[-1000.0, 0.0]]), 0.25)
    expected = ExpectedOutput("out", (1, 2), values, None)
    verdict = check([expected], False, multinomial, result)
    assert verdict.passed == (not reason)
    assert verdict.reason == (reason and f"output 'out': {reason}")


def test_one_draw_is_a_frequency_of_1() -> None:
    result = pb.CaseResult()
    draw = np.zeros(1, np.int32)
    result.examples.add().outputs.add(data=draw.tobytes(), dimensions=(1, 1), is_sufficient=True)
    expected = ExpectedOutput("out", (1, 1), draw, None)
    multinomial = Multinomial(np.array([[0.0, -1000.0]]), 0.25)
    assert check([expected], False, multinomial, result).passed


def test_every_batch_has_its_own_logits() -> None:
    draws = np.array([[0, 0], [1, 1]], np.int32)
    result = pb.CaseResult()
    result.examples.add().outputs.add(data=draws.tobytes(), dimensions=(2, 2), is_sufficient=True)
    expected = ExpectedOutput("out", (2, 2), draws.reshape(-1), None)
    logits = np.array([[100.0, 0.0], [0.0, 5.0]])
    assert check([expected], False, Multinomial(logits, 0.01), result).passed
    swapped = Multinomial(logits[::-1], 0.01)
    assert "batch 0" in refusal(check([expected], False, swapped, result))
