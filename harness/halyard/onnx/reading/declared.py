# SPDX-License-Identifier: Apache-2.0
"""The inputs as an ONNX file declares them, and what its graph tells of extents that are open."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, helper

from halyard.errors import HalyardError
from halyard.model.shapes import Closing, Declared, Shapes, closed

# Operators whose output has the shape of their first input.
_ALIKE = frozenset(
    {"Cast", "Clip", "DequantizeLinear", "Identity", "QuantizeLinear", "Relu", "Sigmoid", "Tanh"}
)
_IMAGE_SIZE = "imgsz"  # in the metadata of Ultralytics' exports: "[640, 640]", height and width

# The name that exporters write for an unknown extent: two dimensions that are called so have no
# more to do with each other than two without a name.
_NO_NAME = re.compile(r"[\W\d_]*|none|null|unk|unknown", re.IGNORECASE)

# A dimension of an input, seen from a value: which one each of the value's dimensions is.
_Axes = Sequence[int]


def close_inputs(model: ModelProto, names: Sequence[str], said: Shapes) -> Closing:
    """Gives the inputs of these names shapes without open dimensions, in the model itself, and puts
    what names of dimensions stand for wherever the file has such a name. HalyardError as of
    closed(), and for an input that is no tensor."""
    infos = [info for info in model.graph.input if info.name in names]
    for info in infos:
        if not info.type.HasField("tensor_type"):
            raise HalyardError(f"input {info.name!r} is no tensor")
    closing = closed([_declared(info, model) for info in infos], said)
    for info in infos:
        element = info.type.tensor_type.elem_type
        info.type.CopyFrom(helper.make_tensor_type_proto(element, closing.shapes[info.name]))
    for info in (*model.graph.value_info, *model.graph.output):
        _name_extents(info.type, closing.extents)
    return closing


def _declared(info: ValueInfoProto, model: ModelProto) -> Declared:
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        return Declared(info.name, None)
    # As ONNX Runtime has it, an extent below nothing is open.
    dims = tuple(
        int(dim.dim_value)
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else _name(dim.dim_param)
        for dim in tensor.shape.dim
    )
    if not any(isinstance(dim, str) for dim in dims):
        return Declared(info.name, dims)
    return Declared(info.name, dims, _hints(info.name, dims, model))


def _name_extents(given: TypeProto, extents: Mapping[str, int]) -> None:
    for dim in given.tensor_type.shape.dim:
        if dim.dim_param in extents:
            dim.dim_value = extents[dim.dim_param]


def _name(given: str) -> str:
    """Empty where it says nothing."""
    return "" if _NO_NAME.fullmatch(given) else str(given)


# ---- what the graph tells -----------------------------------------------------------------------


def _hints(name: str, dims: Sequence[int | str], model: ModelProto) -> dict[int, int]:
    """Extents that the weights of an operator ask for, which is all that it takes."""
    weights = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for value in dict.fromkeys(node.input):
            readers.setdefault(value, []).append(node)
    found: dict[int, int] = {}
    waiting: list[tuple[str, _Axes]] = [(name, range(len(dims)))]
    seen = {name}
    while waiting:
        value, axes = waiting.pop()
        for node in readers.get(value, ()):
            for axis, extent in _asked(node, value, len(axes), weights).items():
                if 0 <= axis < len(axes):
                    found.setdefault(axes[axis], extent)
            if node.input[0] == value and node.output and node.output[0] not in seen:
                after = _followed(node, axes)
                if after is not None:
                    seen.add(node.output[0])
                    waiting.append((node.output[0], after))
    found |= _size_in_metadata(dims, model)
    return {axis: extent for axis, extent in found.items() if isinstance(dims[axis], str)}


def _asked(
    node: NodeProto, value: str, rank: int, weights: Mapping[str, tuple[int, ...]]
) -> dict[int, int]:
    """The extents of a value that an operator reads, by its weights."""
    shapes = [weights.get(name, ()) for name in node.input[:3]]
    attributes = {each.name: each for each in node.attribute}
    place = list(node.input).index(value)
    other = shapes[1] if len(shapes) > 1 else ()
    match node.op_type:
        case "Conv" if place == 0 and len(other) > 2:
            groups = attributes["group"].i if "group" in attributes else 1
            return {1: other[1] * groups}
        case "ConvTranspose" if place == 0 and len(other) > 2:
            return {1: other[0]}
        case "BatchNormalization" | "InstanceNormalization" if place == 0 and len(other) == 1:
            return {1: other[0]}
        case "LayerNormalization" if place == 0 and len(other) == 1:
            return {rank - 1: other[0]}
        case "MatMul" if place == 0 and len(other) >= 2:
            return {rank - 1: other[-2]}
        case "MatMul" if place == 1 and len(shapes[0]) >= 2:
            return {rank - 2: shapes[0][-1]}
        case "Gemm" if place == 0 and len(other) == 2:
            given, turned = (
                bool(attributes[name].i) if name in attributes else False
                for name in ("transA", "transB")
            )
            return {0 if given else 1: other[1 if turned else 0]}
        case "LSTM" | "GRU" | "RNN" if len(other) == 3:
            return _of_recurrent(place, other, shapes[2])
        case _:
            return {}


def _of_recurrent(
    place: int, weights: tuple[int, ...], recurrent: tuple[int, ...]
) -> dict[int, int]:
    if place == 0:
        return {2: weights[2]}
    if place in (5, 6) and len(recurrent) == 3:
        return {0: recurrent[0], 2: recurrent[2]}
    return {}


def _followed(node: NodeProto, axes: _Axes) -> _Axes | None:
    """Which dimensions of the input an operator's output has."""
    if node.op_type in _ALIKE:
        return axes
    if node.op_type == "Transpose":
        order = [each.ints for each in node.attribute if each.name == "perm"]
        turned = list(order[0]) if order else list(range(len(axes)))[::-1]
        if sorted(turned) == list(range(len(axes))):
            return [axes[axis] for axis in turned]
    return None


def _size_in_metadata(dims: Sequence[int | str], model: ModelProto) -> dict[int, int]:
    """Of an image, whose height and width are the last two of four dimensions."""
    for entry in model.metadata_props:
        if entry.key == _IMAGE_SIZE and len(dims) == 4:
            try:
                size = json.loads(entry.value)
            except (ValueError, RecursionError):
                return {}
            if (
                isinstance(size, list)
                and len(size) == 2
                and all(type(each) is int for each in size)
            ):
                return {2 + axis: extent for axis, extent in enumerate(size) if extent > 0}
    return {}
