# SPDX-License-Identifier: Apache-2.0
"""Single operators at the shapes that real models have, beside the peers.

The list lies in real_operators.json. `make real-operators` makes it from the models that
`make test-real` fetches; without weights, whose values no time depends on.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from halyard.bench.benchmark import Benchmark
from halyard.bench.results import ModelResult
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, RunnableModel, TensorType
from halyard.model.builder import ModelBuilder
from halyard.model.multiply_adds import multiply_adds
from halyard.model.operands import constants, dtype_of, is_constant, is_tensor, operation_name
from halyard.proto import halyard_pb2 as pb
from halyard.records.operators import Operand, Operator, Operators, OperatorTime
from halyard.records.run import Model
from halyard.terminal.console import Terminal

LIST = Path(__file__).with_name("real_operators.json")

# Constants of up to so many elements are axes, shapes and numbers, on which the work depends.
_MOST_VALUES = 16
# Operators that make fewer elements take no time beside a call.
_FEWEST_ELEMENTS = 256
# Of one kind and type, so many of those that take the longest are listed.
MOST_OF_A_KIND = 4

_OPERAND = "OPERAND_TYPE_"


# ---- the list -----------------------------------------------------------------------------------


def read() -> list[Operator]:
    return msgspec.json.decode(LIST.read_bytes(), type=list[Operator])


def as_json(operators: Sequence[Operator]) -> bytes:
    """An operator a line."""
    lines = b",\n".join(map(msgspec.json.encode, operators))
    return b"[\n" + lines + b"\n]\n"


def of_model(model: pb.Model) -> Iterator[Operator]:
    """The operators of the main subgraph whose shapes are known, one for each operation but those
    of control flow."""
    values = constants(model)
    operands = model.main.operands
    for operation in model.main.operations:
        inputs = [_operand(operands[index], values.get(index)) for index in operation.inputs]
        outputs = [_operand(operands[index], None) for index in operation.outputs]
        name = operation_name(operation.type)
        known = [operand for operand in (*inputs, *outputs) if operand is not None]
        is_whole = len(known) == len(inputs) + len(outputs) and not name.isdigit()
        if is_whole and _elements(known[len(inputs) :]) >= _FEWEST_ELEMENTS:
            results = tuple(known[len(inputs) :])
            yield Operator(
                operation=name, inputs=tuple(known[: len(inputs)]), outputs=results, uses=1
            )


def distinct(operators: Sequence[Operator]) -> list[Operator]:
    """Each once, with all of its uses."""
    uses: Counter[Operator] = Counter()
    for each in operators:
        uses[msgspec.structs.replace(each, uses=0)] += each.uses
    return [msgspec.structs.replace(each, uses=count) for each, count in uses.items()]


def heaviest(operators: Sequence[Operator], most: int = MOST_OF_A_KIND) -> list[Operator]:
    """Of each kind and type those that take the longest in all models, roughly."""
    kinds: dict[tuple[str, str], list[Operator]] = defaultdict(list)
    for each in operators:
        kinds[each.operation, element_type(each)].append(each)
    return [
        each
        for kind in sorted(kinds)
        for each in sorted(kinds[kind], key=lambda one: (-_weight(one), title(one)))[:most]
    ]


def _operand(operand: pb.Operand, values: Array | None) -> Operand | None:
    """None where it is of no use alone."""
    name = pb.OperandType.Name(operand.type).removeprefix(_OPERAND)
    shape = tuple(operand.dimensions)
    if operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH or (
        is_tensor(operand.type) and 0 in shape
    ):
        return None
    role = "computed"
    if operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
        role = "omitted"
    elif is_constant(operand):
        role = "constant"
    told: dict[str, Any] = {}
    if operand.scale:
        told = {"scale": operand.scale, "zero_point": operand.zero_point}
    if operand.HasField("channel_quant"):
        told["channel_dim"] = operand.channel_quant.channel_dim
    if values is not None and values.size <= _MOST_VALUES:
        told["values"] = tuple(values.reshape(-1).tolist())
    return Operand(type=name, shape=shape, role=role, **told)


def _elements(operands: Sequence[Operand]) -> int:
    return sum(math.prod(each.shape) for each in operands)


def element_type(operator: Operator) -> str:
    """Of its first tensor."""
    return next((each.type for each in operator.inputs if each.shape), "")


def _weight(operator: Operator) -> int:
    """What it takes in all models, roughly: multiply-adds, and elements that are moved."""
    moved = _elements(operator.inputs) + _elements(operator.outputs)
    return operator.uses * (moved + multiply_adds(model_of(operator)) // 8)


# ---- an operator as a model ---------------------------------------------------------------------


def title(operator: Operator) -> str:
    """ "TRANSPOSE FLOAT32 1x64x56x56 [0 2 3 1]"."""
    words = [operator.operation, element_type(operator).removeprefix("TENSOR_")]
    for operand in operator.inputs:
        if operand.role == "omitted" or not operand.type.startswith("TENSOR_"):
            continue
        if operand.values is not None and operand.type == "TENSOR_INT32":
            words.append(f"[{' '.join(str(int(value)) for value in operand.values)}]")
        else:
            words.append("x".join(map(str, operand.shape)) or "1")
    numbers = [
        f"{value:g}"
        for operand in operator.inputs
        if not operand.type.startswith("TENSOR_") and operand.values
        for value in operand.values
    ]
    return " ".join([*words, *([f"({' '.join(numbers)})"] if numbers else [])])


def model_of(operator: Operator, seed: int = 0) -> pb.Model:
    """The operator alone. HalyardError where the list says what can't be."""
    random = np.random.default_rng(seed)
    builder = ModelBuilder(title(operator))
    try:
        inputs = [
            _build(builder, operand, f"x{place}", random)
            for place, operand in enumerate(operator.inputs)
        ]
        operation = pb.OperationType.Value(f"OPERATION_TYPE_{operator.operation}")
        outputs = [(f"y{i}", _type(each, random)) for i, each in enumerate(operator.outputs)]
        return builder.build(builder.operation_n(operation, inputs, outputs))
    except ValueError as error:
        raise HalyardError(f"{title(operator)}: {error}") from error


def _type(operand: Operand, random: np.random.Generator) -> TensorType:
    scales: tuple[float, ...] = ()
    if operand.channel_dim is not None:
        count = operand.shape[operand.channel_dim]
        scales = tuple(random.uniform(0.002, 0.01, count).astype(np.float32).tolist())
    kind = pb.OperandType.Value(f"{_OPERAND}{operand.type}")
    return TensorType(
        kind, operand.shape, operand.scale, operand.zero_point, scales, operand.channel_dim or 0
    )


def _build(builder: ModelBuilder, operand: Operand, name: str, random: np.random.Generator) -> int:
    kind = _type(operand, random)
    if operand.role == "omitted":
        return builder.omitted(kind)
    if operand.role == "computed":
        return builder.input(name, kind)
    dtype = dtype_of(kind.type)
    if not is_tensor(kind.type):
        return builder.scalar(kind.type, (operand.values or (0,))[0])
    if operand.values is not None:
        return builder.constant(
            name, kind, np.array(operand.values, dtype).reshape(kind.dimensions)
        )
    if dtype.kind == "f":
        values = random.uniform(-0.1, 0.1, kind.dimensions).astype(dtype)
    elif dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        values = random.integers(limits.min, limits.max, kind.dimensions, dtype, endpoint=True)
    else:
        values = np.zeros(kind.dimensions, dtype)  # a bias, or indices
    return builder.constant(name, kind, values)


@dataclass(frozen=True)
class OperatorModel:
    """An operator for the benchmark."""

    operator: Operator
    seed: int = 0

    @property
    def runnable(self) -> RunnableModel:
        return RunnableModel.of(model_of(self.operator, self.seed))

    def input_arrays(self) -> list[Array]:
        return self.runnable.input_arrays(self.seed)

    def record(self) -> Model:
        return Model(name=str(self), seed=self.seed)

    def __str__(self) -> str:
        return title(self.operator)


# ---- times --------------------------------------------------------------------------------------


def measure(
    benchmark: Benchmark,
    operators: Sequence[Operator],
    threads: int,
    done: Callable[[OperatorTime], None] = lambda _: None,
) -> list[OperatorTime]:
    """Each beside the peers, the worst ratio first. `done` is told each as it comes."""
    times = []
    for operator in operators:
        times.append(_measure(benchmark, operator, threads))
        done(times[-1])
    return worst_first(times)


def worst_first(times: Sequence[OperatorTime]) -> list[OperatorTime]:
    return sorted(times, key=lambda each: -(each.ratio if each.ratio is not None else -1.0))


def _measure(benchmark: Benchmark, operator: Operator, threads: int) -> OperatorTime:
    model = OperatorModel(operator)
    try:
        with Workload.of_model(model) as work:
            result = benchmark.measure(model, work, threads)
    except HalyardError as error:
        return _time(operator, None, str(error))
    return _time(operator, result, result.ours.reason)


def _time(operator: Operator, result: ModelResult | None, reason: str) -> OperatorTime:
    engines = result.engines[1:] if result is not None else []
    return OperatorTime(
        operator=title(operator),
        uses=operator.uses,
        median_ms=result.ours.median_ms if result is not None else None,
        peers_ms={each.name: each.median_ms for each in engines if each.median_ms is not None},
        ratio=result.ratio_to_best_peer if result is not None else None,
        reason=reason,
    )


def record(times: Sequence[OperatorTime], versions: Mapping[str, str], threads: int) -> Operators:
    return Operators(versions=dict(versions), threads=threads, operators=list(times))


def show(terminal: Terminal, document: Operators) -> None:
    """A line an operator, and below why some have no times."""
    names = sorted({name for each in document.operators for name in each.peers_ms})
    numbers = ["ratio", "µs", *names, "uses"]
    terminal.table(
        ["operator", *numbers],
        [
            [
                each.operator,
                f"{each.ratio:.2f}" if each.ratio is not None else "-",
                f"{1e3 * each.median_ms:.1f}",
                *(
                    f"{1e3 * each.peers_ms[name]:.1f}" if name in each.peers_ms else "-"
                    for name in names
                ),
                str(each.uses),
            ]
            for each in document.operators
            if each.median_ms is not None
        ],
        numbers=numbers,
    )
    for each in document.operators:
        if each.median_ms is None:
            terminal.detail(f"PROBLEM  {each.operator}: {each.reason}")
