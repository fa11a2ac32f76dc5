# SPDX-License-Identifier: Apache-2.0
"""The soak's slope and its interval."""

import numpy as np
import pytest

from tests.soak.slope import BINS, Floats, slope

SAMPLES = 660  # of an hour less the warming up, every five seconds
TIMES: Floats = np.arange(SAMPLES) * 5.0 / 60


def wandering(source: np.random.Generator) -> Floats:
    """Counts around a level, each of which resembles the one before: as of a busy service."""
    values = np.empty(SAMPLES)
    values[0] = source.normal()
    for i in range(1, SAMPLES):
        values[i] = 0.8 * values[i - 1] + 0.6 * source.normal()
    return values


def test_a_straight_line_has_its_slope_and_no_interval() -> None:
    found = slope(list(TIMES), list(7 + 0.25 * TIMES))
    assert found.value == pytest.approx(0.25)
    assert found.low == pytest.approx(0.25)
    assert found.high == pytest.approx(0.25)


def test_a_service_that_does_not_grow_is_seldom_taken_for_one_that_does() -> None:
    # One side of a 95 % interval: 2.5 %.
    source = np.random.default_rng(1)
    alarms = sum(
        slope(list(TIMES), list(wandering(source))).grows_by_more_than(0) for _ in range(1000)
    )
    assert alarms < 50


def test_the_interval_holds_the_true_slope_as_often_as_it_says() -> None:
    source = np.random.default_rng(2)
    held = 0
    for _ in range(1000):
        found = slope(list(TIMES), list(0.01 * TIMES + wandering(source)))
        held += found.low <= 0.01 <= found.high
    assert 925 <= held <= 975


def test_a_leak_of_one_in_five_minutes_shows() -> None:
    source = np.random.default_rng(3)
    for _ in range(20):
        leaking = np.floor(TIMES / 5) + wandering(source)
        assert slope(list(TIMES), list(leaking)).grows_by_more_than(0.05)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        slope([0.0, 1.0, 2.0], [0.0, 0.0, 0.0], BINS)
    with pytest.raises(ValueError, match="bins"):
        slope([0.0, 1.0, 2.0], [0.0, 0.0, 0.0], 2)
