# SPDX-License-Identifier: Apache-2.0
"""A random ONNX graph in the making: a node of the operator in question, what it reads, and at
times a node before and behind it, so that values come in any layout and from constants as well."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper, shape_inference

from halyard.model import Array

OLDEST, NEWEST = 6, 28
MAX_RANK = 6
# The highest rank of the model's inputs: NNAPI has no more.
INPUT_RANK = 4

KINDS: Mapping[str, int] = {
    "f4": TensorProto.FLOAT,
    "i4": TensorProto.INT32,
    "i8": TensorProto.INT64,
    "?": TensorProto.BOOL,
}

T = TypeVar("T")
Shape = tuple[int, ...]


# Of outputs whose 8-bit operations have one scale alone.
_SCALES = {"Sigmoid": (1 / 256, -128), "Softmax": (1 / 256, -128), "Tanh": (1 / 128, 0)}


@dataclass(frozen=True)
class RandomGraph:
    """Its outputs have types and no shapes, which are what a reference gives them."""

    name: str
    model: ModelProto
    inputs: Mapping[str, Array]
    steps: Mapping[str, float]  # of outputs that were quantised: one step of theirs
    # The shapes of operator set 6's operands where they are broadcast as numpy does.
    placed: Mapping[str, Shape]


@dataclass
class Sketch:
    operator: str
    random: np.random.Generator
    opset: int
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[object] = field(default_factory=list)
    placed: dict[str, Shape] = field(default_factory=dict)
    quantizes: bool = False
    _count: int = 0

    # ---- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def integer(self, low: int, high: int) -> int:
        """Both ends belong to it."""
        return int(self.random.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.integer(0, len(choices) - 1)]

    def shape(self, low: int = 0, high: int = MAX_RANK, extent: int = 4) -> Shape:
        """With dimensions of one among them, as many as leave few elements."""
        rank = self.integer(low, high)
        ones = 0.6 if rank > INPUT_RANK else 0.25
        return tuple(1 if self.chance(ones) else self.integer(1, extent) for _ in range(rank))

    def broadcast_with(self, shape: Shape) -> Shape:
        """Of another operand: dimensions are left away or one."""
        kept = shape[self.integer(0, len(shape)) :] if self.chance(0.5) else shape
        return tuple(1 if self.chance(0.3) else extent for extent in kept)

    def axis(self, rank: int, *, negative: bool = True) -> int:
        axis = self.integer(0, max(rank - 1, 0))
        return axis - rank if negative and rank and self.chance(0.4) else axis

    def axes(self, rank: int, low: int = 0, *, negative: bool = True) -> list[int]:
        count = self.integer(min(low, rank), rank)
        found = sorted(int(each) for each in self.random.choice(rank, count, replace=False))
        return [each - rank if negative and self.chance(0.3) else each for each in found]

    def numbers(self, shape: Sequence[int], kind: str = "f4") -> Array:
        if kind == "?":
            return np.asarray(self.random.random(shape) < 0.5)
        if kind != "f4":
            return np.asarray(self.random.integers(-6, 7, shape), kind)
        values = np.asarray(self.random.normal(0, 1.5, shape), "f4")
        # Whole numbers and halves, of which many are equal: for ties and for what rounds.
        return np.asarray(np.rint(values * 2) / 2, "f4") if self.chance(0.3) else values

    # ---- the graph ------------------------------------------------------------------------------

    def name(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"

    def constant(self, values: object, kind: str = "f4") -> str:
        name = self.name("constant")
        self.constants[name] = np.asarray(values, kind)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, "i8"), "i8")

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self.ops(kind, inputs, 1, **attributes)[0]

    def ops(self, kind: str, inputs: Sequence[str], count: int, **attributes: object) -> list[str]:
        names = [self.name(kind) for _ in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names

    def given(self, values: Array) -> str:
        """The values as an input of the model, which is reshaped where it has more dimensions."""
        name = self.name("input")
        if values.ndim <= INPUT_RANK:
            self.inputs[name] = values
            return name
        self.inputs[name] = values.reshape(-1)
        return self.op("Reshape", name, self.ints(*values.shape))

    def value(self, values: Array, *, constant: float = 0.0) -> str:
        """The values: a constant with that chance, an input, or what a node makes of one."""
        if self.chance(constant):
            return self.constant(values, values.dtype.str[1:] if values.dtype != bool else "?")
        if values.dtype != np.float32 or self.quantizes:
            return self._dequantized(self.given(values)) if self.quantizes else self.given(values)
        if values.ndim == INPUT_RANK and self.chance(0.4):
            # One that is there with its channels last.
            identity = np.eye(values.shape[1], dtype="f4")[:, :, None, None]
            return self.op("Conv", self.given(values), self.constant(identity))
        if self.chance(0.2):
            return self.op("Neg", self.given(-values))
        return self.given(values)

    # ---- 8 bits ---------------------------------------------------------------------------------

    def _dequantized(self, name: str) -> str:
        return self.requantized(name, *self.quantity)

    @property
    def quantity(self) -> tuple[float, int]:
        """Often the same one, which what moves bytes needs."""
        if self.chance(0.7):
            return float(np.float32(0.03)), 3
        return float(np.float32(self.pick((0.025, 0.04)))), self.pick((0, 3, -10))

    def requantized(self, name: str, scale: float, zero_point: int) -> str:
        parameters = self.constant(scale), self.constant(zero_point, "i1")
        whole = self.op("QuantizeLinear", name, *parameters)
        return self.op("DequantizeLinear", whole, *parameters)

    def finished(self, outputs: Sequence[str]) -> RandomGraph:
        steps: dict[str, float] = {}
        names = list(outputs)
        if self.quantizes:
            scale, zero_point = self.quantity
            if self.operator in _SCALES and self.chance(0.5):
                scale, zero_point = _SCALES[self.operator]
            names = [self.requantized(name, scale, zero_point) for name in names]
            steps = dict.fromkeys(names, scale)
        elif self.chance(0.35):
            names = [self._followed(name) for name in names]
        model = self._model(names)
        for end, element in zip(model.graph.output, self._elements(names), strict=True):
            end.type.tensor_type.elem_type = element
        return RandomGraph(self.operator, model, self.inputs, steps, self.placed)

    def _followed(self, name: str) -> str:
        """By one or two operators, of which some are taken in by what is before them."""
        if self._elements([name]) != [TensorProto.FLOAT]:
            return name
        for _ in range(self.integer(1, 2)):
            kind = self.pick(
                ("Relu", "Relu", "Neg", "Sigmoid", "Transpose", "Add", "Concat", "Mul")
            )
            if kind == "Concat" and not self._rank(name):
                kind = "Neg"
            if kind == "Concat":
                name = self.op(kind, name, name, axis=self.integer(0, self._rank(name) - 1))
            elif kind == "Mul" and self.opset >= 7:
                name = self.op(kind, name, self.constant(self.pick((2.0, -0.5))))
            elif kind in ("Add", "Mul"):
                name = self.op(kind, name, name)
            else:
                name = self.op(kind, name)
        return name

    def _model(self, names: Sequence[str]) -> ModelProto:
        infos = [
            helper.make_tensor_value_info(name, KINDS[_kind_of(values)], values.shape)
            for name, values in self.inputs.items()
        ]
        ends = [helper.make_empty_tensor_value_info(name) for name in names]
        held = [numpy_helper.from_array(values, name) for name, values in self.constants.items()]
        graph = helper.make_graph(self.nodes, self.operator, infos, ends, held)
        return helper.make_model(
            graph, ir_version=8, opset_imports=[helper.make_opsetid("", self.opset)]
        )

    def _inferred(self, names: Sequence[str]) -> list[TypeProto.Tensor]:
        inferred = shape_inference.infer_shapes(self._model(names))
        return [end.type.tensor_type for end in inferred.graph.output]

    def _elements(self, names: Sequence[str]) -> list[int]:
        return [each.elem_type for each in self._inferred(names)]

    def _rank(self, name: str) -> int:
        """0 where it is not known."""
        return len(self._inferred([name])[0].shape.dim)


def _kind_of(values: Array) -> str:
    return "?" if values.dtype == bool else values.dtype.str[1:]


# A generator adds its operator to the sketch and gives the outputs. ValueError where what was drawn
# makes no node.
Generator = Callable[[Sketch], Sequence[str]]

GENERATORS: dict[str, Generator] = {}
# How many graphs of operators that have an 8-bit form are of 8 bits, from operator set 13 on.
QUANTIZED_SHARE = 0.25
# Of which there are 8-bit forms, or which 8-bit graphs have often.
QUANTIZED: set[str] = set()


def generates(*operators: str, quantized: bool = False) -> Callable[[Generator], Generator]:
    def register(generator: Generator) -> Generator:
        for operator in operators:
            assert operator not in GENERATORS, operator
            GENERATORS[operator] = generator
            if quantized:
                QUANTIZED.add(operator)
        return generator

    return register


def generate(seed: int, number: int, operator: str | None = None) -> RandomGraph:
    """The same for the same numbers."""
    draw = np.random.default_rng([seed, number])
    names = sorted(GENERATORS)
    chosen = operator or names[int(draw.integers(len(names)))]
    for attempt in range(1000):
        random = np.random.default_rng([seed, number, attempt, zlib.crc32(chosen.encode())])
        sketch = Sketch(chosen, random, int(random.integers(OLDEST, NEWEST + 1)))
        sketch.quantizes = (
            chosen in QUANTIZED and sketch.opset >= 13 and sketch.chance(QUANTIZED_SHARE)
        )
        try:
            return sketch.finished(GENERATORS[chosen](sketch))
        except ValueError:
            continue
    raise AssertionError(f"{chosen}: nothing was drawn that makes a node")
