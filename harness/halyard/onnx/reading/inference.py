# SPDX-License-Identifier: Apache-2.0
"""Where onnx's inference of shapes says something else than what operators compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import NodeProto, TypeProto

# From this operator set on the schemas say that a window which would start in the padding at the
# end is none. Runtimes have always computed so.
_LAST_WINDOW = 22
_POOLINGS = ("AveragePool", "LpPool", "MaxPool")


def version_to_infer_by(node: NodeProto, opset: int) -> int:
    """The operator set whose schema infers the shapes of the node's outputs."""
    rounds_up = any(each.name == "ceil_mode" and each.i for each in node.attribute)
    return max(opset, _LAST_WINDOW) if rounds_up and node.op_type in _POOLINGS else opset


def corrected(
    node: NodeProto, types: Mapping[str, TypeProto], found: Mapping[str, TypeProto]
) -> Mapping[str, TypeProto]:
    """What was found of the outputs, by their names, mended."""
    given = {each.name: each for each in node.attribute}
    automatic = "auto_pad" in given and given["auto_pad"].s in (b"SAME_UPPER", b"SAME_LOWER")
    if node.op_type == "ConvTranspose" and automatic and "output_shape" not in given:
        return {name: _spread(node, types, proto) for name, proto in found.items()}
    return found


def _spread(node: NodeProto, types: Mapping[str, TypeProto], given: TypeProto) -> TypeProto:
    """The extents of a transposed convolution: the input's times the stride, or all that it reaches
    where that is less. Inference adds output_padding to the first."""
    made = TypeProto()
    made.CopyFrom(given)
    data, filters = (types[name].tensor_type.shape.dim[2:] for name in node.input[:2])
    ones = [1] * len(data)
    strides, dilations = _integers(node, "strides", ones), _integers(node, "dilations", ones)
    added = _integers(node, "output_padding", [0] * len(data))
    for axis, extent in enumerate(made.tensor_type.shape.dim[2:]):
        if data[axis].HasField("dim_value") and filters[axis].HasField("dim_value"):
            before, span = data[axis].dim_value, (filters[axis].dim_value - 1) * dilations[axis] + 1
            reach = (before - 1) * strides[axis] + span + added[axis]
            extent.dim_value = min(before * strides[axis], reach)
    return made


def _integers(node: NodeProto, name: str, default: Sequence[int]) -> Sequence[int]:
    return next((each.ints for each in node.attribute if each.name == name), default)
