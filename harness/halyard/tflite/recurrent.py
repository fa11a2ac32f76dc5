# SPDX-License-Identifier: Apache-2.0
"""LSTMs. In TFLite their states are variables, which are zero before the first run."""

from __future__ import annotations

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType

from halyard.errors import NotExpressible
from halyard.model.arguments import TANH
from halyard.model.call import Call
from halyard.tflite.converter import Converter
from halyard.tflite.graph import OMITTED, made, quantization

_GATES = ("input", "forget", "cell", "output")

# Inputs up to the states, which are the next two, in TFLite's order.
_BEFORE_STATES = (
    "input",
    *(f"input_to_{gate}_weights" for gate in _GATES),
    *(f"recurrent_to_{gate}_weights" for gate in _GATES),
    *(f"cell_to_{gate}_weights" for gate in ("input", "forget", "output")),
    "input_gate_bias",
    "forget_gate_bias",
    "cell_bias",
    "output_gate_bias",
    "projection_weights",
    "projection_bias",
)
_NORMALISATION = tuple(f"{gate}_layer_norm_weights" for gate in _GATES)


def sequence_lstm(converter: Converter, call: Call) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: all steps in one operator."""
    options = made(
        schema.UnidirectionalSequenceLSTMOptionsT,
        fusedActivationFunction=call.integer("activation"),
        cellClip=call.scalar("cell_clip"),
        projClip=call.scalar("projection_clip"),
        timeMajor=call.flag("time_major"),
    )
    if call.output_indexes("output_state"):
        raise NotExpressible("TFLite does not give the last states away")
    converter.emit_between(
        BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM,
        _inputs(converter, call, (None, None)),
        [converter.tensor(call.output())],
        options,
    )


def quantized_lstm(converter: Converter, call: Call) -> None:
    """QUANTIZED_LSTM: one step. Steps that hand their states on share the variables."""
    # TFLite's integer LSTM has tanh, and gates whose sums have twelve fractional bits.
    options = made(
        schema.LSTMOptionsT,
        fusedActivationFunction=TANH,
        cellClip=call.scalar("cell_clip"),
        projClip=call.scalar("projection_clip"),
    )
    output = call.output()
    inputs = _inputs(converter, call, (call.output("output_state"), call.output("cell_state")))
    name = converter.name(output)
    scales = [call.scalar(f"{gate}_intermediate_scale") for gate in _GATES]
    intermediates = [
        _intermediate(converter, f"{name}/gate_{number}", TensorType.INT16, each or 1.0, 0)
        for number, each in enumerate(scales)
    ]
    scale, zero_point = call.scalar("hidden_state_scale"), call.integer("hidden_state_zero_point")
    hidden = _intermediate(converter, f"{name}/hidden", TensorType.INT8, scale, zero_point)
    converter.emit_between(
        BuiltinOperator.LSTM,
        inputs,
        [converter.tensor(output)],
        options,
        [*intermediates, hidden],
    )


def _inputs(
    converter: Converter, call: Call, states_after: tuple[int | None, int | None]
) -> list[int]:
    def optional(name: str) -> int:
        return converter.input(call, name) if call.has(name) else OMITTED

    inputs = [optional(name) for name in _BEFORE_STATES]
    for before, after in zip(("output_state", "cell_state"), states_after, strict=True):
        inputs.append(converter.state(call.index(before), after))
    norms = [optional(name) for name in _NORMALISATION]
    # Operators of four inputs less know of no normalisation.
    return inputs + norms if any(norm != OMITTED for norm in norms) else inputs


def _intermediate(
    converter: Converter, name: str, tensor_type: int, scale: float, zero_point: int
) -> int:
    return converter.add(name, tensor_type, (1,), quantization([scale], [zero_point]))
