# SPDX-License-Identifier: Apache-2.0
"""Operators with weights: convolutions, fully connected layers, products of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import (
    RELU,
    RELU1,
    RELU6,
    SAME,
    SIGN_BIT,
    TANH,
    VALID,
    Case,
    Draft,
)
from tests.random_tflite.sketch import Value

# Weights, by the activations that they are for.
_STORED = {
    "float32": ("float32",),
    "int8": ("int8",),
    "int8-channels": ("int8",),
    "uint8": ("uint8",),
    "half": ("float32",),
    "hybrid": ("float32",),
    "hybrid-channels": ("float32",),
    "int4": ("int8",),
    "hybrid-int4": ("float32",),
}
_NAMES = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
}


def _scales(of: Draft, count: int) -> list[float]:
    return [float(np.float32(each)) for each in of.random.uniform(0.005, 0.02, count)]


def weights(
    of: Draft,
    stored: str,
    data: Value,
    shape: Sequence[int],
    axis: int,
    bias: str = "constant",
) -> tuple[list[int], Value]:
    """Filters with a bias ("none", "omitted"), and the output."""
    channels = shape[axis]
    count = channels if "channels" in stored or stored == "int4" else 1
    scales = _scales(of, count)
    if stored == "float32":
        filters = of.constant(of.numbers(tuple(shape), "float32")).index
    elif stored == "half":
        filters = of.half(of.numbers(tuple(shape), "float32"))
    elif stored.startswith("hybrid"):
        filters = of.hybrid(shape, scales, axis, 4 if stored.endswith("int4") else 8)
    elif stored == "uint8":
        quantised = of.constant(of.numbers(tuple(shape), "uint8"))
        filters, scales = quantised.index, [quantised.scale]
    elif stored == "int4":
        filters = of.narrow(np.asarray(of.random.integers(-7, 8, shape), np.int8), scales, axis)
    else:
        steps = np.asarray(of.random.integers(-127, 128, shape), np.int8)
        filters = of.graph.constant(steps, "int8", scales, axis=axis)
    depth = int(np.prod(shape)) // channels
    if data.dtype == "float32":
        output = of.result("float32")
        added = of.constant(of.numbers((channels,), "float32")).index
    else:
        factors = [float(np.float32(data.scale) * np.float32(each)) for each in scales]
        most = 7 if stored == "int4" else 100
        output = of.result(data.dtype, span=float(np.mean(factors)) * 60 * most * depth**0.5)
        values = np.asarray(of.random.integers(-3000, 3000, channels), "int32")
        added = of.graph.constant(values, "int32", factors)
    given = {"constant": [filters, added], "none": [filters], "omitted": [filters, -1]}
    return given[bias], output


def _convolution(
    of: Draft,
    kind: str,
    stored: str,
    shape: Sequence[int] = (1, 6, 7, 4),
    size: tuple[int, int] = (3, 2),
    outputs: int = 3,
    groups: int = 1,
    bias: str = "constant",
    dtype: str = "",
    **fields: Any,
) -> None:
    data = of.given(tuple(shape), dtype or _STORED[stored][0])
    if kind == "DEPTHWISE_CONV_2D":
        fields.setdefault("depthMultiplier", outputs)
        filters, axis = (1, *size, shape[3] * outputs), 3
    else:
        filters, axis = (outputs, *size, shape[3] // groups), 0
    given, output = weights(of, stored, data, filters, axis, bias)
    fields = {"padding": SAME, "strideW": 1, "strideH": 1} | fields
    of.emit(kind, [data, *given], [output], _NAMES[kind], **fields)


def _convolutions(kind: str) -> Iterator[Case]:
    make = partial(partial, _convolution, kind=kind)
    is_deep = kind == "DEPTHWISE_CONV_2D"
    for stored in _STORED:
        if is_deep and stored in ("hybrid", "hybrid-int4"):
            continue  # LiteRT has a scale for each channel, of 8 bits
        hybrid = 0.03 if stored.startswith("hybrid") else 0.0
        for padding, name in ((SAME, "same"), (VALID, "valid")):
            yield Case(
                kind,
                f"{stored}-{name}",
                make(stored=stored, padding=padding, strideW=2, strideH=1),
                hybrid=hybrid,
            )
        if is_deep:
            yield Case(kind, f"{stored}-no-bias", make(stored=stored, bias="none"), hybrid=hybrid)
    for stored in ("float32", "int8", "int8-channels", "uint8"):
        for name, fused in (("relu", RELU), ("relu1", RELU1), ("relu6", RELU6)):
            yield Case(kind, f"{stored}-{name}", make(stored=stored, fusedActivationFunction=fused))
        for wide, high in ((1, 1), (1, 3), (3, 2)):
            yield Case(
                kind,
                f"{stored}-strides-{wide}-{high}",
                make(stored=stored, padding=VALID, strideW=wide, strideH=high),
            )
        for wide, high in ((2, 1), (1, 2), (2, 3)):
            for padding in (SAME, VALID):
                yield Case(
                    kind,
                    f"{stored}-dilations-{wide}-{high}-{'same' if padding == SAME else 'valid'}",
                    make(
                        stored=stored,
                        shape=(1, 9, 8, 2),
                        padding=padding,
                        dilationWFactor=wide,
                        dilationHFactor=high,
                    ),
                )
        yield Case(kind, f"{stored}-batch", make(stored=stored, shape=(3, 4, 5, 2)))
        yield Case(kind, f"{stored}-one-pixel", make(stored=stored, size=(1, 1)))
    for stored in ("float32", "int8"):
        for fused, name in ((TANH, "TANH"), (SIGN_BIT, "SIGN_BIT")):
            yield Case(
                kind,
                f"{stored}-{name.lower()}",
                make(stored=stored, fusedActivationFunction=fused),
                reason=f"its fused activation is {name}, which TFLite's kernels leave away",
            )


def _conv2d() -> Iterator[Case]:
    yield from _convolutions("CONV_2D")
    make = partial(partial, _convolution, kind="CONV_2D")
    for stored in ("float32", "int8-channels"):
        yield Case(
            "CONV_2D",
            f"{stored}-groups",
            make(stored=stored, groups=2, outputs=4),
            # The reference kernels of floats have no groups.
            optimized=True,
        )
    yield Case("CONV_2D", "int8-bias-type", make(stored="int8", quantizedBiasType=2), version=8)
    yield Case("CONV_2D", "int8-bias-of-64-bits", _wide_bias, reason="QUANT16_SYMM")


def _wide_bias(of: Draft) -> None:
    """Of INT16 activations alone, which the engine has no convolution of."""
    data = of.given((1, 4, 4, 2), "int16")
    filters = of.graph.constant(of.numbers((2, 1, 1, 2), "int8"), "int8", [0.01, 0.02])
    output = of.result("int16", span=100.0)
    factors = [data.scale * 0.01, data.scale * 0.02]
    bias = of.graph.constant([5, 7], "int64", factors)
    of.emit("CONV_2D", [data, filters, bias], [output], "Conv2DOptions", strideW=1, strideH=1)


def _depthwise() -> Iterator[Case]:
    yield from _convolutions("DEPTHWISE_CONV_2D")
    make = partial(partial, _convolution, kind="DEPTHWISE_CONV_2D")
    for stored in ("float32", "int8", "int8-channels", "uint8"):
        yield Case("DEPTHWISE_CONV_2D", f"{stored}-multiplier-1", make(stored=stored, outputs=1))
        yield Case(
            "DEPTHWISE_CONV_2D",
            f"{stored}-one-channel",
            make(stored=stored, shape=(1, 5, 5, 1), outputs=4),
        )
    # Runtimes go by the shapes.
    yield Case(
        "DEPTHWISE_CONV_2D", "float32-no-multiplier", make(stored="float32", depthMultiplier=0)
    )


def _transposed(
    of: Draft,
    stored: str,
    size: tuple[int, int] = (3, 2),
    strides: tuple[int, int] = (2, 1),
    shorter: int = 0,
    bias: str = "constant",
    shape: Sequence[int] = (1, 3, 4, 2),
    target: str = "int32",
    **fields: Any,
) -> None:
    data = of.given(tuple(shape), _STORED[stored][0])
    filters = (3, *size, shape[3])
    [kernel, *added], output = weights(of, stored, data, filters, 0, bias)
    extents = [
        extent * stride - shorter
        if fields.get("padding", SAME) == SAME
        else (extent - 1) * stride + span
        for extent, span, stride in zip(shape[1:3], size, strides, strict=True)
    ]
    wanted = np.asarray([shape[0], *extents, 3], "int32")
    index = of.integers(wanted) if target == "int32" else of.given((4,), "int32", wanted).index
    of.emit(
        "TRANSPOSE_CONV",
        [index, kernel, data, *added],
        [output],
        "TransposeConvOptions",
        strideH=strides[0],
        strideW=strides[1],
        **fields,
    )


def _transpose_conv() -> Iterator[Case]:
    make = partial(partial, _transposed)
    for stored in ("float32", "int8", "int8-channels", "uint8", "half"):
        for padding, name in ((SAME, "same"), (VALID, "valid")):
            for strides in ((1, 1), (2, 1), (1, 2), (3, 2)):
                yield Case(
                    "TRANSPOSE_CONV",
                    f"{stored}-{name}-{strides[0]}-{strides[1]}",
                    make(stored=stored, padding=padding, strides=strides),
                )
        yield Case("TRANSPOSE_CONV", f"{stored}-no-bias", make(stored=stored, bias="none"))
        yield Case("TRANSPOSE_CONV", f"{stored}-batch", make(stored=stored, shape=(2, 2, 3, 4)))
    for stored in ("float32", "int8"):
        yield Case(
            "TRANSPOSE_CONV",
            f"{stored}-shorter",
            make(stored=stored, strides=(2, 2), shorter=1),
        )
        for fused, name in ((RELU, "relu"), (RELU1, "relu1"), (RELU6, "relu6")):
            yield Case(
                "TRANSPOSE_CONV",
                f"{stored}-{name}",
                make(stored=stored, fusedActivationFunction=fused),
            )
    yield Case(
        "TRANSPOSE_CONV", "int8-bias-type", make(stored="int8", quantizedBiasType=2), version=5
    )
    yield Case(
        "TRANSPOSE_CONV",
        "float32-sign-bit",
        make(stored="float32", fusedActivationFunction=SIGN_BIT),
        reason="its fused activation is SIGN_BIT",
    )


def _layer(
    of: Draft,
    stored: str,
    shape: Sequence[int] = (3, 8),
    units: int = 5,
    depth: int = 8,
    bias: str = "constant",
    computed: bool = False,
    **fields: Any,
) -> None:
    data = of.given(tuple(shape), _STORED[stored][0])
    given, output = weights(of, stored, data, (units, depth), 0, bias)
    if computed:
        given[0] = of.given((units, depth), "float32").index
    of.emit("FULLY_CONNECTED", [data, *given], [output], "FullyConnectedOptions", **fields)


def _fully_connected() -> Iterator[Case]:
    kind = "FULLY_CONNECTED"
    make = partial(partial, _layer)
    for stored in _STORED:
        hybrid = 0.03 if stored.startswith("hybrid") else 0.0
        for bias in ("constant", "none", "omitted"):
            yield Case(kind, f"{stored}-bias-{bias}", make(stored=stored, bias=bias), hybrid=hybrid)
        yield Case(
            kind,
            f"{stored}-keeps-dims",
            make(stored=stored, shape=(2, 3, 8), keepNumDims=True),
            hybrid=hybrid,
        )
        yield Case(
            kind, f"{stored}-of-three-dims", make(stored=stored, shape=(2, 3, 8)), hybrid=hybrid
        )
    for stored in ("float32", "int8", "int8-channels", "uint8"):
        for fused, name in ((RELU, "relu"), (RELU1, "relu1"), (RELU6, "relu6")):
            yield Case(kind, f"{stored}-{name}", make(stored=stored, fusedActivationFunction=fused))
            yield Case(
                kind,
                f"{stored}-{name}-keeps-dims",
                make(
                    stored=stored,
                    shape=(2, 2, 2, 8),
                    keepNumDims=True,
                    fusedActivationFunction=fused,
                ),
            )
        yield Case(kind, f"{stored}-one-row", make(stored=stored, shape=(8,)))
        yield Case(kind, f"{stored}-of-several-axes", make(stored=stored, shape=(3, 2, 4)))
        yield Case(kind, f"{stored}-one-unit", make(stored=stored, units=1))
    yield Case(
        kind,
        "hybrid-asymmetric",
        make(stored="hybrid", asymmetricQuantizeInputs=True),
        hybrid=0.03,
    )
    yield Case(kind, "float32-computed-weights", make(stored="float32", computed=True))
    yield Case(kind, "int8-bias-type", make(stored="int8", quantizedBiasType=2), version=11)
    yield Case(
        kind,
        "uint8-shuffled",
        _shuffled,
        reason="its weights are in the format 1",
    )


def _shuffled(of: Draft) -> None:
    """Weights in the order of an old ARM kernel, with 16 bits as the result."""
    data = of.given((1, 16), "uint8", like=Value(0, (), "uint8", 0.1, 128))
    kernel = of.graph.constant(of.numbers((4, 16), "int8"), "uint8", 0.01, 128)
    bias = of.graph.constant(np.arange(4), "int32", 0.001)
    output = of.graph.tensor((), "int16", 0.01)
    spare = of.graph.tensor((1, 16), "uint8", 0.1, 128)
    of.graph.add(
        "FULLY_CONNECTED",
        [data.index, kernel, bias],
        [output, spare],
        "FullyConnectedOptions",
        weightsFormat=1,
    )
    of.outputs = [output]


def _product(
    of: Draft,
    dtype: str,
    left: Sequence[int],
    right: Sequence[int],
    second: str = "given",
    **fields: Any,
) -> None:
    a = of.given(tuple(left), dtype)
    b: Value | int
    if second == "hybrid":
        b = of.hybrid(right, _scales(of, 1))
    elif second == "constant":
        b = of.constant(of.numbers(tuple(right), dtype))
    else:
        b = of.given(tuple(right), dtype)
    output = of.result(dtype, span=20.0)
    of.emit("BATCH_MATMUL", [a, b], [output], "BatchMatMulOptions", **fields)


def _batch_matmul() -> Iterator[Case]:
    kind = "BATCH_MATMUL"
    for dtype in ("float32", "int8"):
        for second in ("given", "constant"):
            for adj_x in (False, True):
                for adj_y in (False, True):
                    yield Case(
                        kind,
                        f"{dtype}-{second}-adj{'-x' * adj_x}{'-y' * adj_y}",
                        partial(
                            _product,
                            dtype=dtype,
                            left=(2, 4, 3) if adj_x else (2, 3, 4),
                            right=(2, 5, 4) if adj_y else (2, 4, 5),
                            second=second,
                            adjX=adj_x,
                            adjY=adj_y,
                        ),
                    )
        for left, right in (
            ((3, 4), (4, 5)),
            ((2, 3, 4), (4, 5)),
            ((3, 4), (2, 4, 5)),
            ((2, 1, 3, 4), (3, 4, 2)),
            ((1, 3, 4), (2, 4, 5)),
            ((2, 2, 3, 4), (2, 2, 4, 1)),
        ):
            shapes = "x".join(map(str, left)) + "-" + "x".join(map(str, right))
            yield Case(
                kind, f"{dtype}-{shapes}", partial(_product, dtype=dtype, left=left, right=right)
            )
    for asymmetric in (False, True):
        yield Case(
            kind,
            f"hybrid{'-asymmetric' * asymmetric}",
            partial(
                _product,
                dtype="float32",
                left=(2, 3, 4),
                right=(4, 5),
                second="hybrid",
                asymmetricQuantizeInputs=asymmetric,
            ),
            hybrid=0.03,
        )
    yield Case(
        kind,
        "int16",
        partial(_product, dtype="int16", left=(2, 3, 4), right=(2, 4, 5)),
        reason="QUANT16_SYMM",
    )


def cases() -> Iterator[Case]:
    yield from _conv2d()
    yield from _depthwise()
    yield from _transpose_conv()
    yield from _fully_connected()
    yield from _batch_matmul()
