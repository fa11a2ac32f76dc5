# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element from those at its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_tflite.sketch import (
    BYTES,
    FLOATS,
    REAL,
    WIDE,
    Maker,
    Refused,
    Shape,
    Sketch,
    Value,
)


def _unary(kind: str, dtypes: tuple[str, ...], *, positive: bool = False, span: float = 0) -> Maker:
    def make(sketch: Sketch) -> None:
        dtype = sketch.among(dtypes)
        shape = sketch.shape()
        values = sketch.numbers(shape, dtype, span or 2.0)
        if positive and dtype == "float32":
            values = np.asarray(np.abs(values) + 0.05, np.float32)
        source = sketch.given(shape, dtype, values) if positive or span else sketch.value(dtypes)
        output = sketch.result(source.dtype)
        if kind in ("LOGISTIC", "SOFTMAX") and source.dtype in BYTES:
            output = sketch.fixed(source.dtype, 1 / 256, -128 if source.dtype == "int8" else 0)
        if kind == "TANH" and source.dtype in BYTES:
            output = sketch.fixed(source.dtype, 1 / 128, 0 if source.dtype == "int8" else 128)
        sketch.emit(kind, [source], [output])

    return make


def _binary(kind: str, options: str = "", dtypes: tuple[str, ...] = REAL) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value(dtypes, rank=range(7))
        shape = sketch.broadcast(first.shape) if sketch.flag() else first.shape
        same = kind in ("MAXIMUM", "MINIMUM")
        second = sketch.operand(shape, first, same_scale=same)
        pair = [first, second] if sketch.flag() else [second, first]
        if kind == "DIV":
            pair = [first, _away_from_zero(sketch, shape, first)]
        fields: dict[str, Any] = {}
        if options:
            fields["fusedActivationFunction"] = sketch.among([0, 0, 1, 2, 3])
        output = sketch.result(first.dtype, first if same else None)
        sketch.emit(kind, pair, [output], options, **fields)

    return make


def _away_from_zero(sketch: Sketch, shape: Shape, like: Value) -> Value:
    values = sketch.numbers(shape, like.dtype)
    if like.dtype == "float32":
        values = np.asarray(np.where(values < 0, values - 0.1, values + 0.1), np.float32)
    elif like.dtype == "int32":
        values = np.asarray(np.where(values == 0, 3, values), np.int32)
    second = sketch.constant(values)
    if like.dtype in BYTES:
        near = np.abs(values.astype(int) - second.zero_point) < 8
        if near.any():
            raise Refused("a divisor near zero")
    return second


def _comparison(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtypes = (*REAL, "int32", "bool") if kind in ("EQUAL", "NOT_EQUAL") else (*REAL, "int32")
        # Of floats that are computed, the order of a sum may decide.
        dtype = sketch.among(dtypes)
        shape = sketch.shape()
        first = sketch.given(shape, dtype)
        other = sketch.broadcast(shape) if sketch.flag() else shape
        second = sketch.operand(other, first, same_scale=True)
        sketch.emit(kind, [first, second], [sketch.result("bool")])

    return make


def _logical(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value(("bool",))
        inputs = [first]
        if kind != "LOGICAL_NOT":
            inputs.append(sketch.operand(sketch.broadcast(first.shape), first))
        sketch.emit(kind, inputs, [sketch.result("bool")])

    return make


def _select(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value((*REAL, "int32", "bool", "int16"))
        second = sketch.operand(
            sketch.broadcast(first.shape) if kind == "SELECT_V2" else first.shape,
            first,
            same_scale=True,
        )
        where = first.shape
        if kind == "SELECT_V2" and sketch.flag():
            where = sketch.broadcast(first.shape)
        elif kind == "SELECT" and sketch.chance(0.3):
            where = first.shape[:1]
        condition = sketch.given(where, "bool")
        pair = [first, second] if sketch.flag() else [second, first]
        options = {"SELECT": "SelectOptions", "SELECT_V2": "SelectV2Options"}[kind]
        sketch.emit(kind, [condition, *pair], [sketch.result(first.dtype, first)], options)

    return make


def _leaky(sketch: Sketch) -> None:
    source = sketch.value(WIDE)
    alpha = float(np.float32(sketch.random.uniform(-0.5, 1.5)))
    output = sketch.result(source.dtype)
    sketch.emit("LEAKY_RELU", [source], [output], "LeakyReluOptions", alpha=alpha)


def _prelu(sketch: Sketch) -> None:
    source = sketch.value(REAL, rank=range(1, 5))
    slope = sketch.constant(sketch.numbers(sketch.broadcast(source.shape), source.dtype, 1.0))
    sketch.emit("PRELU", [source, slope], [sketch.result(source.dtype)])


def _softmax(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source = sketch.value(REAL if kind == "SOFTMAX" else (*FLOATS, *BYTES), rank=range(1, 5))
        output = sketch.result("float32")
        if source.dtype in BYTES:
            low = -128 if source.dtype == "int8" else 0
            output = (
                sketch.fixed(source.dtype, 1 / 256, low)
                if kind == "SOFTMAX"
                else sketch.fixed(source.dtype, 16 / 256, low + 255)
            )
        if kind == "SOFTMAX":
            beta = sketch.among([1.0, 1.0, 0.5, 2.5])
            sketch.emit(kind, [source], [output], "SoftmaxOptions", beta=beta)
        else:
            sketch.emit(kind, [source], [output], "LogSoftmaxOptions")

    return make


def _cast(sketch: Sketch) -> None:
    source = sketch.value(("float32", "int32", "bool", "int64", "uint8", "float16"))
    target = sketch.among(["float32", "int32", "bool", "int64", "float16"])
    scale = source.scale
    if scale:
        raise Refused("quantised numbers are not cast")
    sketch.emit("CAST", [source], [sketch.result(target)], "CastOptions")


def _quantize(sketch: Sketch) -> None:
    source = sketch.value(WIDE)
    sketch.emit("QUANTIZE", [source], [sketch.result(sketch.among([*BYTES, "int16"]))])


def _dequantize(sketch: Sketch) -> None:
    source = sketch.value((*BYTES, "int16", "float16"))
    if source.dtype == "float16" and sketch.flag():
        source = sketch.constant(sketch.numbers(source.shape, "float16"))
    sketch.emit("DEQUANTIZE", [source], [sketch.result("float32")])


def _pow(sketch: Sketch) -> None:
    shape = sketch.shape()
    base = sketch.given(
        shape, "float32", np.abs(sketch.numbers(shape, "float32")) + np.float32(0.1)
    )
    exponent = sketch.operand(sketch.broadcast(shape), base)
    sketch.emit("POW", [base, exponent], [sketch.result("float32")], "PowOptions")


MAKERS: dict[str, Maker] = {
    **{
        kind: _unary(kind, dtypes)
        for kind, dtypes in (
            ("ABS", (*FLOATS, "int32", "int8", "int16")),
            ("ELU", (*FLOATS, "int8")),
            ("EXP", (*FLOATS, "int8", "int16")),
            ("HARD_SWISH", REAL),
            ("LOGISTIC", WIDE),
            ("NEG", (*FLOATS, "int32", "int64")),
            ("RELU", WIDE),
            ("RELU6", REAL),
            ("RELU_N1_TO_1", REAL),
            ("SIN", FLOATS),
            ("SQUARE", FLOATS),
            ("TANH", WIDE),
            ("ZEROS_LIKE", (*FLOATS, "int32", "int64")),
            ("GELU", (*FLOATS, "int8", "uint8")),
            ("COS", FLOATS),
            ("CEIL", FLOATS),
            ("ROUND", FLOATS),
            ("SIGN", FLOATS),
        )
    },
    **{
        kind: _unary(kind, dtypes, positive=True)
        for kind, dtypes in (
            ("LOG", FLOATS),
            ("RSQRT", (*FLOATS, "int8")),
            ("SQRT", (*FLOATS, "int8")),
        )
    },
    "FLOOR": _unary("FLOOR", FLOATS, span=4.0),
    "ADD": _binary("ADD", "AddOptions", (*WIDE, "int32", "int64")),
    "SUB": _binary("SUB", "SubOptions", (*WIDE, "int32", "int64")),
    "MUL": _binary("MUL", "MulOptions", (*WIDE, "int32", "int64")),
    "DIV": _binary("DIV", "DivOptions", ("float32", "int32", "uint8")),
    "MAXIMUM": _binary("MAXIMUM", "", (*WIDE, "int32")),
    "MINIMUM": _binary("MINIMUM", "", (*WIDE, "int32")),
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "", ("float32", "int32", "int8")),
    "FLOOR_DIV": _binary("FLOOR_DIV", "", ("float32",)),
    "POW": _pow,
    **{
        kind: _comparison(kind)
        for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    },
    **{kind: _logical(kind) for kind in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")},
    "SELECT": _select("SELECT"),
    "SELECT_V2": _select("SELECT_V2"),
    "LEAKY_RELU": _leaky,
    "PRELU": _prelu,
    "SOFTMAX": _softmax("SOFTMAX"),
    "LOG_SOFTMAX": _softmax("LOG_SOFTMAX"),
    "CAST": _cast,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
