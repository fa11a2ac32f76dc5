# SPDX-License-Identifier: Apache-2.0
"""LSTM, RNN and GRU: NNAPI's sequences, one for each direction, or step by step."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.arguments import TANH, Activation
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.sequences import Cell, SequenceOf, unrolled
from halyard.proto import halyard_pb2 as pb

# Where ONNX has the gates that NNAPI names in the order of input, forget, cell and output.
_GATES = (0, 2, 3, 1)
# ONNX's peepholes are those of input, output and forget gate, NNAPI's of input, forget and output.
_PEEPHOLES = (0, 2, 1)


def _sequence(mapper: Mapper, node: Node, defaults: Sequence[str]) -> SequenceOf:
    """NotExpressible for what NNAPI's sequences do not do."""
    data = node.input(0)
    mapper.require_real(data)
    if node.has("clip"):
        raise NotExpressible("it limits what comes to its gates, and NNAPI limits the cell")
    batch_first = bool(node.integer("layout", 0))
    steps, batch, _ = mapper.shape(data)
    if batch_first:
        steps, batch = batch, steps
    if node.input(4):
        lengths = mapper.known(node.input(4), "lengths")
        if (lengths != steps).any():
            raise NotExpressible("its sequences differ in length, and NNAPI's do not")
    units = mapper.known(node.input(2), "recurrent weights").shape[-1]
    found = SequenceOf(mapper, node, batch_first, steps, batch, units)
    wanted = list(defaults) * len(found.directions)
    if defaults and activations(node, wanted) != wanted:
        given = ", ".join(activations(node, wanted))
        raise NotExpressible(f"its activations are {given}, and NNAPI's {', '.join(defaults)}")
    return found


def activations(node: Node, defaults: Sequence[str]) -> list[str]:
    given = node.attributes.get("activations")
    return list(defaults) if given is None else [each.decode().lower() for each in given]


def lstm(mapper: Mapper, node: Node) -> None:
    if node.integer("input_forget", 0):
        raise NotExpressible("its forget gate follows its input gate, and NNAPI's the other way")
    sequence = _sequence(mapper, node, ["sigmoid", "tanh", "tanh"])
    builder = mapper.builder
    data = mapper.operand(node.input(0))
    kind = mapper.like(data).type
    left_out = builder.omitted(TensorType(kind, ()))
    states = any(mapper.network.is_read(name) for name in node.outputs[1:] if name)
    outputs = []
    for direction, backwards in enumerate(sequence.directions):
        inputs = [sequence.turned(data, backwards=backwards)]
        for place in (1, 2):
            gates = sequence.weights(place, direction, 4)
            inputs += [sequence.constant(gates[gate], data) for gate in _GATES]
        if node.input(7):
            peepholes = sequence.weights(7, direction, 3)
            inputs += [sequence.constant(peepholes[gate], data) for gate in _PEEPHOLES]
        else:
            inputs += [left_out] * 3
        bias = sequence.bias(direction, 4)
        inputs += [sequence.constant(bias[gate], data) for gate in _GATES]
        inputs += [left_out] * 2
        inputs += [sequence.state(place, direction, data) for place in (5, 6)]
        inputs += [builder.int32(TANH), mapper.real(0.0, data), mapper.real(0.0, data)]
        inputs += [builder.boolean(not sequence.batch_first), *([left_out] * 4)]
        outputs.append(
            _run(
                sequence,
                pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM,
                inputs,
                2 if states else 0,
                backwards=backwards,
            )
        )
    sequence.finish(outputs)


def rnn(mapper: Mapper, node: Node) -> None:
    """Step by step where the activation is none that NNAPI fuses."""
    sequence = _sequence(mapper, node, [])
    names = activations(node, ["tanh"] * len(sequence.directions))
    operation = pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_RNN
    builder = mapper.builder
    data = mapper.operand(node.input(0))
    states = any(mapper.network.is_read(name) for name in node.outputs[1:] if name)
    outputs = []
    for direction, backwards in enumerate(sequence.directions):
        if names[direction] != "relu":
            cell = Cell(1, names[direction])
            outputs.append(unrolled(sequence, data, direction, cell, backwards=backwards))
            continue
        inputs = [
            sequence.turned(data, backwards=backwards),
            *(sequence.constant(sequence.weights(each, direction, 1)[0], data) for each in (1, 2)),
            sequence.constant(sequence.bias(direction, 1)[0], data),
            sequence.state(5, direction, data),
            builder.int32(Activation.RELU),
            builder.int32(int(not sequence.batch_first)),
        ]
        outputs.append(_run(sequence, operation, inputs, int(states), backwards=backwards))
    sequence.finish(outputs)


def gru(mapper: Mapper, node: Node) -> None:
    """Step by step: NNAPI has none."""
    sequence = _sequence(mapper, node, ["sigmoid", "tanh"])
    data = mapper.operand(node.input(0))
    cell = Cell(3, "tanh", bool(node.integer("linear_before_reset", 0)))
    sequence.finish(
        [
            unrolled(sequence, data, direction, cell, backwards=backwards)
            for direction, backwards in enumerate(sequence.directions)
        ]
    )


def _run(
    sequence: SequenceOf, operation: int, inputs: Sequence[int], states: int, *, backwards: bool
) -> list[int]:
    """All steps in the order of time, and so many states, which HAL 1.3 brought."""
    mapper, name = sequence.mapper, sequence.node.outputs[0] or sequence.node.label
    dims = [sequence.steps, sequence.batch, sequence.units]
    if sequence.batch_first:
        dims = [sequence.batch, sequence.steps, sequence.units]
    made = [(f"{name}/steps", mapper.like(inputs[0], dims))]
    state = mapper.like(inputs[0], (sequence.batch, sequence.units))
    made += [(f"{name}/state_{number}", state) for number in range(states)]
    steps, *rest = mapper.emit_n(operation, inputs, made)
    wanted = sequence.node.outputs[0]
    if wanted and mapper.network.is_read(wanted):
        steps = sequence.turned(steps, backwards=backwards)
    return [steps, *rest]
