# SPDX-License-Identifier: Apache-2.0
"""The names of values in a graph, and in the graphs that its operators have."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from onnx import GraphProto, NodeProto


def read_by(proto: NodeProto) -> dict[str, None]:
    """The names that an operator reads, with those that its graphs read from around them, in
    order."""
    names = dict.fromkeys(proto.input)
    for graph in _graphs(proto):
        own = _own(graph)
        read = {name: None for node in graph.node for name in read_by(node)}
        read |= dict.fromkeys(each.name for each in graph.output)
        names |= {name: None for name in read if name not in own}
    return names


def names_of(graph: GraphProto) -> set[str]:
    """Of all values, those of graphs inside too."""
    names = _own(graph) | {name for node in graph.node for name in node.input}
    for node in graph.node:
        for inner in _graphs(node):
            names |= names_of(inner)
    return names


def unused(name: str, taken: set[str]) -> str:
    """The name, or one like it, that is taken from then on."""
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}/{count}"
    taken.add(found)
    return found


def renamed(proto: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A copy with other names for what it reads and writes, also in graphs that it has."""
    copy = NodeProto()
    copy.CopyFrom(proto)
    for values in (copy.input, copy.output):
        values[:] = [names.get(name, name) for name in values]
    for graph in _graphs(copy):
        own = _own(graph)
        outer = {name: other for name, other in names.items() if name not in own}
        nodes = [renamed(node, outer) for node in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        for output in graph.output:
            output.name = outer.get(output.name, output.name)
    return copy


def put_in_order(graph: GraphProto) -> None:
    """So that operators follow those that they read from, as the format asks and ONNX Runtime does
    not. Those that wait for each other stay where they are."""
    producers = {name: place for place, node in enumerate(graph.node) for name in node.output}
    before = [
        {producers[name] for name in read_by(node) if name and name in producers}
        for node in graph.node
    ]
    if all(each < place for place, others in enumerate(before) for each in others):
        return
    after: list[list[int]] = [[] for _ in before]
    for place, others in enumerate(before):
        for each in others:
            after[each].append(place)
    left = [len(others) for others in before]
    ready = [place for place, count in enumerate(left) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for each in after[order[-1]]:
            left[each] -= 1
            if not left[each]:
                heapq.heappush(ready, each)
    if len(order) == len(before):
        nodes = [graph.node[place] for place in order]
        copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def _graphs(proto: NodeProto) -> list[GraphProto]:
    graphs: list[GraphProto] = []
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            graphs.append(attribute.g)
        graphs.extend(attribute.graphs)
    return graphs


def _own(graph: GraphProto) -> set[str]:
    own = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    own.update(name for node in graph.node for name in node.output)
    return own
