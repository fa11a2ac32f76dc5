# SPDX-License-Identifier: Apache-2.0
"""Cases: a .tflite file of one operator, what it is given, and what is expected of the importer."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_litert.schema_py_generated import BuiltinOperator

from halyard.model import Array
from tests.harness.tflite_file import packed
from tests.random_tflite import silence
from tests.random_tflite.sketch import Sketch, Value

SEED = 20261130

FLOATS = ("float32",)
REAL = ("float32", "int8", "uint8")

# Why a delegate leaves what is cut to extents that a run computes.
OF_A_RUN = "only a run tells the shape of its output, and the runtime wants it before"

# Numbers of the schema.
SAME, VALID = 0, 1
NONE, RELU, RELU1, RELU6, TANH, SIGN_BIT = range(6)


class Draft(Sketch):
    """The graph of a case. Where `widened` is set, constants of 8 and 4 bits beside activations of
    FLOAT32 are FLOAT32 with the same values, as the engine has them."""

    def __init__(self, random: np.random.Generator, *, widened: bool = False) -> None:
        super().__init__(random)
        self.is_widened = widened

    def like(self, values: Any, dtype: str, other: Value) -> Value:
        """A constant of another's quantisation."""
        return self.constant(np.asarray(values, dtype), other if other.scale else None)

    def same(self, other: Value) -> Value:
        """A result of another's type and quantisation."""
        return self.result(other.dtype, other if other.scale else None)

    def hybrid(
        self, shape: Sequence[int], scales: Sequence[float], axis: int = 0, bits: int = 8
    ) -> int:
        """Weights of few bits, with a scale or one for each channel."""
        most = 2 ** (bits - 1) - 1
        steps = np.asarray(self.random.integers(-most, most + 1, shape), np.int8)
        if self.is_widened:
            places = [1] * len(shape)
            places[axis] = len(scales)
            wide = steps.astype(np.float32) * np.asarray(scales, np.float32).reshape(places)
            return self.graph.constant(wide)
        if bits == 8:
            return self.graph.constant(steps, "int8", list(scales), axis=axis)
        return self.narrow(steps, scales, axis)

    def narrow(self, steps: Array, scales: Sequence[float], axis: int = 0) -> int:
        """INT4, two elements to a byte, the first in the lower half."""
        flat = steps.reshape(-1).astype(np.uint8) & 0xF
        flat = np.concatenate([flat, np.zeros(flat.size % 2, np.uint8)])
        index = self.graph.constant(flat[::2] | flat[1::2] << 4, "uint8", list(scales), axis=axis)
        tensor = self.graph.tensors[index]
        tensor.shape, tensor.type = list(steps.shape), _INT4
        return index

    def half(self, values: Array) -> int:
        """FLOAT16 behind a DEQUANTIZE."""
        stored = self.graph.constant(values.astype(np.float16), "float16")
        wide = self.graph.tensor(values.shape)
        self.graph.add("DEQUANTIZE", [stored], [wide])
        return wide

    def variable(self, shape: Sequence[int], dtype: str = "float32", *quantization: Any) -> int:
        """A state: zeros at first."""
        return self.graph.tensor(shape, dtype, *quantization, variable=True)

    def custom(
        self, kind: str, inputs: Sequence[Value | int], outputs: Sequence[Value], options: bytes
    ) -> None:
        self.emit(kind, inputs, outputs)
        self.graph.operators[-1].customOptions = np.frombuffer(options, np.uint8)


_INT4 = 17
# Of operators that LiteRT has of no older version.
_VERSIONS = {"BROADCAST_TO": 2}
Make = Callable[[Draft], None]


@dataclass(frozen=True)
class Case:
    kind: str  # the operator
    label: str
    make: Make
    # Part of why the importer leaves it to the runtime; empty: it is taken.
    reason: str = ""
    # The same of a delegate alone: a file's reader takes it.
    delegate_reason: str = ""
    # Of the largest value of an output, or 1: what float results may be apart.
    tolerance: float = 1e-5
    # What hybrid weights decide, of the same.
    hybrid: float = 0.0
    steps: int = 1  # of quantised results
    runs: int = 1  # 0: LiteRT takes no such file
    version: int = 0  # of the operator, where one of its options came with it
    # Kernels that are right where LiteRT's reference ones are not.
    optimized: bool = False
    # The same with two outputs, which lie side by side in the one, where LiteRT computes it of
    # memory that nothing has written.
    halves: Make | None = None
    # Of operators that XNNPACK alone has. Outputs have to have shapes.
    by_xnnpack: bool = False
    # What it comes to, of operators that LiteRT has not. Outputs have to have shapes.
    computed: Callable[[list[Array]], list[Array]] | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.label}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class OperatorFile:
    """What became of a case: the file, and what LiteRT makes of its inputs."""

    content: bytes
    feeds: list[list[Array]]  # for each run
    expected: list[list[Array]]
    # LiteRT's results of hybrid weights, which it multiplies with rounded activations.
    rounded: list[list[Array]] | None


def draft(case: Case, *, widened: bool = False) -> Draft:
    found = Draft(np.random.default_rng([SEED, zlib.crc32(case.name.encode())]), widened=widened)
    case.make(found)
    return found


def _interpreter(content: bytes, case: Case) -> Interpreter:
    """The reference kernels, where the operator has one."""
    kinds = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
    if case.by_xnnpack:
        kinds = [OpResolverType.BUILTIN]
    for kernels in reversed(kinds) if case.optimized else kinds:
        try:
            found = Interpreter(
                model_content=content, experimental_op_resolver_type=kernels, num_threads=1
            )
            found.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            failure = error
        else:
            return found
    raise AssertionError(f"{case.name}: LiteRT takes no such file: {failure}")


def _computed(content: bytes, case: Case, feeds: list[list[Array]]) -> tuple[Any, Any]:
    interpreter = _interpreter(content, case)
    interpreter.reset_all_variables()
    results = []
    for feed in feeds:
        for detail, values in zip(interpreter.get_input_details(), feed, strict=True):
            interpreter.set_tensor(detail["index"], values)
        interpreter.invoke()
        results.append(
            [
                np.array(interpreter.get_tensor(each["index"]))
                for each in interpreter.get_output_details()
            ]
        )
    return interpreter, results


def _written(case: Case, of: Draft) -> bytes:
    model = copy.deepcopy(of.graph).model(*of.outputs)
    versions = _VERSIONS | ({case.kind: case.version} if case.version else {})
    for code in model.operatorCodes:
        for kind, version in versions.items():
            if code.builtinCode == getattr(BuiltinOperator, kind):
                code.version = version
    return packed(model)


def _other_feed(of: Draft) -> list[Array]:
    """Of a later run: other floats, the same of what else there is."""
    return [
        of.numbers(each.shape, str(each.dtype)) if each.dtype.kind == "f" else each
        for each in of.feeds
    ]


def build(case: Case) -> OperatorFile:
    """With the shapes that LiteRT finds."""
    found = draft(case)
    feeds = [found.feeds, *(_other_feed(found) for _ in range(1, case.runs))]
    if not case.runs:
        return OperatorFile(_written(case, found), [], [], None)
    if case.computed is not None:
        results = [case.computed(feed) for feed in feeds]
        return OperatorFile(_written(case, found), feeds, results, None)
    with silence():
        interpreter, expected = _computed(_written(case, found), case, feeds)
        for each in interpreter.get_tensor_details():
            if each["index"] < len(found.graph.tensors):
                tensor = found.graph.tensors[each["index"]]
                tensor.shape = [int(extent) for extent in each["shape"]]
        content = _written(case, found)
        if case.halves is not None:
            apart = replace(case, make=case.halves)
            _, parts = _computed(_written(apart, draft(apart)), apart, feeds)
            expected = [[np.concatenate(each, axis=-1)] for each in parts]
        if not case.hybrid:
            return OperatorFile(content, feeds, expected, None)
        wide = draft(case, widened=True)
        _, exact = _computed(_written(case, wide), case, feeds)
        return OperatorFile(content, feeds, exact, expected)
