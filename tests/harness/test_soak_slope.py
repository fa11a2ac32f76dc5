# SPDX-License-Identifier: Apache-2.0
"""The soak's slope and its interval."""

import numpy as np
import pytest

from tests.soak.slope import MOST, slope

RESTS = 21
HOURS = np.linspace(0.0, 1.0, RESTS)


def test_a_straight_line_has_its_slope_and_no_interval() -> None:
    found = slope(list(HOURS), list(7 + 0.25 * HOURS))
    assert found.value == pytest.approx(0.25)
    assert found.low == pytest.approx(0.25)
    assert found.high == pytest.approx(0.25)


def test_a_service_that_does_not_grow_is_seldom_taken_for_one_that_does() -> None:
    # One side of a 95 % interval: 2.5 %.
    source = np.random.default_rng(1)
    alarms = sum(
        slope(list(HOURS), list(source.normal(size=RESTS))).grows_by_more_than(0)
        for _ in range(2000)
    )
    assert 30 <= alarms <= 70


@pytest.mark.parametrize("rests", [3, 7, RESTS, MOST])
def test_the_interval_holds_the_true_slope_as_often_as_it_says(rests: int) -> None:
    source = np.random.default_rng(2)
    hours = np.linspace(0.0, 1.0, rests)
    held = 0
    for _ in range(2000):
        found = slope(list(hours), list(0.5 * hours + source.normal(size=rests)))
        held += found.low <= 0.5 <= found.high
    assert 1870 <= held <= 1930


def test_a_leak_of_one_in_five_minutes_shows() -> None:
    source = np.random.default_rng(3)
    for _ in range(20):
        leaking = np.floor(HOURS * 12) + source.normal(size=RESTS)
        assert slope(list(HOURS), list(leaking)).grows_by_more_than(1)


@pytest.mark.parametrize("rests", [2, MOST + 1])
def test_fewer_or_more_rests_than_it_knows_are_refused(rests: int) -> None:
    with pytest.raises(ValueError, match=f"{rests} rests"):
        slope([float(i) for i in range(rests)], [0.0] * rests)
