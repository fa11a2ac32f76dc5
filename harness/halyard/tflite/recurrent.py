# SPDX-License-Identifier: Apache-2.0
"""LSTMs. In TFLite their states are variables, which are zero before the first run."""

from __future__ import annotations

from halyard.errors import NotExpressible
from halyard.model.arguments import TANH
from halyard.model.call import Call
from halyard.tflite import schema
from halyard.tflite.converter import Converter
from halyard.tflite.graph import OMITTED, Options, Quantization, Tensor
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions, TensorType

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
    table = schema.UnidirectionalSequenceLSTMOptions
    options = {
        table.FUSED_ACTIVATION_FUNCTION: call.integer("activation"),
        table.CELL_CLIP: call.scalar("cell_clip"),
        table.PROJ_CLIP: call.scalar("projection_clip"),
        table.TIME_MAJOR: call.flag("time_major"),
    }
    if call.output_indexes("output_state"):
        raise NotExpressible("TFLite does not give the last states away")
    converter.emit_between(
        BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM,
        _inputs(converter, call, (None, None)),
        [converter.tensor(call.output())],
        Options(BuiltinOptions.UNIDIRECTIONAL_SEQUENCE_LSTM, options),
    )


def quantized_lstm(converter: Converter, call: Call) -> None:
    """QUANTIZED_LSTM: one step. Steps that hand their states on share the variables."""
    # TFLite's integer LSTM has tanh, and gates whose sums have twelve fractional bits.
    table = schema.LSTMOptions
    options = {
        table.FUSED_ACTIVATION_FUNCTION: TANH,
        table.CELL_CLIP: call.scalar("cell_clip"),
        table.PROJ_CLIP: call.scalar("projection_clip"),
    }
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
        Options(BuiltinOptions.LSTM, options),
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
    converter: Converter, name: str, tensor_type: TensorType, scale: float, zero_point: int
) -> int:
    return converter.add(Tensor(name, tensor_type, (1,), Quantization((scale,), (zero_point,))))
