# SPDX-License-Identifier: Apache-2.0
"""Operators with states."""

from __future__ import annotations

from typing import Any

from tests.random_tflite.sketch import Maker, Shape, Sketch, Value
from tests.random_tflite.weighted import hybrid_weights


def _matrix(sketch: Sketch, *shape: int, hybrid: bool = False) -> int:
    if hybrid:
        return hybrid_weights(sketch, shape, 0, 0).index
    return sketch.constant(sketch.numbers(shape, "float32", 0.7)).index


def _state(sketch: Sketch, *shape: int) -> int:
    return sketch.graph.tensor(shape, variable=True)


def _rnn(sketch: Sketch) -> None:
    batch, depth, units = sketch.integer(1, 3), sketch.integer(1, 5), sketch.integer(1, 5)
    source = sketch.value(shape=(batch, depth))
    hybrid = sketch.chance(0.2)
    given = [
        _matrix(sketch, units, depth, hybrid=hybrid),
        _matrix(sketch, units, units, hybrid=hybrid),
        _matrix(sketch, units),
    ]
    given.append(_state(sketch, batch, units))
    fused = sketch.among([0, 1, 2, 3])
    sketch.emit(
        "RNN",
        [source, *given],
        [sketch.result("float32")],
        "RNNOptions",
        fusedActivationFunction=fused,
    )


def _sequence_rnn(sketch: Sketch) -> None:
    major = sketch.flag()
    batch, steps, depth, units = (sketch.integer(1, 4) for _ in range(4))
    source = sketch.value(shape=(steps, batch, depth) if major else (batch, steps, depth))
    hybrid = sketch.chance(0.2)
    given = [
        _matrix(sketch, units, depth, hybrid=hybrid),
        _matrix(sketch, units, units, hybrid=hybrid),
        _matrix(sketch, units),
    ]
    given.append(_state(sketch, batch, units))
    sketch.emit(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        [source, *given],
        [sketch.result("float32")],
        "SequenceRNNOptions",
        fusedActivationFunction=sketch.among([0, 1, 2, 3]),
        timeMajor=major,
    )


def _svdf(sketch: Sketch) -> None:
    batch, depth, units, rank = (sketch.integer(1, 3) for _ in range(4))
    memory = sketch.integer(1, 5)
    source = sketch.value(shape=(batch, depth))
    filters = units * rank
    hybrid = sketch.chance(0.2)
    given = [_matrix(sketch, filters, depth, hybrid=hybrid)]
    given.append(_matrix(sketch, filters, memory, hybrid=hybrid))
    given.append(_matrix(sketch, units) if sketch.flag() else -1)
    given.append(_state(sketch, batch, filters * memory))
    sketch.emit(
        "SVDF",
        [source, *given],
        [sketch.result("float32")],
        "SVDFOptions",
        rank=rank,
        fusedActivationFunction=sketch.among([0, 1]),
    )


def _lstm(kind: str) -> Maker:
    """With any of what it may have: a coupled gate, peepholes, a projection, clips, norms."""

    def make(sketch: Sketch) -> None:
        batch, depth, units = sketch.integer(1, 3), sketch.integer(1, 4), sketch.integer(1, 4)
        major, steps = sketch.flag(), sketch.integer(1, 4)
        projected = sketch.chance(0.3)
        outputs = sketch.integer(1, 4) if projected else units
        shape: Shape = (batch, depth)
        if kind != "LSTM":
            shape = (steps, batch, depth) if major else (batch, steps, depth)
        source = sketch.value(shape=shape)
        first = int(sketch.chance(0.3))
        absent = [-1] * first
        inputs: list[Value | int] = [source]
        inputs += absent + [_matrix(sketch, units, depth) for _ in range(first, 4)]
        inputs += absent + [_matrix(sketch, units, outputs) for _ in range(first, 4)]
        peepholes = sketch.chance(0.3)
        inputs += (
            absent + [_matrix(sketch, units) for _ in range(first, 3)] if peepholes else [-1] * 3
        )
        inputs += absent + [_matrix(sketch, units) for _ in range(first, 4)]
        inputs.append(_matrix(sketch, outputs, units) if projected else -1)
        inputs.append(_matrix(sketch, outputs) if projected and sketch.flag() else -1)
        inputs += [_state(sketch, batch, outputs), _state(sketch, batch, units)]
        if sketch.chance(0.3):
            inputs += absent + [_matrix(sketch, units) for _ in range(first, 4)]
        fields: dict[str, Any] = {
            "fusedActivationFunction": sketch.among([4, 4, 1, 3]),
            "cellClip": sketch.among([0.0, 0.5]),
            "projClip": sketch.among([0.0, 0.3]) if projected else 0.0,
        }
        options = "LSTMOptions"
        if kind != "LSTM":
            fields["timeMajor"], options = major, "UnidirectionalSequenceLSTMOptions"
        sketch.emit(kind, inputs, [sketch.result("float32")], options, **fields)

    return make


MAKERS: dict[str, Maker] = {
    "LSTM": _lstm("LSTM"),
    "RNN": _rnn,
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm("UNIDIRECTIONAL_SEQUENCE_LSTM"),
    "UNIDIRECTIONAL_SEQUENCE_RNN": _sequence_rnn,
}
