# SPDX-License-Identifier: Apache-2.0
"""A file's signatures: the graphs that it is entered by, each with names of its own for what goes
in and comes out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.errors import HalyardError
from halyard.model.budget import excerpt
from halyard.tflite.graph import packed
from halyard.tflite.reading.file import File, Graph


@dataclass(frozen=True)
class Signature:
    """`names` are those of tensors of the graph, by their indexes."""

    key: str
    graph: int
    names: dict[int, str]


def signatures(file: File) -> list[Signature]:
    """HalyardError for one that names what is not there."""
    return [_signature(each, file) for each in _vector(file.content.signatureDefs)]


def note(found: Sequence[Signature], chosen: str) -> str:
    """That there are others than the one that is read; nothing where there are none."""
    keys = [each.key for each in found if each.key != chosen]
    if len(found) < 2:
        return ""
    shown = ", ".join(excerpt(key) for key in keys[:8]) + (" and others" if len(keys) > 8 else "")
    return f"the file has other signatures, too: {shown} (--signature)"


def chosen(file: File, key: str) -> bytes:
    """The file with the signature's graph as its first one, whose inputs and outputs have the
    signature's names."""
    found = signatures(file)
    signature = next((each for each in found if each.key == key), None)
    if signature is None:
        keys = ", ".join(excerpt(each.key) for each in found[:20]) or "none"
        raise HalyardError(f"--signature {key}: the file has no such signature, but {keys}")
    model = file.content
    _rename(model.subgraphs[signature.graph], signature.names)
    if signature.graph:
        places = {0: signature.graph, signature.graph: 0}
        graphs = list(model.subgraphs)
        graphs[0], graphs[signature.graph] = graphs[signature.graph], graphs[0]
        model.subgraphs = graphs
        for graph in graphs:
            for operator in _vector(graph.operators):
                for field in ("builtinOptions", "builtinOptions2"):
                    setattr(operator, field, _moved(getattr(operator, field, None), places))
    # They speak of the graphs as they were.
    model.signatureDefs = None
    return packed(model)


def first(found: Sequence[Signature]) -> str:
    """The key of that which is read where none is asked for; empty where the first graph has
    none."""
    return next((each.key for each in found if each.graph == 0), "")


def _signature(given: Any, file: File) -> Signature:
    key = _text(given.signatureKey)
    graph = int(given.subgraphIndex)
    if not 0 <= graph < len(file.graphs):
        raise HalyardError(
            f"the signature {excerpt(key)} is of subgraph {graph}, of which there are "
            f"{len(file.graphs)}"
        )
    names: dict[int, str] = {}
    for side, indexes in (("inputs", _inputs(file.graphs[graph])), ("outputs", None)):
        allowed = file.graphs[graph].outputs if indexes is None else indexes
        for each in _vector(getattr(given, side)):
            index = int(each.tensorIndex)
            if index not in allowed:
                raise HalyardError(
                    f"the signature {excerpt(key)} has tensor {index} among its {side}, and its "
                    "graph has not"
                )
            names.setdefault(index, _text(each.name))
    return Signature(key, graph, names)


def _inputs(graph: Graph) -> tuple[int, ...]:
    return graph.inputs


def _rename(graph: Any, names: dict[int, str]) -> None:
    """Others that are called so get other names."""
    taken = set(names.values())
    for index, tensor in enumerate(graph.tensors):
        own = _text(tensor.name)
        if index in names:
            tensor.name = names[index]
        elif own in taken:
            tensor.name = f"{own}#{index}"


def _moved(options: Any, places: dict[int, int]) -> Any:
    """With the new numbers of the subgraphs that they name."""
    if options is None:
        return None
    moved = copy.copy(options)
    for field, value in vars(options).items():
        if field.lower().endswith("subgraphindex"):
            setattr(moved, field, places.get(int(value), value))
        elif field.lower().endswith("subgraphindices") and np.ndim(value) == 1:
            setattr(moved, field, [places.get(int(each), int(each)) for each in value])
    return moved


def _vector(given: Any) -> Sequence[Any]:
    return () if given is None or np.ndim(given) == 0 else given


def _text(given: Any) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given or "")
