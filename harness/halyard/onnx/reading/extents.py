# SPDX-License-Identifier: Apache-2.0
"""Where onnx's inference of shapes says nothing, or other extents than operators compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import NodeProto, TypeProto, helper

# From this operator set on the schemas say that a window which would start in the padding at the
# end is none. Runtimes have always computed so.
_LAST_WINDOW = 22
_POOLINGS = ("AveragePool", "LpPool", "MaxPool")
# Functions whose schemas infer nothing before this operator set.
_FUNCTIONS_SAY = 16
_FUNCTIONS = ("GreaterOrEqual", "LessOrEqual")


def version_to_infer_by(node: NodeProto, opset: int) -> int:
    """The operator set whose schema infers the shapes of the node's outputs."""
    if node.op_type in _FUNCTIONS:
        return max(opset, _FUNCTIONS_SAY)
    rounds_up = any(each.name == "ceil_mode" and each.i for each in node.attribute)
    return max(opset, _LAST_WINDOW) if rounds_up and node.op_type in _POOLINGS else opset


def corrected(
    node: NodeProto, types: Mapping[str, TypeProto], found: Mapping[str, TypeProto]
) -> Mapping[str, TypeProto]:
    """The outputs' inferred types, by their names, mended."""
    given = {each.name: each for each in node.attribute}
    automatic = "auto_pad" in given and given["auto_pad"].s in (b"SAME_UPPER", b"SAME_LOWER")
    if node.op_type == "ConvTranspose" and (automatic or "output_shape" in given):
        return {name: _spread(node, types, proto) for name, proto in found.items()}
    if node.op_type == "GatherND":
        return {name: _gathered(node, types, proto) for name, proto in found.items()}
    return found


def of_onnx_runtime(node: NodeProto, types: Mapping[str, TypeProto]) -> Mapping[str, TypeProto]:
    """Of operators of its own that are mapped, of which onnx has no schema."""
    if node.domain != "com.microsoft" or any(name not in types for name in node.input):
        return {}
    given = [types[name] for name in node.input]
    if node.op_type in ("Gelu", "QuickGelu"):
        return {node.output[0]: given[0]}
    dims = [each.tensor_type.shape.dim for each in given]
    if node.op_type != "FusedMatMul" or not all(
        each.HasField("dim_value") for extents in dims for each in extents
    ):
        return {}
    a, b = ([each.dim_value for each in extents] for extents in dims)
    if min(len(a), len(b)) < 2:
        return {}
    turned = [bool(_integers(node, name, [0])[0]) for name in ("transA", "transB")]
    try:
        outer = np.broadcast_shapes(tuple(a[:-2]), tuple(b[:-2]))
    except ValueError:
        return {}
    shape = [*outer, a[-1 if turned[0] else -2], b[-2 if turned[1] else -1]]
    kind = given[0].tensor_type.elem_type
    return {node.output[0]: helper.make_tensor_type_proto(kind, shape)}


def _gathered(node: NodeProto, types: Mapping[str, TypeProto], given: TypeProto) -> TypeProto:
    """Of a scalar inference says nothing."""
    if given.tensor_type.HasField("shape"):
        return given
    data, indices = (types[name].tensor_type.shape.dim for name in node.input)
    if not indices or not all(each.HasField("dim_value") for each in (*data, *indices)):
        return given
    depth = next(iter(_integers(node, "batch_dims", [0]))) + indices[-1].dim_value
    shape = [each.dim_value for each in (*indices[:-1], *data[depth:])]
    return helper.make_tensor_type_proto(given.tensor_type.elem_type, shape)


def _spread(node: NodeProto, types: Mapping[str, TypeProto], given: TypeProto) -> TypeProto:
    """The extents of a transposed convolution: those of output_shape, or the input's times the
    stride, or all that it reaches where that is less. Inference gives up on the first where they
    are less than the input's, and adds output_padding to the second."""
    data, filters = (types[name].tensor_type.shape.dim for name in node.input[:2])
    if not all(each.HasField("dim_value") for each in (*data, *filters)) or len(filters) < 3:
        return given
    count = len(data) - 2
    ones = [1] * count
    strides, dilations = _integers(node, "strides", ones), _integers(node, "dilations", ones)
    added = _integers(node, "output_padding", [0] * count)
    wanted = list(_integers(node, "output_shape", []))[-count:]
    for axis in range(0 if wanted else count):
        before, span = data[axis + 2].dim_value, filters[axis + 2].dim_value
        reach = (before - 1) * strides[axis] + (span - 1) * dilations[axis] + 1 + added[axis]
        wanted.append(min(before * strides[axis], reach))
    channels = filters[1].dim_value * next(iter(_integers(node, "group", [1])))
    shape = [data[0].dim_value, channels, *wanted]
    return helper.make_tensor_type_proto(given.tensor_type.elem_type, shape)


def _integers(node: NodeProto, name: str, default: Sequence[int]) -> Sequence[int]:
    for each in node.attribute:
        if each.name == name:
            return each.ints or [each.i]
    return default
