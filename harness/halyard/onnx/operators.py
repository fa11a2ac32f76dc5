# SPDX-License-Identifier: Apache-2.0
"""From NNAPI operations to ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import ValueInfoProto

from halyard.errors import NotExpressible
from halyard.model import Array, arguments, constant, dtype_of, is_constant, label, type_name
from halyard.model.arguments import Activation, ExplicitPadding, Padding, Window
from halyard.model.call import Call
from halyard.onnx.graph import Attribute, Graph, int64, value_info
from halyard.proto import halyard_pb2 as pb

_TYPES = (pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_TENSOR_INT32)

# Where NHWC's dimensions are in NCHW, and the other way round.
_TO_NCHW = (0, 3, 1, 2)
_TO_NHWC = (0, 2, 3, 1)


def convert(model: pb.Model) -> Graph:
    """The main subgraph as an ONNX graph. NotExpressible says which operation is the trouble."""
    return _Converter(model).run()


_NO_EQUIVALENT: dict[int, str] = {
    pb.OPERATION_TYPE_DETECTION_POSTPROCESSING: "ONNX has no operator for it",
    pb.OPERATION_TYPE_LSTM: "is not written as ONNX, whose LSTM takes all steps at once",
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: (
        "is not written as ONNX, whose LSTM has no projection"
    ),
}


class _Converter:
    """Each value is there in the model's layout, in NCHW, or in both where both are needed."""

    def __init__(self, model: pb.Model) -> None:
        self._model = model
        self.graph = Graph(model.name)
        self._plain: dict[int, str] = {}
        self._nchw: dict[int, str] = {}

    def run(self) -> Graph:
        main = self._model.main
        for index in main.input_indexes:
            self.graph.inputs.append(self._info(index))
            self._plain[index] = self.name(index)
        for number, operation in enumerate(main.operations):
            try:
                handler = _HANDLERS.get(operation.type)
                if handler is None:
                    reason = _NO_EQUIVALENT.get(operation.type, "is not written as ONNX")
                    raise NotExpressible(reason)
                handler(self, Call(self._model, operation))
            except (NotExpressible, ValueError) as error:
                raise NotExpressible(f"{label(self._model, number)}: {error}") from error
        for index in main.output_indexes:
            info = self._info(index)
            self.emit("Identity", [self.plain(index)], info.name)
            self.graph.outputs.append(info)
        return self.graph

    # ---- values ---------------------------------------------------------------------------------

    def operand(self, index: int) -> pb.Operand:
        return self._model.main.operands[index]

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(self.operand(index).dimensions)

    def name(self, index: int) -> str:
        return f"{index}:{self.operand(index).name}"

    def _info(self, index: int) -> ValueInfoProto:
        operand = self.operand(index)
        if operand.type not in _TYPES:
            raise NotExpressible(f"{type_name(operand.type)} is not written as ONNX, only FLOAT32")
        return value_info(self.name(index), dtype_of(operand.type), self.shape(index))

    def values(self, index: int) -> Array:
        """Of a constant tensor. NotExpressible for what is none, or is of another type."""
        operand = self.operand(index)
        if not is_constant(operand):
            raise NotExpressible(f"operand {index} is no constant")
        self._info(index)
        return constant(self._model, operand)

    def plain(self, index: int) -> str:
        """The value as the model has it."""
        if index not in self._plain:
            if is_constant(self.operand(index)):
                self._plain[index] = self.constant(self.name(index), self.values(index))
            else:
                name = f"{self.name(index)}/nhwc"
                self.emit("Transpose", [self._nchw[index]], name, perm=_TO_NHWC)
                self._plain[index] = name
        return self._plain[index]

    def nchw(self, index: int) -> str:
        """An image's value with its channels first."""
        if index not in self._nchw:
            name = f"{self.name(index)}/nchw"
            if is_constant(self.operand(index)):
                self.constant(name, self.values(index).transpose(_TO_NCHW))
            else:
                self.emit("Transpose", [self._plain[index]], name, perm=_TO_NCHW)
            self._nchw[index] = name
        return self._nchw[index]

    def is_nchw(self, index: int) -> bool:
        """Whether the value is there with its channels first."""
        return index in self._nchw

    def constant(self, name: str, values: Array) -> str:
        self.graph.constants[name] = values
        return name

    # ---- operators ------------------------------------------------------------------------------

    def emit(
        self, operator: str, inputs: Sequence[str], output: str, **attributes: Attribute
    ) -> None:
        self.graph.emit(operator, inputs, output, **attributes)

    def define(
        self,
        index: int,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        nchw: bool = False,
        activation: Activation = Activation.NONE,
    ) -> None:
        """The operator whose output, after the activation, is the operand's value."""
        self._info(index)
        name = f"{self.name(index)}/value"
        raw = name if activation is Activation.NONE else f"{name}/raw"
        self.emit(operator, inputs, raw, **(attributes or {}))
        if activation is not Activation.NONE:
            self._activate(activation, raw, name)
        (self._nchw if nchw else self._plain)[index] = name

    def _activate(self, activation: Activation, source: str, output: str) -> None:
        if activation is Activation.RELU:
            self.emit("Relu", [source], output)
            return
        low, high = (-1, 1) if activation is Activation.RELU1 else (0, 6)
        limits = [
            self.constant(f"limit:{value}", np.asarray(value, "<f4")) for value in (low, high)
        ]
        self.emit("Clip", [source, *limits], output)

    def axes(self, index: int, axes: Sequence[int]) -> list[int]:
        """The value's axes where its channels come first."""
        rank = len(self.shape(index))
        return [_TO_NCHW.index(axis % rank) for axis in axes]

    def pads(
        self,
        padding: Padding | ExplicitPadding,
        extents: Sequence[int],
        window: Window,
        spans: tuple[int, int],
    ) -> tuple[int, int, int, int]:
        """Top, left, bottom, right."""
        if isinstance(padding, ExplicitPadding):
            return padding.top, padding.left, padding.bottom, padding.right
        if padding is Padding.VALID:
            return 0, 0, 0, 0
        strides = window.stride_h, window.stride_w
        (top, bottom), (left, right) = map(arguments.same_padding, extents, spans, strides)
        return top, left, bottom, right

    def window(self, call: Call) -> Window:
        window = arguments.window(call)
        if window.nchw:
            raise NotExpressible("NCHW is not converted")
        return window


# ---- one handler per operation, or per group of alike ones ---------------------------------------

_Handler = Callable[[_Converter, Call], None]


def _convolved(
    converter: _Converter, call: Call, window: Window, weights: Array, group: int
) -> None:
    """`weights` are OIHW."""
    data = call.index("input")
    height, width = weights.shape[2:]
    spans = (height - 1) * window.dilation_h + 1, (width - 1) * window.dilation_w + 1
    name = converter.constant(f"{converter.name(call.index('filter'))}/oihw", weights)
    extents = converter.shape(data)[1:3]
    converter.define(
        call.output(),
        "Conv",
        [converter.nchw(data), name, converter.plain(call.index("bias"))],
        {
            "kernel_shape": (height, width),
            "strides": (window.stride_h, window.stride_w),
            "dilations": (window.dilation_h, window.dilation_w),
            "pads": converter.pads(window.padding, extents, window, spans),
            "group": group,
        },
        nchw=True,
        activation=window.activation,
    )


def _convolution(converter: _Converter, call: Call) -> None:
    window = converter.window(call)
    weights = converter.values(call.index("filter")).transpose(0, 3, 1, 2)
    _convolved(converter, call, window, weights, 1)


def _depthwise(converter: _Converter, call: Call) -> None:
    window = converter.window(call)
    # From 1HWC, where C counts all of the outputs.
    weights = converter.values(call.index("filter")).transpose(3, 0, 1, 2)
    _convolved(converter, call, window, weights, call.shape("input")[3])


def _pool(operator: str) -> _Handler:
    def handler(converter: _Converter, call: Call) -> None:
        window = converter.window(call)
        data, output = call.index("input"), call.output()
        extents = converter.shape(data)[1:3]
        spans = window.filter_h, window.filter_w
        pads = converter.pads(window.padding, extents, window, spans)
        attributes: dict[str, Attribute] = {
            "kernel_shape": spans,
            "strides": (window.stride_h, window.stride_w),
            "pads": pads,
        }
        name = operator
        if operator == "AveragePool":
            attributes["count_include_pad"] = 0
            if spans == extents and not any(pads):
                name, attributes = "GlobalAveragePool", {}
        converter.define(
            output,
            name,
            [converter.nchw(data)],
            attributes,
            nchw=True,
            activation=window.activation,
        )

    return handler


def _fully_connected(converter: _Converter, call: Call) -> None:
    data, filters, bias = map(call.index, ("input", "weights", "bias"))
    weights = converter.values(filters)
    name = f"{converter.name(filters)}/gemm"
    units, columns = weights.shape
    source = converter.plain if not converter.is_nchw(data) else converter.nchw
    if converter.is_nchw(data):
        # Flattened with channels first, the columns' order is another one.
        _, height, width, channels = converter.shape(data)
        if height * width * channels != columns:
            raise NotExpressible("its rows are not whole images")
        weights = weights.reshape(units, height, width, channels).transpose(0, 3, 1, 2)
        weights = weights.reshape(units, columns)
    rows = f"{converter.name(call.output())}/rows"
    shape = converter.constant(f"{rows}/shape", int64((-1, columns)))
    converter.emit("Reshape", [source(data), shape], rows)
    converter.define(
        call.output(),
        "Gemm",
        [rows, converter.constant(name, weights), converter.plain(bias)],
        {"transB": 1},
        activation=arguments.activation(call),
    )


def _binary(operator: str) -> _Handler:
    def handler(converter: _Converter, call: Call) -> None:
        sides = [call.index("a"), call.index("b")]
        nchw = any(map(converter.is_nchw, sides)) and all(
            len(converter.shape(side)) == 4 or is_constant(converter.operand(side))
            for side in sides
        )
        names = [_operand(converter, side) for side in sides] if nchw else None
        converter.define(
            call.output(),
            operator,
            names or [converter.plain(side) for side in sides],
            nchw=nchw,
            activation=arguments.activation(call),
        )

    return handler


def _operand(converter: _Converter, index: int) -> str:
    """Of an operation on images whose channels come first, which stretches smaller constants."""
    shape = converter.shape(index)
    if len(shape) == 4:
        return converter.nchw(index)
    stretched = converter.values(index).reshape((1,) * (4 - len(shape)) + shape)
    return converter.constant(f"{converter.name(index)}/nchw", stretched.transpose(_TO_NCHW))


def _unary(operator: str, **attributes: Attribute) -> _Handler:
    """In the layout that is there."""

    def handler(converter: _Converter, call: Call) -> None:
        data, output = call.index("input"), call.output()
        nchw = converter.is_nchw(data)
        source = converter.nchw(data) if nchw else converter.plain(data)
        converter.define(output, operator, [source], attributes, nchw=nchw)

    return handler


def _clip(low: int, high: int) -> _Handler:
    activation = {(0, 6): Activation.RELU6, (-1, 1): Activation.RELU1}[low, high]

    def handler(converter: _Converter, call: Call) -> None:
        data, output = call.index("input"), call.output()
        nchw = converter.is_nchw(data)
        source = converter.nchw(data) if nchw else converter.plain(data)
        converter.define(output, "Identity", [source], nchw=nchw, activation=activation)

    return handler


def _rsqrt(converter: _Converter, call: Call) -> None:
    data, output = call.index("input"), call.output()
    nchw = converter.is_nchw(data)
    root = f"{converter.name(output)}/root"
    converter.emit("Sqrt", [converter.nchw(data) if nchw else converter.plain(data)], root)
    converter.define(output, "Reciprocal", [root], nchw=nchw)


def _softmax(converter: _Converter, call: Call) -> None:
    if call.scalar("beta") != 1.0:
        raise NotExpressible("ONNX's softmax has no beta")
    data, axis = converter.plain(call.index("input")), call.integer("axis", -1)
    converter.define(call.output(), "Softmax", [data], {"axis": axis})


def _reshape(converter: _Converter, call: Call) -> None:
    """Also SQUEEZE and EXPAND_DIMS, whose outputs' shapes say all."""
    data, output = call.index("input"), call.output()
    shape = converter.constant(f"{converter.name(output)}/shape", int64(converter.shape(output)))
    # A pixel's channels lie in the same order in both layouts.
    pixel = converter.is_nchw(data) and converter.shape(data)[1:3] == (1, 1)
    source = converter.nchw(data) if pixel else converter.plain(data)
    converter.define(output, "Reshape", [source, shape])


def _mean(converter: _Converter, call: Call) -> None:
    data, output = call.index("input"), call.output()
    axes = [int(axis) for axis in converter.values(call.index("axes")).reshape(-1)]
    keep = int(call.flag("keep_dims"))
    # With the dimensions that are left gone, there is no image any more.
    nchw = converter.is_nchw(data) and (keep == 1 or set(axes) == {1, 2})
    if nchw:
        axes = converter.axes(data, axes)
    source = converter.nchw(data) if nchw else converter.plain(data)
    converter.define(
        output,
        "ReduceMean",
        [source],
        {"axes": tuple(axes), "keepdims": keep},
        nchw=nchw and keep == 1,
    )


def _concatenation(converter: _Converter, call: Call) -> None:
    parts, axis = call.indexes("inputs"), call.integer("axis")
    nchw = all(map(converter.is_nchw, parts))
    if nchw:
        [axis] = converter.axes(parts[0], [axis])
    names = [converter.nchw(part) if nchw else converter.plain(part) for part in parts]
    converter.define(call.output(), "Concat", names, {"axis": axis}, nchw=nchw)


def _pad(converter: _Converter, call: Call) -> None:
    data = call.index("input")
    pairs = converter.values(call.index("paddings"))
    nchw = converter.is_nchw(data)
    if nchw:
        pairs = pairs[list(_TO_NCHW)]
    name = converter.constant(
        f"{converter.name(call.output())}/pads", int64([*pairs[:, 0], *pairs[:, 1]])
    )
    source = converter.nchw(data) if nchw else converter.plain(data)
    converter.define(call.output(), "Pad", [source, name], nchw=nchw)


def _transpose(converter: _Converter, call: Call) -> None:
    data, output = call.index("input"), call.output()
    rank = len(converter.shape(data))
    order = tuple(reversed(range(rank)))
    if call.has("permutation"):
        order = tuple(int(axis) for axis in converter.values(call.index("permutation")))
    converter.define(output, "Transpose", [converter.plain(data)], {"perm": order})


def _batch_matmul(converter: _Converter, call: Call) -> None:
    names = []
    for which in ("a", "b"):
        side = call.index(which)
        name = converter.plain(side)
        if call.flag(f"transpose_{which}"):
            *batch, rows, columns = range(len(converter.shape(side)))
            turned = f"{converter.name(call.output())}/turned_{side}"
            converter.emit("Transpose", [name], turned, perm=(*batch, columns, rows))
            name = turned
        names.append(name)
    converter.define(call.output(), "MatMul", names)


def _resize_bilinear(converter: _Converter, call: Call) -> None:
    data, output = call.index("input"), call.output()
    if call.flag("layout"):
        raise NotExpressible("NCHW is not converted")
    centres = "half_pixel" if call.flag("half_pixel_centers") else "asymmetric"
    mode = "align_corners" if call.flag("align_corners") else centres
    batch, height, width, channels = converter.shape(output)
    sizes = converter.constant(
        f"{converter.name(output)}/sizes", int64((batch, channels, height, width))
    )
    converter.define(
        output,
        "Resize",
        [converter.nchw(data), "", "", sizes],
        {"mode": "linear", "coordinate_transformation_mode": mode},
        nchw=True,
    )


_HANDLERS: dict[int, _Handler] = {
    pb.OPERATION_TYPE_ADD: _binary("Add"),
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _pool("AveragePool"),
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_DIV: _binary("Div"),
    pb.OPERATION_TYPE_EXPAND_DIMS: _reshape,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_HARD_SWISH: _unary("HardSwish"),
    pb.OPERATION_TYPE_LOGISTIC: _unary("Sigmoid"),
    pb.OPERATION_TYPE_MAX_POOL_2D: _pool("MaxPool"),
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MUL: _binary("Mul"),
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_RELU: _unary("Relu"),
    pb.OPERATION_TYPE_RELU1: _clip(-1, 1),
    pb.OPERATION_TYPE_RELU6: _clip(0, 6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_RESIZE_BILINEAR: _resize_bilinear,
    pb.OPERATION_TYPE_RSQRT: _rsqrt,
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
    pb.OPERATION_TYPE_SQRT: _unary("Sqrt"),
    pb.OPERATION_TYPE_SQUEEZE: _reshape,
    pb.OPERATION_TYPE_SUB: _binary("Sub"),
    pb.OPERATION_TYPE_TANH: _unary("Tanh"),
    pb.OPERATION_TYPE_TRANSPOSE: _transpose,
}
