# SPDX-License-Identifier: Apache-2.0
"""Types that neither onnx's inference nor the file knows, as those of operators in a runtime's own
domain: the runtime is asked, if it is there."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from onnx import ModelProto, TensorProto, TypeProto, helper

_ELEMENTS = {
    "tensor(bool)": TensorProto.BOOL,
    "tensor(double)": TensorProto.DOUBLE,
    "tensor(float)": TensorProto.FLOAT,
    "tensor(float16)": TensorProto.FLOAT16,
    "tensor(int16)": TensorProto.INT16,
    "tensor(int32)": TensorProto.INT32,
    "tensor(int64)": TensorProto.INT64,
    "tensor(int8)": TensorProto.INT8,
    "tensor(uint16)": TensorProto.UINT16,
    "tensor(uint32)": TensorProto.UINT32,
    "tensor(uint64)": TensorProto.UINT64,
    "tensor(uint8)": TensorProto.UINT8,
}
# Of its log: fatal errors alone.
_SILENT = 4


def told_by_runtime(model: ModelProto, names: Sequence[str]) -> Mapping[str, TypeProto]:
    """Of values of the main graph, those that ONNX Runtime knows."""
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        return {}
    asked = ModelProto()
    asked.CopyFrom(model)
    there = {info.name for info in asked.graph.output}
    asked.graph.output.extend(
        helper.make_empty_tensor_value_info(name) for name in names if name not in there
    )
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = _SILENT
    try:
        session = runtime.InferenceSession(
            asked.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    # Its exceptions have no class of their own in common. What it does not take says nothing.
    except Exception:  # noqa: BLE001
        return {}
    wanted = set(names)
    return {
        value.name: _type(_ELEMENTS[value.type], value.shape)
        for value in session.get_outputs()
        if value.name in wanted and value.type in _ELEMENTS
    }


def _type(element: int, shape: Sequence[int | str | None]) -> TypeProto:
    """No extents are those of a number, or of what it knows none of."""
    if not shape:
        proto = TypeProto()
        proto.tensor_type.elem_type = element
        return proto
    extents = [extent if isinstance(extent, int) else None for extent in shape]
    return helper.make_tensor_type_proto(element, extents)
