# SPDX-License-Identifier: Apache-2.0
"""A model as a graph for Graphviz: `dot -Tsvg` draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halyard.model.converted import HostPart, NnapiPart, Part
from halyard.model.listing import operand_type
from halyard.model.operands import is_constant, is_tensor, operation_name
from halyard.proto import halyard_pb2 as pb

# More of a name is no help in a drawing.
_LONGEST = 60


def dot(name: str, parts: Sequence[Part]) -> str:
    """Parts are boxes, where there are several; values that cross them have lines of their own."""
    lines = [f"digraph {_quoted(name)} {{", "  node [shape=box fontname=sans fontsize=10]"]
    lines.append("  edge [fontname=sans fontsize=8]")
    # Where each value comes from, by its name.
    sources: dict[str, str] = {}
    read = {each for part in parts for each in part.inputs}
    written = {each for part in parts for each in part.outputs}
    for number, each in enumerate(sorted(read - written)):
        sources[each] = f"in{number}"
        lines.append(f"  in{number} [shape=ellipse label={_quoted(each)}]")
    for number, part in enumerate(parts):
        if isinstance(part, NnapiPart):
            kind, (nodes, edges) = "NNAPI", _nnapi(part, number, sources)
        else:
            kind, (nodes, edges) = "host", _host(part, number, sources)
        if len(parts) > 1:
            title = _quoted(f"part {number + 1}, {kind}")
            lines += [f"  subgraph cluster_{number} {{", f"    label={title}"]
            lines += [*(f"    {node}" for node in nodes), "  }"]
        else:
            lines += [f"  {node}" for node in nodes]
        lines += [f"  {edge}" for edge in edges]
    for number, each in enumerate(sorted(written - read)):
        lines.append(f"  out{number} [shape=ellipse label={_quoted(each)}]")
        lines.append(f"  {sources[each]} -> out{number}")
    return "\n".join([*lines, "}"]) + "\n"


def _nnapi(part: NnapiPart, number: int, sources: dict[str, str]) -> tuple[list[str], list[str]]:
    """Nodes and edges."""
    main = part.model.main
    computed = {
        index: sources[name] for index, name in zip(main.input_indexes, part.inputs, strict=True)
    }
    nodes, edges = [], []
    for place, operation in enumerate(main.operations):
        node = f"p{number}_{place}"
        title = "\\n".join(_escaped(line) for line in _label(main, place, operation))
        nodes.append(f'{node} [label="{title}"]')
        for index in dict.fromkeys(operation.inputs):
            if index in computed:
                shown = _quoted(operand_type(main.operands[index]))
                edges.append(f"{computed[index]} -> {node} [label={shown}]")
        computed |= dict.fromkeys(operation.outputs, node)
    for index, name in zip(main.output_indexes, part.outputs, strict=True):
        sources[name] = computed[index]
    return nodes, edges


def _label(main: pb.Subgraph, place: int, operation: pb.Operation) -> Iterator[str]:
    yield f"{place} {operation_name(operation.type)}"
    for index in operation.inputs:
        operand = main.operands[index]
        if is_constant(operand) and is_tensor(operand.type):
            extents = "x".join(map(str, operand.dimensions))
            yield f"{operand.name[:_LONGEST]} {extents}"


def _host(part: HostPart, number: int, sources: dict[str, str]) -> tuple[list[str], list[str]]:
    node = f"p{number}"
    title = "\\n".join(_escaped(each[:_LONGEST]) for each in part.operators)
    edges = [f"{sources[name]} -> {node} [label={_quoted(name)}]" for name in part.inputs]
    sources.update(dict.fromkeys(part.outputs, node))
    return [f'{node} [style=dashed label="{title}"]'], edges


def _quoted(text: str) -> str:
    return f'"{_escaped(text[:_LONGEST])}"'


def _escaped(text: str) -> str:
    plain = "".join(each if each.isprintable() else " " for each in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
