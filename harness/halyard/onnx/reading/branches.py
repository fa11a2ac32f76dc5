# SPDX-License-Identifier: Apache-2.0
"""The branch that an If takes, put in its place where its condition is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, NodeProto, TensorProto, helper

from halyard.onnx.reading.naming import renamed, unused


@dataclass(frozen=True)
class Branch:
    """The nodes that stand for the If, with names that nothing else has. `name`: the
    attribute's."""

    name: str
    nodes: Sequence[NodeProto]
    initializers: Sequence[TensorProto]


def branch_of(
    node: NodeProto, condition: bool, taken: set[str], nodes_taken: set[str]
) -> Branch | None:
    """None for one that can't be put in the If's place. The names that values have, and those that
    operators have, are taken: those of the branch are added to them."""
    name = "then_branch" if condition else "else_branch"
    graph = next((each.g for each in node.attribute if each.name == name), None)
    if graph is None or graph.sparse_initializer or len(graph.output) < len(node.output):
        return None
    names = _names(node, graph, taken)
    nodes = [renamed(each, names) for each in graph.node]
    for inner in nodes:
        # ONNX Runtime takes each once.
        inner.name = unused(inner.name, nodes_taken) if inner.name else ""
    written = {each for inner in nodes for each in inner.output}
    for output, info in zip(node.output, graph.output, strict=False):
        if output and output not in written:
            source = names.get(info.name, info.name)
            nodes.append(helper.make_node("Identity", [source], [output]))
    initializers = []
    for tensor in graph.initializer:
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.name = names[tensor.name]
        initializers.append(copy)
    return Branch(name, nodes, initializers)


def _names(node: NodeProto, graph: GraphProto, taken: set[str]) -> Mapping[str, str]:
    """Of the branch's own values: an output that a node of it writes is the If's."""
    written = {name for inner in graph.node for name in inner.output}
    names: dict[str, str] = {}
    for output, info in zip(node.output, graph.output, strict=False):
        if output and info.name in written:
            names.setdefault(info.name, output)
    own = [*written, *(tensor.name for tensor in graph.initializer)]
    for name in own:
        if name and name not in names:
            names[name] = unused(name, taken)
    return names
