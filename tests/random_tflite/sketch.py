# SPDX-License-Identifier: Apache-2.0
"""Random .tflite graphs in the making. LiteRT says which shapes come out: nothing here knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from halyard.model import Array
from tests.harness.tflite_file import GraphFile

FLOATS = ("float32",)
BYTES = ("int8", "uint8")
REAL = (*FLOATS, *BYTES)
WIDE = (*REAL, "int16")
MOVED = (*REAL, "int32", "bool", "int16", "int64")
Shape = tuple[int, ...]

_MOST_ELEMENTS = 360


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: computed, given or constant."""

    index: int
    shape: Shape
    dtype: str
    scale: float = 0.0
    zero_point: int = 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype == "float32"


class Sketch:
    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.graph = GraphFile()
        self.feeds: list[Array] = []
        self.kinds: list[str] = []
        self.outputs: list[int] = []
        # The outputs of the last operator: the next one may take it.
        self.last: list[Value] = []

    # ---- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def among(self, given: Sequence[Any]) -> Any:
        return given[int(self.random.integers(len(given)))]

    def integer(self, low: int, high: int) -> int:
        """Both ends included."""
        return int(self.random.integers(low, high + 1))

    def flag(self) -> bool:
        return self.chance(0.5)

    def shape(self, rank: int | None = None, most: int = 5) -> Shape:
        rank = self.integer(0, 6) if rank is None else rank
        while True:
            found = tuple(self.integer(1, most) for _ in range(rank))
            if np.prod(found, dtype=int) <= _MOST_ELEMENTS:
                return found

    def broadcast(self, shape: Shape) -> Shape:
        """One that goes into `shape`: shorter, with ones, or the same."""
        first = self.integer(0, len(shape)) if self.chance(0.4) else 0
        return tuple(1 if self.chance(0.3) else extent for extent in shape[first:])

    def axis(self, rank: int) -> int:
        return self.integer(-rank, rank - 1) if rank else 0

    # ---- tensors --------------------------------------------------------------------------------

    def quantization(self, dtype: str) -> tuple[float, int]:
        scale = float(np.float32(np.exp(self.random.uniform(np.log(0.004), np.log(0.1)))))
        if dtype == "int8":
            return scale, self.integer(-128, 127)
        return (scale, self.integer(0, 255)) if dtype == "uint8" else (scale, 0)

    def numbers(self, shape: Shape, dtype: str, span: float = 2.0) -> Array:
        if dtype in ("float32", "float16"):
            return np.asarray(self.random.uniform(-span, span, shape)).astype(dtype)
        if dtype == "bool":
            return np.asarray(self.random.integers(0, 2, shape)).astype(bool)
        if dtype in ("int32", "int64"):
            return np.asarray(self.random.integers(-9, 10, shape)).astype(dtype)
        limits = np.iinfo(dtype)
        return np.asarray(self.random.integers(limits.min, limits.max + 1, shape)).astype(dtype)

    def given(
        self, shape: Shape, dtype: str, values: Array | None = None, like: Value | None = None
    ) -> Value:
        """An input of the graph."""
        scale, zero = (like.scale, like.zero_point) if like else self._quantized(dtype)
        index = self.graph.input(shape, dtype, *((scale, zero) if scale else ()))
        self.feeds.append(self.numbers(shape, dtype) if values is None else values)
        return Value(index, shape, dtype, scale, zero)

    def constant(self, values: Array, like: Value | None = None) -> Value:
        dtype = str(values.dtype)
        scale, zero = (like.scale, like.zero_point) if like else self._quantized(dtype)
        index = self.graph.constant(values, dtype, *((scale, zero) if scale else ()))
        return Value(index, values.shape, dtype, scale, zero)

    def integers(self, values: Any, dtype: str = "int32") -> int:
        return self.constant(np.asarray(values, dtype)).index

    def _quantized(self, dtype: str) -> tuple[float, int]:
        return self.quantization(dtype) if dtype in (*BYTES, "int16") else (0.0, 0)

    def value(
        self,
        dtypes: Sequence[str] = FLOATS,
        rank: int | Sequence[int] | None = None,
        shape: Shape | None = None,
        values: Array | None = None,
    ) -> Value:
        """An output of the last operator, where it fits; else an input."""
        ranks = (rank,) if isinstance(rank, int) else rank
        fitting = [
            each
            for each in self.last
            if each.dtype in dtypes
            and 0 not in each.shape
            and (ranks is None or each.rank in ranks)
            and (shape is None or each.shape == shape)
        ]
        if fitting and values is None and self.chance(0.9):
            return fitting[self.integer(0, len(fitting) - 1)]
        dtype = self.among(dtypes)
        if shape is None:
            shape = self.shape(None if ranks is None else self.among(ranks))
        return self.given(shape, dtype, values)

    def operand(self, shape: Shape, like: Value, *, same_scale: bool = False) -> Value:
        """Another of the same type: an input, or a constant."""
        values = self.numbers(shape, like.dtype)
        share = like if same_scale else None
        if self.chance(0.5):
            return self.given(shape, like.dtype, values, share)
        return self.constant(values, share)

    # ---- operators ------------------------------------------------------------------------------

    def result(self, dtype: str, like: Value | None = None, span: float = 0.0) -> Value:
        """`span`: the largest value that it should hold, if it is quantised."""
        scale, zero = (like.scale, like.zero_point) if like else self._quantized(dtype)
        if span and scale:
            scale = float(np.float32(span / self.random.uniform(100, 300)))
        index = self.graph.tensor((), dtype, *((scale, zero) if scale else ()))
        return Value(index, (), dtype, scale, zero)

    def fixed(self, dtype: str, scale: float, zero_point: int) -> Value:
        """A result of the scale that the operator has always."""
        index = self.graph.tensor((), dtype, scale, zero_point)
        return Value(index, (), dtype, scale, zero_point)

    def emit(
        self,
        kind: str,
        inputs: Sequence[Value | int],
        outputs: Sequence[Value],
        options: str = "",
        **fields: Any,
    ) -> None:
        indexes = [each.index if isinstance(each, Value) else each for each in inputs]
        self.graph.add(kind, indexes, [each.index for each in outputs], options, **fields)
        self.kinds.append(kind)
        self.last = list(outputs)
        self.outputs = [each.index for each in outputs]


Maker = Callable[[Sketch], None]


@dataclass(frozen=True)
class RandomGraph:
    """A file that LiteRT takes, with inputs and what comes out: of its reference kernels, and of
    XNNPACK's."""

    kinds: tuple[str, ...]
    content: bytes
    inputs: list[Array]
    expected: list[Array]
    by_xnnpack: list[Array] | None


class Refused(Exception):
    """LiteRT takes no such graph."""


def interpreted(
    content: bytes, inputs: Sequence[Array], kernels: OpResolverType
) -> tuple[Interpreter, list[Array]]:
    try:
        interpreter = Interpreter(
            model_content=content, experimental_op_resolver_type=kernels, num_threads=1
        )
        interpreter.allocate_tensors()
        for detail, values in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], values)
        interpreter.reset_all_variables()
        interpreter.invoke()
        outputs = [
            np.array(interpreter.get_tensor(each["index"]))
            for each in interpreter.get_output_details()
        ]
    except (RuntimeError, ValueError) as error:
        raise Refused(str(error)) from error
    return interpreter, outputs
