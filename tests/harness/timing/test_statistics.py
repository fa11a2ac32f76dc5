# SPDX-License-Identifier: Apache-2.0
"""Statistics, beside numpy's, published tables and what follows from their definitions."""

import itertools
import math

import numpy as np
import pytest

from halyard.timing import statistics
from halyard.timing.statistics import (
    Summary,
    compare,
    compare_paired,
    holm,
    mann_whitney,
    median_ranks,
    wilcoxon,
)


def test_summarises_as_numpy_does() -> None:
    values = np.random.default_rng(3).lognormal(1.0, 0.5, 137)
    summary = Summary.of(values)
    expected = np.percentile(values, [0, 50, 90, 95, 99, 100])
    found = (summary.min, summary.p50, summary.p90, summary.p95, summary.p99, summary.max)
    assert found == pytest.approx(expected)
    assert (summary.count, summary.mean) == (137, pytest.approx(values.mean()))
    assert summary.std == pytest.approx(values.std(ddof=1))


def test_takes_percentiles_between_samples() -> None:
    """By hand: 90 % of the way through four values is at 2.7, counted from 0."""
    summary = Summary.of([40, 10, 30, 20])
    assert (summary.p50, summary.p90) == (25, pytest.approx(37))
    assert summary.std == pytest.approx(math.sqrt(500 / 3))


def test_summarises_one_value_and_refuses_none() -> None:
    one = Summary.of([7])
    assert (one.min, one.p50, one.p99, one.max, one.mean, one.std) == (7, 7, 7, 7, 7, 0)
    assert one.interval is None
    with pytest.raises(ValueError, match="nothing to summarise"):
        Summary.of([])


def test_changes_the_unit_of_everything_but_the_count() -> None:
    values = np.arange(1.0, 31.0)
    assert Summary.of(values * 1024).scaled(1 / 1024) == Summary.of(values)
    assert Summary.of([1.0, 2.0]).scaled(2).interval is None


# As in Conover, Practical Nonparametric Statistics, and Hahn and Meeker, Statistical Intervals.
@pytest.mark.parametrize(
    ("count", "ranks"),
    [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (20, (6, 15)), (30, (10, 21)),
     (50, (18, 33)), (100, (40, 61))],
)  # fmt: skip
def test_the_interval_of_a_median_is_that_of_the_tables(count: int, ranks: tuple[int, int]) -> None:
    assert median_ranks(count) == ranks
    low, high = Summary.of(range(1, count + 1)).interval or (0, 0)
    assert (low, high) == ranks


@pytest.mark.parametrize("count", range(1, 6))
def test_five_values_are_too_few_for_an_interval(count: int) -> None:
    assert median_ranks(count) is None


@pytest.mark.parametrize("count", [6, 7, 25, 60, 1000])
def test_the_interval_is_the_narrowest_that_is_sure_enough(count: int) -> None:
    ranks = median_ranks(count)
    assert ranks is not None

    def outside(rank: int) -> float:
        return 2 * sum(math.comb(count, k) for k in range(rank)) / 2**count

    assert outside(ranks[0]) <= 0.05 < outside(ranks[0] + 1)


def test_the_interval_of_many_values_is_found_at_once() -> None:
    assert median_ranks(100_000) == (49_690, 50_311)


# Critical values of U, two-sided, at 5 %: Mann and Whitney (1947), as all textbooks have them.
CRITICAL_U = [
    (3, 5, 0), (4, 4, 0), (5, 5, 2), (6, 10, 11), (7, 9, 12), (8, 8, 13), (10, 10, 23),
    (10, 20, 55), (15, 15, 64), (20, 20, 127),
]  # fmt: skip


@pytest.mark.parametrize(("n", "m", "critical"), CRITICAL_U)
def test_mann_and_whitneys_test_has_the_tables_critical_values(
    n: int, m: int, critical: int
) -> None:
    assert mann_whitney(*sets_with_u(n, m, critical)) <= 0.05
    assert mann_whitney(*sets_with_u(n, m, critical + 1)) > 0.05


def sets_with_u(n: int, m: int, u: int) -> tuple[list[float], list[float]]:
    """Two sets, all values different, of which the first has this U."""
    full, rest = divmod(u, m)
    places = [0] * (n - full - bool(rest)) + [rest] * bool(rest) + [m] * full
    first = [place - 0.5 + 0.001 * number for number, place in enumerate(sorted(places))]
    second = [float(value) for value in range(m)]
    assert sum(a > b for a in first for b in second) == u
    return first, second


def test_mann_and_whitneys_test_counts_all_orders() -> None:
    """Every choice of the first set's ranks is as likely as another."""
    first = [1.0, 2.0, 4.0]
    second = [3.0, 5.0, 6.0, 7.0]
    us = [sum(chosen) - 6 for chosen in itertools.combinations(range(1, 8), 3)]
    as_extreme = sum(u <= 1 for u in us) * 2
    assert mann_whitney(first, second) == pytest.approx(as_extreme / len(us))
    assert mann_whitney(first, second) == mann_whitney(second, first)


def test_equal_values_correct_mann_and_whitneys_test() -> None:
    """By hand: ranks 1.5 1.5 3.5 6 and 3.5 6 6 8, so U = 2.5; sum(t^3 - t) = 6 + 6 + 24."""
    deviation = math.sqrt(16 / 12 * (9 - 36 / 56))
    expected = math.erfc((8 - 2.5 - 0.5) / deviation / math.sqrt(2))
    assert mann_whitney([1, 1, 2, 3], [2, 3, 3, 4]) == pytest.approx(expected)


def test_values_that_are_all_the_same_do_not_differ() -> None:
    assert mann_whitney([5, 5, 5], [5, 5]) == 1
    assert wilcoxon([0, 0, 0]) == 1
    assert compare([5] * 9, [5] * 9).ratio == 1


def test_the_normal_distribution_goes_on_where_counting_ends() -> None:
    first = np.arange(0, 50, 2.0)
    second = np.arange(0, 50, 2.0) + 9.5
    exact = mann_whitney(first, second)
    more = mann_whitney(np.append(first, 24.1), np.append(second, 33.6))
    assert exact == pytest.approx(more, rel=0.2)


# Critical values of the smaller sum of ranks, two-sided, at 5 %: Wilcoxon (1945).
@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89)]
)
def test_wilcoxons_test_has_the_tables_critical_values(n: int, critical: int) -> None:
    assert wilcoxon(differences_with(n, critical)) <= 0.05
    assert wilcoxon(differences_with(n, critical + 1)) > 0.05


def differences_with(n: int, total: int) -> list[float]:
    """Of the sizes 1 to n, the negative ones of which sum up to `total`."""
    signs = [1.0] * n
    for rank in range(n, 0, -1):
        if rank <= total:
            signs[rank - 1], total = -1.0, total - rank
    assert total == 0
    return [sign * (number + 1) for number, sign in enumerate(signs)]


def test_wilcoxons_test_leaves_out_what_is_no_difference() -> None:
    some = [1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert wilcoxon(some) == wilcoxon([*some, 0.0, 0.0])


def test_finds_what_became_slower() -> None:
    generator = np.random.default_rng(1)
    before = generator.lognormal(1.0, 0.1, 40)
    slower = compare(before, 1.2 * generator.lognormal(1.0, 0.1, 40))
    assert slower.significant
    assert slower.interval[0] < slower.ratio < slower.interval[1]
    assert slower.interval[0] > 1
    assert slower.significant
    faster = compare(before, 0.8 * before)
    assert faster.significant
    assert faster.significant


def test_few_samples_prove_nothing() -> None:
    few = compare([1.0, 1.1, 1.2], [1.5, 1.6, 1.7])
    assert few.ratio > 1.3
    assert not few.significant
    assert not few.significant


@pytest.mark.parametrize("test", [compare, compare_paired])
def test_chance_is_taken_for_a_difference_one_time_in_twenty(test: statistics.Test) -> None:
    generator = np.random.default_rng(7)
    found = [
        test(generator.lognormal(0, 0.3, 20), generator.lognormal(0, 0.3, 20)) for _ in range(300)
    ]
    wrong = sum(each.significant for each in found)
    missed = sum(not each.interval[0] <= 1 <= each.interval[1] for each in found)
    assert 3 <= wrong <= 30
    assert 3 <= missed <= 35


def test_pairs_see_through_what_slows_both_down() -> None:
    generator = np.random.default_rng(5)
    load = generator.lognormal(0, 1.0, 20)
    before = load * generator.lognormal(0, 0.02, 20)
    after = 1.05 * load * generator.lognormal(0, 0.02, 20)
    assert not compare(before, after).significant
    paired = compare_paired(before, after)
    assert paired.significant
    assert paired.ratio == pytest.approx(1.05, rel=0.02)
    assert paired.interval[0] > 1


def test_the_medians_of_resamples_are_spread_as_drawn_ones_are() -> None:
    values = np.random.default_rng(2).lognormal(0, 0.5, 101)
    drawn = np.median(np.random.default_rng(4).choice(values, (10_000, 101)), axis=1)
    found = statistics._resampled_medians(values, np.random.default_rng(9))
    for percent in (2.5, 50, 97.5):
        assert np.percentile(found, percent) == pytest.approx(
            np.percentile(drawn, percent), rel=0.02
        )


@pytest.mark.parametrize("values", [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_refuses_what_is_no_time(values: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="times greater than 0"):
        compare(*values)


def test_of_several_tests_each_has_to_be_surer() -> None:
    """Holm's own steps, by hand: times 4, 3, 2 and 1, and never less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.04]) == [0.04]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
