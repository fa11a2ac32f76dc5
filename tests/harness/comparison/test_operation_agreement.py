# SPDX-License-Identifier: Apache-2.0
"""8-bit operations one by one: CpuRef gives LiteRT's bytes, every one of them.

Whole networks say little of a rule: one that is off by a step in one element of a thousand is off
by many steps fifty layers later.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from halyard.devices.host import HostDevice
from halyard.engines import litert
from halyard.engines.litert import LiteRt
from halyard.errors import ProgramMissing
from halyard.model import Array, ModelBuilder, TensorType, byte_size, dtype_of
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.harness.on_engine import outputs_of

UINT8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
INT8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
SEED = 20

Case = tuple[pb.Model, list[Array]]
Arguments = Callable[[ModelBuilder], list[int]]


def limits(operand_type: int) -> tuple[int, int]:
    return (0, 255) if operand_type == UINT8 else (-128, 127)


class Random:
    def __init__(self, operand_type: int) -> None:
        self.numbers = np.random.default_rng([SEED, operand_type])
        self.type = operand_type

    def scale(self, low: float, high: float) -> float:
        return float(np.float32(self.numbers.uniform(low, high)))

    def zero_point(self) -> int:
        return int(self.numbers.integers(*limits(self.type), endpoint=True))

    def bytes(self, shape: Sequence[int]) -> Array:
        return self.numbers.integers(
            *limits(self.type), tuple(shape), dtype_of(self.type), endpoint=True
        )

    def tensor(self, shape: Sequence[int], low: float = 0.01, high: float = 0.2) -> TensorType:
        return TensorType(self.type, tuple(shape), self.scale(low, high), self.zero_point())


def case(
    operation: int,
    inputs: Sequence[tuple[TensorType, Array]],
    result: TensorType,
    arguments: Arguments = lambda _: [],
) -> Case:
    builder = ModelBuilder("operation")
    operands = [builder.input(f"input_{n}", given) for n, (given, _) in enumerate(inputs)]
    output = builder.operation(operation, [*operands, *arguments(builder)], "result", result)
    return builder.build([output]), [values for _, values in inputs]


def pairs(random: Random) -> list[tuple[TensorType, Array]]:
    """Every byte with every other."""
    every = np.arange(limits(random.type)[0], limits(random.type)[1] + 1).astype(
        dtype_of(random.type)
    )
    grids = np.meshgrid(every, every, indexing="ij")
    return [(random.tensor((1, 256, 256, 1)), grid.reshape(1, 256, 256, 1)) for grid in grids]


def sums(operation: int) -> Callable[[Random], list[Case]]:
    def cases(random: Random) -> list[Case]:
        return [
            case(
                operation,
                pairs(random),
                random.tensor((1, 256, 256, 1)),
                lambda builder, activation=activation: [builder.int32(activation)],  # type: ignore[misc]
            )
            for activation in (0, 1, 3)
            for _ in range(5)
        ]

    return cases


def hard_swishes(random: Random) -> list[Case]:
    low, high = limits(random.type)
    every = np.arange(low, high + 1).astype(dtype_of(random.type)).reshape(1, 16, 16, 1)
    return [
        case(
            pb.OPERATION_TYPE_HARD_SWISH,
            [(random.tensor(every.shape), every)],
            random.tensor(every.shape),
        )
        for _ in range(50)
    ]


def resizes(random: Random) -> list[Case]:
    cases = []
    # The last two are sizes for which centres that are computed otherwise give other shares.
    for height, width, to_height, to_width in (
        (5, 5, 33, 33),
        (33, 33, 65, 60),
        (17, 23, 8, 9),
        (14, 10, 283, 227),
        (12, 7, 251, 387),
    ):
        for aligned, centred in ((False, False), (True, False), (False, True)):
            given = random.tensor((1, height, width, 8))
            flags = (False, aligned, centred)
            cases.append(
                case(
                    pb.OPERATION_TYPE_RESIZE_BILINEAR,
                    [(given, random.bytes(given.dimensions))],
                    TensorType(
                        random.type,
                        (1, to_height, to_width, 8),
                        given.scale,
                        given.zero_point,
                    ),
                    lambda builder, size=(to_width, to_height), flags=flags: [  # type: ignore[misc]
                        *map(builder.int32, size),
                        *map(builder.boolean, flags),
                    ],
                )
            )
    return cases


def means(random: Random) -> list[Case]:
    """Of which every other one lies halfway between two steps."""
    low, high = limits(random.type)
    cases = []
    for _ in range(30):
        height, width = (int(extent) for extent in random.numbers.integers(2, 30, 2))
        count = height * width * 2
        halves = random.numbers.integers(low * 2, high * 2, 500)
        base, rest = np.divmod(halves * count // 2, count)
        values = base + (np.arange(count)[:, None] < rest)
        given = random.tensor((1, height, width * 2, 500))
        same = TensorType(random.type, (1, 1, 1, 500), given.scale, given.zero_point)
        cases.append(
            case(
                pb.OPERATION_TYPE_MEAN,
                [(given, values.reshape(given.dimensions).astype(dtype_of(random.type)))],
                same,
                lambda builder: [builder.vector("axes", (1, 2)), builder.int32(1)],
            )
        )
    return cases


def matrix_products(random: Random) -> list[Case]:
    cases = []
    for inner in (1, 3, 64, 128):
        for _ in range(5):
            a, b = random.tensor((1, 2, 40, inner)), random.tensor((1, 2, inner, 100))
            spread = a.scale * b.scale * (1 if inner < 5 else 50 * inner**0.5)
            cases.append(
                case(
                    pb.OPERATION_TYPE_BATCH_MATMUL,
                    [(given, random.bytes(given.dimensions)) for given in (a, b)],
                    random.tensor((1, 2, 40, 100), spread * 0.4, spread * 1.5),
                    lambda builder: [builder.boolean(False)] * 2,
                )
            )
    return cases


OPERATIONS: dict[str, Callable[[Random], list[Case]]] = {
    "add": sums(pb.OPERATION_TYPE_ADD),
    "sub": sums(pb.OPERATION_TYPE_SUB),
    "mul": sums(pb.OPERATION_TYPE_MUL),
    "hard_swish": hard_swishes,
    "resize_bilinear": resizes,
    "mean": means,
    "batch_matmul": matrix_products,
}


@pytest.mark.skipif(not litert.available(), reason="LiteRT (ai-edge-litert) is not installed")
@pytest.mark.parametrize(
    ("name", "operand_type"),
    [
        (name, operand_type)
        for name in OPERATIONS
        for operand_type in (INT8, UINT8)
        # NNAPI has only a signed form of it.
        if (name, operand_type) != ("batch_matmul", UINT8)
    ],
)
def test_no_byte_differs_from_litert(name: str, operand_type: int) -> None:
    try:
        native.program(native.RUNNER)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    cases = OPERATIONS[name](Random(operand_type))
    tests = []
    for model, inputs in cases:
        example = pb.Example(name=f"seed_{SEED}")
        for values in inputs:
            example.inputs.add(data=values.tobytes())
        output = model.main.operands[model.main.output_indexes[0]]
        example.outputs.add(byte_size=byte_size(output))
        tests.append(pb.TestCase(name=name, model=model, examples=[example]))
    with HostDevice() as device:
        ran = run_cases(
            device,
            tests,
            pb.RunOptions(timeout_s=120),
            Target.in_process(),
            driver=DriverOptions(["CpuRef"]),
        )
    seen: set[int] = set()
    for (model, inputs), result in zip(cases, ran, strict=True):
        assert result.failed_stage == pb.STAGE_NONE, result.message
        (expected,) = outputs_of(LiteRt(), model, inputs)
        data = result.examples[0].outputs[0].data
        actual = np.frombuffer(data, expected.dtype).reshape(expected.shape)
        differing = np.count_nonzero(actual != expected)
        assert differing == 0, f"{differing} of {expected.size} bytes differ"
        seen |= set(np.unique(expected).tolist())
    assert len(seen) > 200, "what is compared says little"
