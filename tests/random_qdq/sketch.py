# SPDX-License-Identifier: Apache-2.0
"""A graph of 8 bits in the making: what it computes so far, and how its values are quantised."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from halyard.model import Array
from tests.random_onnx.judging import computed_as_written

# ONNX Runtime has no QuantizeLinear of operator set 28 yet.
OLDEST, NEWEST = 10, 27
# With operator set 13 came scales for each channel.
PER_CHANNEL = 13
_MOST_STAGES = 3
_ELEMENTS: Mapping[str, int] = {"i1": TensorProto.INT8, "u1": TensorProto.UINT8}

T = TypeVar("T")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Quantity:
    kind: str
    scale: float
    zero_point: int

    def quantized(self, values: Array) -> Array:
        limits = np.iinfo(self.kind)
        whole = np.rint(values / np.float32(self.scale)) + self.zero_point
        return np.clip(whole, limits.min, limits.max).astype(self.kind)

    def real(self, whole: Array) -> Array:
        return (whole.astype("f4") - np.float32(self.zero_point)) * np.float32(self.scale)


@dataclass(frozen=True)
class Stage:
    """`model` computes it of what came before; `step` is one of its output's."""

    operator: str
    model: ModelProto
    reads: Sequence[str]
    gives: str
    step: float


@dataclass(frozen=True)
class QuantizedGraph:
    model: ModelProto
    inputs: Mapping[str, Array]
    # The inputs' values as real numbers, which is exact.
    values: Mapping[str, Array]
    stages: Sequence[Stage]


@dataclass
class Draft:
    random: np.random.Generator
    opset: int
    kind: str
    inputs: dict[str, Array] = field(default_factory=dict)
    # Real numbers, by the names of what dequantises them.
    values: dict[str, Array] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[NodeProto] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    _count: int = 0

    # ---- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def integer(self, low: int, high: int) -> int:
        """Both ends belong to it."""
        return int(self.random.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.integer(0, len(choices) - 1)]

    def shape(self, low: int = 1, high: int = 4, extent: int = 5) -> Shape:
        return tuple(self.integer(1, extent) for _ in range(self.integer(low, high)))

    # ---- nodes ----------------------------------------------------------------------------------

    def name(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"

    def constant(self, values: object, kind: str = "f4") -> str:
        name = self.name("constant")
        self.constants[name] = np.asarray(values, kind)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, "i8")

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = self.name(kind)
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    # ---- values ---------------------------------------------------------------------------------

    def quantity(self, low: float, high: float) -> Quantity:
        """As a quantiser finds it of the range, or an odd one at times."""
        kind = self.kind if self.chance(0.92) else self.pick(("i1", "u1"))
        low, high = min(low, 0.0), max(high, 1e-3)
        if self.chance(0.1):
            low, high = low / 2, high / 2  # So that numbers are cut off.
        limits = np.iinfo(kind)
        if kind == "i1" and self.chance(0.3):
            return Quantity(kind, float(np.float32(max(-low, high) / 127)), 0)
        scale = float(np.float32((high - low) / 255))
        return Quantity(kind, scale, round(limits.min - low / scale))

    def value(self, shape: Shape, *, positive: bool = False) -> str:
        """An input of the model, as real numbers."""
        reach = self.pick((0.5, 1.0, 1.0, 4.0))
        quantity = self.quantity(0.0 if positive else -reach, reach)
        limits = np.iinfo(quantity.kind)
        low = max(quantity.zero_point + 1, limits.min) if positive else limits.min
        whole = np.asarray(self.random.integers(low, limits.max + 1, shape), quantity.kind)
        name = self.name("input")
        parameters = self._parameters(quantity)
        if self.chance(0.25):
            self.inputs[name], quantized = whole, name
        else:
            self.inputs[name] = quantity.real(whole)
            quantized = self.op("QuantizeLinear", name, *parameters)
        real = self.op("DequantizeLinear", quantized, *parameters)
        self.values[real], self.quantities[real] = quantity.real(whole), quantity
        return real

    def operand(self, shape: Shape, *, positive: bool = False) -> str:
        """A constant, or an input more."""
        if self.chance(0.5):
            return self.weights(shape, positive=positive)
        made = self.value(shape, positive=positive)
        self.reads.append(made)
        return made

    def _parameters(self, quantity: Quantity) -> tuple[str, str]:
        return self.constant(quantity.scale), self.constant(quantity.zero_point, quantity.kind)

    def weights(self, shape: Shape, axis: int | None = None, *, positive: bool = False) -> str:
        """Of 8 bits, with a scale for each index of the axis, where there is one."""
        if axis is not None and (self.opset < PER_CHANNEL or self.chance(0.4)):
            axis = None
        kind = "i1" if axis is not None else self.pick(("i1", "i1", self.kind))
        count = () if axis is None else (shape[axis],)
        scales = self.random.uniform(0.002, 0.02, count).astype("f4")
        zero = 0 if kind == "i1" else self.integer(100, 150)
        low, high = (-127, 127) if kind == "i1" else (0, 255)
        whole = self.random.integers(zero + 1 if positive else low, high + 1, shape)
        parameters = self.constant(scales), self.constant(np.full(count, zero), kind)
        more = {} if axis is None else {"axis": axis}
        name = self.op("DequantizeLinear", self.constant(whole, kind), *parameters, **more)
        spread = scales if axis is None else scales.reshape([-1] + [1] * (len(shape) - axis - 1))
        self.values[name] = np.asarray((whole - zero) * spread, "f4")
        self.quantities[name] = Quantity(kind, float(scales.max()), zero)
        return name

    def bias(self, count: int, data: str, weights: str) -> str:
        """INT32, whose scale is the product of the others'; as floats at times."""
        if self.chance(0.15):
            return self.constant(self.random.normal(0, 1, count))
        dequantizing = next(node for node in self.nodes if node.output[0] == weights)
        scales = self.constants[dequantizing.input[1]] * np.float32(self.quantities[data].scale)
        whole = self.random.integers(-2000, 2001, count)
        names = [self.constant(whole, "i4"), self.constant(scales)]
        if self.chance(0.5):
            names.append(self.constant(np.zeros(scales.shape), "i4"))
        more = {"axis": 0} if scales.ndim else {}
        return self.op("DequantizeLinear", *names, **more)

    # ---- what becomes of an operator ------------------------------------------------------------

    def staged(self, operator: str, output: str, first: int, *, is_last: bool) -> Stage:
        """Quantises its output, by what ONNX Runtime says of its range. ValueError where that does
        not take it."""
        reads = sorted({name for name in self._read(first) if name in self.values})
        bare = self._model(first, reads, [(output, TensorProto.FLOAT)])
        found = computed(bare, {name: self.values[name] for name in reads})
        if found is None or not found[0].size or not np.isfinite(found[0]).all():
            raise ValueError
        quantity = self._quantity_of(operator, reads, found[0])
        parameters = self._parameters(quantity)
        name = self.op("QuantizeLinear", output, *parameters)
        if is_last and self.chance(0.25):
            model = self._model(first, reads, [(name, _ELEMENTS[quantity.kind])])
            return Stage(operator, model, reads, name, 1.0)
        real = self.op("DequantizeLinear", name, *parameters)
        self.values[real] = quantity.real(quantity.quantized(found[0]))
        self.quantities[real] = quantity
        model = self._model(first, reads, [(real, TensorProto.FLOAT)])
        return Stage(operator, model, reads, real, quantity.scale)

    def _read(self, first: int) -> list[str]:
        made = {name for node in self.nodes[first:] for name in node.output}
        return [name for node in self.nodes[first:] for name in node.input if name not in made]

    def _quantity_of(self, operator: str, reads: Sequence[str], values: Array) -> Quantity:
        if operator in ("Sigmoid", "Softmax", "HardSigmoid") and self.chance(0.5):
            return Quantity(self.kind, 1 / 256, np.iinfo(self.kind).min)
        if operator == "Tanh" and self.chance(0.5):
            return Quantity(self.kind, 1 / 128, 0 if self.kind == "i1" else 128)
        if reads and self.chance(0.35):
            return self.quantities[reads[0]]
        return self.quantity(float(values.min()), float(values.max()))

    def _model(
        self, first: int, reads: Sequence[str], ends: Sequence[tuple[str, int]]
    ) -> ModelProto:
        infos = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, self.values[name].shape)
            for name in reads
        ]
        return self.model(self.nodes[first:], infos, ends)

    def model(
        self, nodes: Sequence[NodeProto], infos: Sequence[object], ends: Sequence[tuple[str, int]]
    ) -> ModelProto:
        read = {name for node in nodes for name in node.input}
        held = [
            numpy_helper.from_array(values, name)
            for name, values in self.constants.items()
            if name in read
        ]
        outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in ends]
        graph = helper.make_graph(nodes, "quantized", infos, outputs, held)
        imports = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, ir_version=8, opset_imports=imports)


def computed(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array] | None:
    """By ONNX Runtime as the file says it, with real numbers; None where it does not take it."""
    try:
        return computed_as_written(model, inputs)
    # Its exceptions have no class of their own in common.
    except Exception:  # noqa: BLE001
        return None


# It adds an operator behind a value, and gives its output. ValueError where what was drawn makes no
# node of it.
Draw = Callable[[Draft, str], str]

STAGES: dict[str, Draw] = {}


def draws(*operators: str) -> Callable[[Draw], Draw]:
    def register(draw: Draw) -> Draw:
        for operator in operators:
            assert operator not in STAGES, operator
            STAGES[operator] = draw
        return draw

    return register


def generate(seed: int, number: int) -> QuantizedGraph:
    """The same for the same numbers."""
    for attempt in range(1000):
        random = np.random.default_rng([seed, number, attempt])
        draft = Draft(
            random, int(random.integers(OLDEST, NEWEST + 1)), str(random.choice(["i1", "u1"]))
        )
        try:
            return _generated(draft)
        except ValueError:
            continue
    raise AssertionError("nothing was drawn that makes a graph")


def _generated(draft: Draft) -> QuantizedGraph:
    rank = draft.pick((1, 2, 3, 4, 4, 4))
    value = draft.value(draft.shape(rank, rank, 4 if rank > 2 else 6))
    count = draft.integer(1, _MOST_STAGES)
    stages: list[Stage] = []
    while len(stages) < count:
        stages.append(_next(draft, value, is_last=len(stages) == count - 1))
        value = stages[-1].gives
    infos = []
    for name, values in draft.inputs.items():
        kind = TensorProto.FLOAT if values.dtype == np.float32 else _ELEMENTS[values.dtype.str[1:]]
        infos.append(helper.make_tensor_value_info(name, kind, values.shape))
    ends = [(each.gives, each.model.graph.output[0].type.tensor_type.elem_type) for each in stages]
    model = draft.model(draft.nodes, infos, ends)
    given = {name: values for name, values in draft.values.items()
             if name not in {each.gives for each in stages}}  # fmt: skip
    return QuantizedGraph(model, draft.inputs, given, stages)


def _next(draft: Draft, value: str, *, is_last: bool) -> Stage:
    """The first of some operators that goes with the value."""
    names = sorted(STAGES)
    for _ in range(12):
        operator = draft.pick(names)
        before, held = list(draft.nodes), dict(draft.inputs)
        # Other values that it reads come before it.
        draft.reads = []
        try:
            made = STAGES[operator](draft, value)
            first = _beginning(draft, before)
            return draft.staged(operator, made, first, is_last=is_last)
        except ValueError:
            draft.nodes, draft.inputs = before, held
    raise ValueError


def _beginning(draft: Draft, before: Sequence[NodeProto]) -> int:
    """Puts what makes real numbers of the model's inputs before the stage; where that begins."""
    own = draft.nodes[len(before) :]
    outer: list[NodeProto] = []
    for name in draft.reads:
        last = next(node for node in own if node.output[0] == name)
        first = [node for node in own if node.output[0] == last.input[0]]
        outer += [*first, last]
    draft.nodes = [*before, *outer, *(node for node in own if node not in outer)]
    return len(before) + len(outer)
