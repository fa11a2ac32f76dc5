# SPDX-License-Identifier: Apache-2.0
"""A model as a module of PyTorch, with the same weights: what somebody would write by hand for it.

The module is made from a graph of torch.fx, whose forward() is plain Python code: an operation is a
call of torch.nn.functional. Images are NCHW tensors that lie in memory as NHWC (channels_last),
from one convolution to the next; what NNAPI says of their axes is translated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, arguments, constants
from halyard.model.arguments import Activation, ExplicitPadding, Padding, Window, same_padding
from halyard.model.call import Call, calls
from halyard.proto import halyard_pb2 as pb

_TO_IMAGE, _FROM_IMAGE = (0, 3, 1, 2), (0, 2, 3, 1)
_IMAGE_RANK = 4
_FLOATS = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32,
    pb.OPERAND_TYPE_TENSOR_FLOAT16,
    pb.OPERAND_TYPE_FLOAT32,
    pb.OPERAND_TYPE_FLOAT16,
}
# Functions of one tensor, by name in torch.
_UNARY = {
    "ABS": "abs",
    "EXP": "exp",
    "FLOOR": "floor",
    "LOG": "log",
    "LOGISTIC": "sigmoid",
    "NEG": "neg",
    "RELU": "relu",
    "RSQRT": "rsqrt",
    "SIN": "sin",
    "SQRT": "sqrt",
    "TANH": "tanh",
}
_BINARY = {
    "ADD": "add",
    "DIV": "div",
    "MAXIMUM": "maximum",
    "MINIMUM": "minimum",
    "MUL": "mul",
    "POW": "pow",
    "SUB": "sub",
}
_REDUCTIONS = {"MEAN": "mean", "REDUCE_MAX": "amax", "REDUCE_MIN": "amin", "REDUCE_SUM": "sum"}


def module_of(torch: Any, model: pb.Model, dtype: Any) -> Any:
    """A torch.fx.GraphModule that computes floats in `dtype`: inputs and outputs are tensors as the
    model has them. NotExpressible for a model with 8-bit numbers, control flow, or an operation
    that is not here."""
    return _Module(torch, model, dtype).build()


@dataclass(frozen=True)
class _Value:
    """`is_image`: it is the NHWC tensor with its channels moved to the second place."""

    node: Any
    rank: int
    is_image: bool = False


class _Module:
    def __init__(self, torch: Any, model: pb.Model, dtype: Any) -> None:
        self.torch = torch
        self.functional = torch.nn.functional
        self.model = model
        self._dtype = dtype
        self._graph = torch.fx.Graph()
        self._root = torch.nn.Module()
        self._known = constants(model, model.main)
        self._values: dict[int, _Value] = {}
        self._readers: dict[int, int] = {}
        self._made_by: dict[int, Call] = {}

    def build(self) -> Any:
        main = self.model.main
        for operand in main.operands:
            if operand.scale or operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
                raise NotExpressible("PyTorch is given float models without control flow")
        try:
            operations = calls(self.model)
            for call in operations:
                for index in call.operation.inputs:
                    self._readers[index] = self._readers.get(index, 0) + 1
                self._made_by.update(dict.fromkeys(call.operation.outputs, call))
            for number, index in enumerate(main.input_indexes):
                self._take_input(number, index)
            for call in operations:
                if call.name not in _OPERATIONS:
                    raise NotExpressible(f"there is no {call.name} for PyTorch here")
                results = _OPERATIONS[call.name](self, call)
                self._values.update(zip(call.operation.outputs, results, strict=True))
        except ValueError as error:
            raise NotExpressible(str(error)) from error
        self._graph.output(tuple(map(self._output, main.output_indexes)))
        self._graph.eliminate_dead_code()
        return self.torch.fx.GraphModule(self._root, self._graph)

    def _take_input(self, number: int, index: int) -> None:
        operand = self.model.main.operands[index]
        node = self._graph.placeholder(f"input_{number}")
        if operand.type in _FLOATS:
            node = self._graph.call_method("to", (node, self._dtype))
        self._values[index] = _Value(node, len(operand.dimensions))

    def _output(self, index: int) -> Any:
        node = self.plain(index)
        if self.model.main.operands[index].type == pb.OPERAND_TYPE_TENSOR_FLOAT32:
            node = self._graph.call_method("to", (node, self.torch.float32))
        return self._graph.call_method("contiguous", (node,))

    # ---- what operations read -------------------------------------------------------------------

    def value(self, index: int) -> _Value:
        if index not in self._values:
            array = self.known(index)
            if array is None:
                raise NotExpressible("an operation reads what is left out, or a state")
            self._values[index] = _Value(self.parameter(array), array.ndim)
        return self._values[index]

    def known(self, index: int) -> Array | None:
        """Of a constant."""
        return self._known.get(index)

    def integers(self, call: Call, name: str) -> list[int]:
        array = self.known(call.index(name))
        if array is None:
            raise NotExpressible(f"the {name} of {call.name} is computed")
        return [int(value) for value in array.reshape(-1)]

    def array(self, call: Call, name: str) -> Array:
        """Of a weight."""
        array = self.known(call.index(name))
        if array is None:
            raise NotExpressible(f"the {name} of {call.name} is computed")
        return array

    def plain(self, index: int) -> Any:
        """A node in the model's own layout."""
        value = self.value(index)
        return self.method("permute", value.node, *_FROM_IMAGE) if value.is_image else value.node

    def image(self, index: int) -> Any:
        """A node with the channels in the second place."""
        value = self.value(index)
        return value.node if value.is_image else self.method("permute", value.node, *_TO_IMAGE)

    def parameter(self, array: Array, *, channels_last: bool = False) -> Any:
        """A tensor that the module holds."""
        tensor = self.torch.from_numpy(np.array(array))
        if tensor.is_floating_point():
            tensor = tensor.to(self._dtype)
        if channels_last:
            tensor = tensor.contiguous(memory_format=self.torch.channels_last)
        name = f"constant_{len(list(self._root.buffers()))}"
        self._root.register_buffer(name, tensor)
        return self._graph.get_attr(name)

    def is_read_by_one(self, index: int) -> bool:
        return self._readers.get(index) == 1 and index not in self.model.main.output_indexes

    def maker(self, index: int) -> Call | None:
        """The operation whose output it is."""
        return self._made_by.get(index)

    # ---- what they make -------------------------------------------------------------------------

    def function(self, function: Any, *inputs: Any, **more: Any) -> Any:
        return self._graph.call_function(function, inputs, more)

    def method(self, name: str, *inputs: Any, **more: Any) -> Any:
        return self._graph.call_method(name, inputs, more)

    def activated(self, node: Any, activation: Activation) -> Any:
        """In place: no other node has the node's tensor."""
        if activation is Activation.NONE:
            return node
        if activation is Activation.RELU:
            return self.function(self.functional.relu, node, inplace=True)
        low, high = (-1.0, 1.0) if activation is Activation.RELU1 else (0.0, 6.0)
        return self.function(self.functional.hardtanh, node, low, high, inplace=True)


_Operation = Callable[[_Module, Call], Sequence[_Value]]
_OPERATIONS: dict[str, _Operation] = {}


def _operation(*names: str) -> Callable[[_Operation], _Operation]:
    def register(function: _Operation) -> _Operation:
        _OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return register


# ---- windows ------------------------------------------------------------------------------------


@_operation("CONV_2D", "GROUPED_CONV_2D", "DEPTHWISE_CONV_2D")
def _convolution(module: _Module, call: Call) -> Sequence[_Value]:
    window, index = _window(call), call.index("input")
    weights = module.array(call, "filter")
    groups = call.integer("groups", 1)
    if call.name == "DEPTHWISE_CONV_2D":
        # [1, height, width, channels] to a filter of one channel for each.
        filters, groups = weights.transpose(3, 0, 1, 2), weights.shape[3] // window.multiplier
    else:
        filters = weights.transpose(0, 3, 1, 2)
    source, added = _padded_by(module, index) if window.padding is not Padding.SAME else (index, 0)
    pads = _pads(call, source, window, weights.shape[1:3], added)
    node, padding = _padded(module, module.image(source), pads, 0.0)
    node = module.function(
        module.functional.conv2d,
        node,
        module.parameter(filters, channels_last=True),
        module.parameter(module.array(call, "bias")),
        stride=(window.stride_h, window.stride_w),
        padding=padding,
        dilation=(window.dilation_h, window.dilation_w),
        groups=groups,
    )
    return [_Value(module.activated(node, window.activation), _IMAGE_RANK, is_image=True)]


@_operation("AVERAGE_POOL_2D", "MAX_POOL_2D")
def _pooling(module: _Module, call: Call) -> Sequence[_Value]:
    window, source = _window(call), call.index("input")
    extents, strides = (window.filter_h, window.filter_w), (window.stride_h, window.stride_w)
    added = 0
    is_largest = call.name == "MAX_POOL_2D"
    if is_largest and window.padding is Padding.VALID:
        source, added = _padded_by(module, source, without_negatives=True)
    pads = _pads(call, source, window, extents, added)
    if is_largest:
        node, padding = _padded(module, module.image(source), pads, float("-inf"))
        node = module.function(module.functional.max_pool2d, node, extents, strides, padding)
    else:
        (top, bottom), (left, right) = pads
        if (top, left) != (bottom, right):
            raise NotExpressible("PyTorch pads averages alike on both sides")
        node = module.function(
            module.functional.avg_pool2d,
            module.image(source),
            extents,
            strides,
            (top, left),
            count_include_pad=False,
        )
    return [_Value(module.activated(node, window.activation), _IMAGE_RANK, is_image=True)]


_Pads = tuple[tuple[int, int], tuple[int, int]]


def _window(call: Call) -> Window:
    window = arguments.window(call)
    if window.nchw:
        raise NotExpressible("images are NHWC here")
    return window


def _pads(call: Call, source: int, window: Window, extents: Sequence[int], added: int) -> _Pads:
    """Above and below, left and right; `added`: those of a PAD that is left away."""
    if isinstance(window.padding, ExplicitPadding):
        above, beside = window.padding.vertical, window.padding.horizontal
    elif window.padding is Padding.VALID:
        above, beside = (0, 0), (0, 0)
    else:
        _, height, width, _ = call.model.main.operands[source].dimensions
        reach_h = (extents[0] - 1) * window.dilation_h + 1
        reach_w = (extents[1] - 1) * window.dilation_w + 1
        above = same_padding(height, reach_h, window.stride_h)
        beside = same_padding(width, reach_w, window.stride_w)
    return (above[0] + added, above[1] + added), (beside[0] + added, beside[1] + added)


def _padded(module: _Module, node: Any, pads: _Pads, fill: float) -> tuple[Any, tuple[int, int]]:
    """The padding that is left to the operation, which does so alike on both sides."""
    (top, bottom), (left, right) = pads
    if top == bottom and left == right:
        return node, (top, left)
    padded = module.function(module.functional.pad, node, (left, right, top, bottom), value=fill)
    return padded, (0, 0)


def _padded_by(module: _Module, index: int, *, without_negatives: bool = False) -> tuple[int, int]:
    """Where a PAD alike on all four sides, which no other operation reads, made the image: what it
    pads, and by how much, for the window to do. Else the image itself, and 0. `without_negatives`:
    only where zeros are as good as nothing, after a RELU."""
    call = module.maker(index)
    if call is None or call.name != "PAD" or not module.is_read_by_one(index):
        return index, 0
    pads = module.integers(call, "paddings")
    source = call.index("input")
    if len(pads) != 2 * _IMAGE_RANK or pads[:2] != [0, 0] or pads[6:] != [0, 0]:
        return index, 0
    if len(set(pads[2:6])) != 1:
        return index, 0
    if without_negatives and not _is_positive(module.maker(source)):
        return index, 0
    return source, pads[2]


def _is_positive(call: Call | None) -> bool:
    if call is None or not call.indexes("activation"):
        return False
    return arguments.activation(call) in (Activation.RELU, Activation.RELU6)


@_operation("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(module: _Module, call: Call) -> Sequence[_Value]:
    form = arguments.resize(call)
    image, size = module.image(call.index("input")), (form.height, form.width)
    interpolate = module.functional.interpolate
    if call.name == "RESIZE_NEAREST_NEIGHBOR":
        if form.align_corners or form.half_pixel_centers:
            raise NotExpressible("PyTorch takes the nearest pixel in another way")
        node = module.function(interpolate, image, size, mode="nearest")
    elif call.shape("input")[1:3] == (1, 1):
        node = module.method("expand", image, -1, -1, *size)
    elif form.align_corners == form.half_pixel_centers:
        raise NotExpressible("PyTorch has no such bilinear resizing")
    else:
        node = module.function(
            interpolate, image, size, mode="bilinear", align_corners=form.align_corners
        )
    return [_Value(node, _IMAGE_RANK, is_image=True)]


# ---- products -----------------------------------------------------------------------------------


@_operation("FULLY_CONNECTED")
def _fully_connected(module: _Module, call: Call) -> Sequence[_Value]:
    weights = module.array(call, "weights")
    node, rank = module.plain(call.index("input")), len(call.shape("input"))
    if rank != 2 or call.shape("input")[1] != weights.shape[1]:
        node = module.method("reshape", node, -1, weights.shape[1])
    node = module.function(
        module.functional.linear,
        node,
        module.parameter(weights),
        module.parameter(module.array(call, "bias")),
    )
    return [_Value(module.activated(node, arguments.activation(call)), 2)]


@_operation("BATCH_MATMUL")
def _batch_matmul(module: _Module, call: Call) -> Sequence[_Value]:
    factors = []
    for name in "ab":
        node = module.plain(call.index(name))
        if call.flag(f"transpose_{name}"):
            node = module.method("transpose", node, -1, -2)
        factors.append(node)
    return [_Value(module.function(module.torch.matmul, *factors), len(call.output_shape()))]


# ---- element by element -------------------------------------------------------------------------


@_operation(*_UNARY, "RELU1", "RELU6", "HARD_SWISH", "ELU")
def _unary(module: _Module, call: Call) -> Sequence[_Value]:
    value, functional = module.value(call.index("input")), module.functional
    if call.name == "HARD_SWISH":
        node = module.function(functional.hardswish, value.node)
    elif call.name == "ELU":
        node = module.function(functional.elu, value.node, call.scalar("alpha"))
    elif call.name in ("RELU1", "RELU6"):
        low, high = (-1.0, 1.0) if call.name == "RELU1" else (0.0, 6.0)
        node = module.function(functional.hardtanh, value.node, low, high)
    else:
        node = module.function(getattr(module.torch, _UNARY[call.name]), value.node)
    return [_Value(node, value.rank, value.is_image)]


@_operation(*_BINARY)
def _binary(module: _Module, call: Call) -> Sequence[_Value]:
    """In the image's layout where one of the tensors is an image."""
    indexes = [call.index(name) for name in "ab"]
    given = [module.value(index) for index in indexes if module.known(index) is None]
    as_image = any(value.is_image for value in given) and all(
        value.rank == _IMAGE_RANK for value in given
    )
    node = module.function(
        getattr(module.torch, _BINARY[call.name]),
        *(_factor(module, call, index, as_image) for index in indexes),
    )
    if call.indexes("activation"):
        node = module.activated(node, arguments.activation(call))
    return [_Value(node, len(call.output_shape()), as_image)]


def _factor(module: _Module, call: Call, index: int, as_image: bool) -> Any:
    array = module.known(index)
    if array is None:
        return module.image(index) if as_image else module.plain(index)
    if array.size == 1 and call.name in ("ADD", "SUB", "MUL", "DIV"):
        return float(array.reshape(())) if array.dtype.kind == "f" else int(array.reshape(()))
    if not as_image:
        return module.value(index).node
    widened = array.reshape((1,) * (_IMAGE_RANK - array.ndim) + array.shape)
    return module.parameter(widened.transpose(_TO_IMAGE))


@_operation("SOFTMAX", "LOG_SOFTMAX")
def _softmax(module: _Module, call: Call) -> Sequence[_Value]:
    node, rank = module.plain(call.index("input")), len(call.shape("input"))
    if (beta := call.scalar("beta")) != 1.0:
        node = module.function(module.torch.mul, node, beta)
    functional = module.functional
    function = functional.softmax if call.name == "SOFTMAX" else functional.log_softmax
    return [_Value(module.function(function, node, dim=call.integer("axis", -1)), rank)]


@_operation(*_REDUCTIONS)
def _reduction(module: _Module, call: Call) -> Sequence[_Value]:
    value = module.value(call.index("input"))
    axes = sorted({axis % value.rank for axis in module.integers(call, "axes")})
    keep = call.flag("keep_dims")
    function = getattr(module.torch, _REDUCTIONS[call.name])
    if value.is_image and keep:
        moved = [_TO_IMAGE.index(axis) for axis in axes]
        node = module.function(function, value.node, dim=moved, keepdim=True)
        return [_Value(node, value.rank, is_image=True)]
    node = module.function(function, module.plain(call.index("input")), dim=axes, keepdim=keep)
    if len(axes) == value.rank and not keep:
        node = module.method("reshape", node, 1)
    return [_Value(node, len(call.output_shape()))]


# ---- what moves elements ------------------------------------------------------------------------


@_operation("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def _reshape(module: _Module, call: Call) -> Sequence[_Value]:
    shape = call.output_shape()
    if not all(shape):
        raise NotExpressible("a shape is known to a run alone")
    return [_Value(module.method("reshape", module.plain(call.index("input")), shape), len(shape))]


@_operation("TRANSPOSE")
def _transpose(module: _Module, call: Call) -> Sequence[_Value]:
    rank = len(call.shape("input"))
    order = (
        module.integers(call, "permutation")
        if call.has("permutation")
        else list(reversed(range(rank)))
    )
    return [_Value(module.method("permute", module.plain(call.index("input")), *order), rank)]


@_operation("CONCATENATION")
def _concatenation(module: _Module, call: Call) -> Sequence[_Value]:
    indexes, rank = call.indexes("inputs"), len(call.output_shape())
    axis = call.integer("axis") % rank
    as_image = all(module.value(index).is_image for index in indexes)
    nodes = [module.image(index) if as_image else module.plain(index) for index in indexes]
    axis = _TO_IMAGE.index(axis) if as_image else axis
    return [_Value(module.function(module.torch.cat, nodes, dim=axis), rank, as_image)]


@_operation("PAD", "PAD_V2")
def _pad(module: _Module, call: Call) -> Sequence[_Value]:
    value, pads = module.value(call.index("input")), module.integers(call, "paddings")
    fill = call.scalar("padding_value", 0.0)
    pairs = [tuple(pads[2 * axis : 2 * axis + 2]) for axis in range(value.rank)]
    if value.is_image:
        pairs = [pairs[axis] for axis in _TO_IMAGE]
    # The last axis first.
    flat = [extent for pair in reversed(pairs) for extent in pair]
    node = module.function(module.functional.pad, value.node, flat, value=fill)
    return [_Value(node, value.rank, value.is_image)]


@_operation("SLICE")
def _slice(module: _Module, call: Call) -> Sequence[_Value]:
    node, shape = module.plain(call.index("input")), call.output_shape()
    for axis, begin in enumerate(module.integers(call, "begin")):
        node = module.function(module.torch.narrow, node, axis, begin, shape[axis])
    return [_Value(node, len(shape))]
