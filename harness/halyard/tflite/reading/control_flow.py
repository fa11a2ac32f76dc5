# SPDX-License-Identifier: Apache-2.0
"""IF and WHILE, whose subgraphs are mapped whole or not at all."""

from __future__ import annotations

from dataclasses import replace

from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.model import ModelBuilder
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper
from halyard.tflite.reading.operator_options import options

# Each time that a graph is used it is copied, with those inside.
_MOST_SUBGRAPHS = 256


def if_(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.IfOptionsT)
    values, outputs = operator.inputs[1:], len(operator.outputs)
    inputs = [
        mapper.operand(mapper.input(operator, 0)),
        _subgraph(mapper, given.thenSubgraphIndex, values, outputs),
        _subgraph(mapper, given.elseSubgraphIndex, values, outputs),
        *(mapper.operand(index) for index in values),
    ]
    mapper.emit(pb.OPERATION_TYPE_IF, inputs, operator)


def while_(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.WhileOptionsT)
    inputs = [
        _subgraph(mapper, given.condSubgraphIndex, operator.inputs, 1),
        _subgraph(mapper, given.bodySubgraphIndex, operator.inputs, len(operator.inputs)),
        *(mapper.operand(index) for index in operator.inputs),
    ]
    mapper.emit(pb.OPERATION_TYPE_WHILE, inputs, operator)


def _subgraph(mapper: Mapper, index: int, inputs: tuple[int, ...], outputs: int) -> int:
    graphs = mapper.file.graphs
    if not 0 <= index < len(graphs):
        raise NotExpressible(f"it names subgraph {index}, of which there are {len(graphs)}")
    if index in mapper.callers:
        raise NotExpressible(f"its subgraph {index} has it inside")
    graph = graphs[index]
    given = [mapper.type_of(each) for each in inputs]
    if len(graph.inputs) != len(given) or len(graph.outputs) != outputs:
        raise NotExpressible(
            f"its subgraph {index} has {len(graph.inputs)} inputs and {len(graph.outputs)} "
            f"outputs, and it has {len(given)} and {outputs}"
        )
    if index not in mapper.subgraphs:
        mapper.subgraphs[index] = _built(mapper, index)
    model = mapper.subgraphs[index]
    if isinstance(model, str):
        raise NotExpressible(model)
    if len(mapper.builder.referenced) + len(model.referenced) >= _MOST_SUBGRAPHS:
        raise NotExpressible(f"it comes to more than {_MOST_SUBGRAPHS} subgraphs")
    budget = mapper.file.budget
    for each in (model.main, *model.referenced):
        budget.take_nodes(len(each.operations), "its subgraphs, each where it is named,")
    copied = len(model.operand_values) + sum(map(len, model.pools))
    budget.take_bytes(copied, "the constants of its subgraphs")
    return mapper.builder.subgraph(model)


def _built(mapper: Mapper, index: int) -> pb.Model | str:
    """A model of the subgraph's own; or why there is none."""
    inner = replace(
        mapper,
        graph=mapper.file.graphs[index],
        callers=(*mapper.callers, index),
        builder=ModelBuilder(""),
        operands={},
        folded={},
    )
    for mapped in inner.run():
        if mapped.reason:
            return f"its subgraph {index}: {inner.graph.label(mapped.operator)}: {mapped.reason}"
    try:
        missing = [each for each in inner.graph.inputs if each not in inner.operands]
        for each in missing:
            inner.type_of(each)
        return inner.builder.build(inner.computed_outputs())
    except NotExpressible as error:
        return f"its subgraph {index}: {error}"
