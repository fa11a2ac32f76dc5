# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's DynamicQuantizeLSTM as an LSTM of dequantised weights. Its inputs and states are
not rounded: that is done in each of its steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from halyard.errors import HalyardError
from halyard.model import Array

_DOMAIN = "com.microsoft"
# Of the operator's inputs: what an LSTM has as well, and scales and zero points of weights.
_WEIGHTS, _RECURRENT, _OF_AN_LSTM = 1, 2, 8
_SCALES = {_WEIGHTS: 8, _RECURRENT: 10}


def with_real_lstms(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model with LSTMs in their places, and what is to be said of it."""
    constants = {each.name: each for each in model.graph.initializer}
    found = {
        number: weights
        for number, node in enumerate(model.graph.node)
        if (weights := _weights(node, constants)) is not None
    }
    if not found:
        return model, []
    written, notes = ModelProto(), []
    written.CopyFrom(model)
    for number, weights in found.items():
        node = written.graph.node[number]
        notes.append(
            f"{node.op_type} {node.name!r}: computed with FLOAT32, its weights dequantised; its "
            "inputs and states are not rounded to 8 bits, by up to half a step of which it differs "
            "from the file, and so does what it is compared with"
        )
        inputs = [*node.input[:_OF_AN_LSTM]]
        for place, values in weights.items():
            inputs[place] = f"{node.output[0] or node.name}/weights_{place}"
            written.graph.initializer.append(numpy_helper.from_array(values, inputs[place]))
        real = helper.make_node("LSTM", inputs, list(node.output), name=node.name)
        real.attribute.extend(node.attribute)
        node.CopyFrom(real)
    return written, notes


def _weights(node: NodeProto, constants: Mapping[str, TensorProto]) -> dict[int, Array] | None:
    """Dequantised, and in the order of an LSTM. None for another operator, or for one whose weights
    are computed."""
    if node.op_type != "DynamicQuantizeLSTM" or node.domain != _DOMAIN:
        return None
    found = {}
    for place, scale in _SCALES.items():
        if len(node.input) <= scale + 1:
            return None
        names = [node.input[each] for each in (place, scale, scale + 1)]
        if any(name not in constants for name in names):
            return None
        try:
            whole, scales, zeros = (numpy_helper.to_array(constants[name]) for name in names)
            # One for each direction, or for each of its columns.
            dims = (whole.shape[0], 1, -1)
            real = whole.astype(np.float32) - zeros.astype(np.float32).reshape(dims)
            real = real * scales.astype(np.float32).reshape(dims)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise HalyardError(f"operator {node.name!r} contradicts itself: {error}") from error
        found[place] = np.ascontiguousarray(real.transpose(0, 2, 1))
    return found
