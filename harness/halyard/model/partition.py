# SPDX-License-Identifier: Apache-2.0
"""Which operators of a graph run together where NNAPI runs some and the host the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """An operator in the file's order: the values that it reads and writes, constants left out."""

    reads: frozenset[str]
    writes: frozenset[str]
    mapped: bool  # whether NNAPI runs it


@dataclass(frozen=True)
class Group:
    """Steps, by their numbers, that one part holds. `inputs` are the values that come from other
    parts or from outside, `outputs` those that others read or the model gives away."""

    steps: tuple[int, ...]
    mapped: bool
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def groups(steps: Sequence[Step], inputs: Sequence[str], outputs: Sequence[str]) -> list[Group]:
    """In an order in which they can run. Each takes all that can run by then before the other kind
    has its turn, so that the parts are few. ValueError where a value is read that nothing writes
    before, as in a circle."""
    there = set(inputs)
    left = dict(enumerate(steps))
    taken: list[tuple[list[int], bool]] = []
    mapped = next((step.mapped for step in steps if step.reads <= there), True)
    while left:
        members = _ready(left, there, mapped)
        if members:
            taken.append((members, mapped))
        elif not _ready(dict(left), set(there), not mapped):
            number, step = next(iter(left.items()))
            missing = ", ".join(sorted(step.reads - there))
            raise ValueError(f"operator {number} reads {missing}, which nothing computes before it")
        mapped = not mapped
    return [_group(number, taken, steps, outputs) for number in range(len(taken))]


def _ready(left: dict[int, Step], there: set[str], mapped: bool) -> list[int]:
    """Takes the steps of a kind that can run, those too that can after them."""
    members = []
    for number, step in list(left.items()):
        # The file's order is one in which all can run, so that one walk finds them all.
        if step.mapped == mapped and step.reads <= there:
            members.append(number)
            there |= step.writes
            del left[number]
    return members


def _group(
    number: int,
    taken: Sequence[tuple[list[int], bool]],
    steps: Sequence[Step],
    outputs: Sequence[str],
) -> Group:
    members, mapped = taken[number]
    written = _ordered(name for member in members for name in sorted(steps[member].writes))
    read = _ordered(name for member in members for name in sorted(steps[member].reads))
    wanted = {
        name
        for other, (theirs, _) in enumerate(taken)
        if other != number
        for member in theirs
        for name in steps[member].reads
    } | set(outputs)
    return Group(
        tuple(members),
        mapped,
        tuple(name for name in read if name not in set(written)),
        tuple(name for name in written if name in wanted),
    )


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
