# SPDX-License-Identifier: Apache-2.0
"""Which operators run together. Stages follow each other, each on one side: even ones are NNAPI's,
odd ones the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halyard.errors import NotExpressible
from halyard.onnx.reading.cutting import crosses
from halyard.onnx.reading.network import Network, Node


class Between(NotExpressible):
    """Operators that NNAPI could run lie between others whose parts can't be taken apart."""

    def __init__(self, numbers: Sequence[int], name: str) -> None:
        super().__init__(f"it lies between operators that {name!r} ties together")
        self.numbers = numbers


def stages_of(network: Network, absorbed: Mapping[int, int]) -> Mapping[int, int]:
    """Of each operator, by number. Those that one has taken in go with it, and so do the host's
    where a value can't cross from one part to another."""
    leader = {node.number: node.number for node in network.nodes} | dict(absorbed)
    before = _before(network, leader)
    order = _in_order(before)
    ties = _ties(network, before)
    hosts = {number: number in network.refused for number in order}
    stages = {number: int(host) for number, host in hosts.items()}
    changed = True
    while changed:
        changed = False
        for number in order:
            least = max((_after(stages[each], hosts[number]) for each in before[number]), default=0)
            if least > stages[number]:
                stages[number] = least
                changed = True
        # A value that can't cross is written in the stage in which it is read.
        for writer, reader in ties:
            if stages[writer] < stages[reader]:
                stages[writer] = stages[reader]
                changed = True
    return {number: stages[first] for number, first in leader.items()}


def _after(stage: int, host: bool) -> int:
    return stage if bool(stage % 2) == host else stage + 1


def _before(network: Network, leader: Mapping[int, int]) -> dict[int, set[int]]:
    """Of each group, by its leader's number, those that it reads from."""
    before: dict[int, set[int]] = {}
    for node in network.nodes:
        mine = before.setdefault(leader[node.number], set())
        for name in node.reads:
            producer = network.producers.get(name)
            # A constant has no stage.
            if producer is None or name in network.constants or producer.number not in leader:
                continue
            if leader[producer.number] != leader[node.number]:
                mine.add(leader[producer.number])
    return before


def _in_order(before: Mapping[int, set[int]]) -> list[int]:
    """One in which each group comes after those that it reads from."""
    left = {number: len(others) for number, others in before.items()}
    after: dict[int, list[int]] = {number: [] for number in before}
    for number, others in before.items():
        for each in others:
            after[each].append(number)
    ready = [number for number, count in left.items() if not count]
    order: list[int] = []
    while ready:
        number = ready.pop()
        order.append(number)
        for each in after[number]:
            left[each] -= 1
            if not left[each]:
                ready.append(each)
    if len(order) < len(before):
        raise NotExpressible("its operators wait for each other")
    return order


def _ties(network: Network, before: Mapping[int, set[int]]) -> list[tuple[int, int]]:
    """Writers and readers of values that can't cross, which are the host's. Between where NNAPI has
    something between them."""
    ties = []
    for node in network.nodes:
        for name in node.reads:
            writer = network.producers.get(name)
            if writer is None or name in network.constants or crosses(network, name):
                continue
            ties.append((writer.number, node.number))
            between = _between(writer, node, before) - network.refused.keys()
            if between:
                raise Between(sorted(between), name)
    return ties


def _between(writer: Node, reader: Node, before: Mapping[int, set[int]]) -> set[int]:
    """On a way from the one to the other."""
    earlier = _reached(reader.number, before)
    return {
        number
        for number in earlier - {reader.number}
        if number != writer.number and writer.number in _reached(number, before)
    }


def _reached(number: int, before: Mapping[int, set[int]]) -> set[int]:
    found = {number}
    left = [number]
    while left:
        for each in before[left.pop()] - found:
            found.add(each)
            left.append(each)
    return found
