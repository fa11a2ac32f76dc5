# SPDX-License-Identifier: Apache-2.0
"""Which operators become parts, and in which order these run."""

import pytest

from halyard.model.partition import Group, Step, groups


def step(reads: str, writes: str, mapped: bool = True) -> Step:
    return Step(frozenset(reads.split()), frozenset(writes.split()), mapped)


def test_makes_one_part_of_what_is_all_mapped() -> None:
    steps = [step("in", "a"), step("a in", "out")]
    assert groups(steps, ["in"], ["out"]) == [Group((0, 1), True, ("in",), ("out",))]


def test_gives_a_part_what_it_reads_and_takes_what_others_read() -> None:
    steps = [step("in", "a"), step("a", "b", False), step("a b", "out")]
    assert groups(steps, ["in"], ["out"]) == [
        Group((0,), True, ("in",), ("a",)),
        Group((1,), False, ("a",), ("b",)),
        Group((2,), True, ("a", "b"), ("out",)),
    ]


def test_runs_all_that_can_run_before_the_other_kind_has_its_turn() -> None:
    branches = [
        step("in", "a"),
        step("a", "b", False),
        step("in", "c"),
        step("c", "d", False),
        step("b d", "out"),
    ]
    assert [group.steps for group in groups(branches, ["in"], ["out"])] == [(0, 2), (1, 3), (4,)]


def test_gives_away_an_output_that_no_part_reads_and_one_that_some_do() -> None:
    steps = [step("in", "a b"), step("a", "c", False)]
    assert groups(steps, ["in"], ["a", "b", "c"])[0].outputs == ("a", "b")


def test_leaves_out_what_is_not_read() -> None:
    assert groups([step("in", "a unused")], ["in"], ["a"])[0].outputs == ("a",)


def test_begins_with_the_host_where_the_model_does() -> None:
    steps = [step("in", "a", False), step("a", "out")]
    assert [group.mapped for group in groups(steps, ["in"], ["out"])] == [False, True]


@pytest.mark.parametrize(
    "steps", [[step("out", "out")], [step("nothing", "out")], [step("b", "a"), step("a", "b")]]
)
def test_says_what_is_read_before_it_is_there(steps: list[Step]) -> None:
    with pytest.raises(ValueError, match=r"operator 0 reads .*, which nothing computes before it"):
        groups(steps, ["in"], ["out"])
