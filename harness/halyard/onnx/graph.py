# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph in the making, in the messages of the onnx package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, checker, helper, numpy_helper

from halyard.model import Array
from halyard.model.wire import is_cut_off

# Attributes are numbers, lists of whole numbers, or words.
Attribute = int | float | str | tuple[int, ...]

_IR_VERSION = 8
_OPSET = 17


@dataclass
class Graph:
    name: str
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    outputs: list[ValueInfoProto] = field(default_factory=list)

    def emit(
        self, operator: str, inputs: Sequence[str], output: str, **attributes: Attribute
    ) -> None:
        given: dict[str, Any] = {**attributes}
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **given))

    def model(self) -> ModelProto:
        constants = [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in self.constants.items()
        ]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, constants)
        return helper.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            producer_name="Halyard",
        )


def value_info(name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def packed(model: ModelProto) -> bytes:
    return bytes(model.SerializeToString(deterministic=True))


def parsed(content: bytes) -> ModelProto:
    """ValueError for what is no message."""
    model = ModelProto()
    try:
        model.ParseFromString(content)
    # Of protobuf, whose class depends on its version.
    except Exception as error:
        cut_off = f"it is cut off, at {len(content)} bytes"
        raise ValueError(cut_off if is_cut_off(content) else str(error)) from error
    return model


def checked(model: ModelProto) -> None:
    """ValueError for a model that makes no sense."""
    try:
        checker.check_model(model)
    # Of the checker, and of protobuf where it writes the model for it.
    except Exception as error:
        raise ValueError(str(error)) from error


def int64(values: Sequence[int]) -> Array:
    """An INT64 array, ONNX's type for shapes and the like."""
    return np.asarray(values, "<i8")
