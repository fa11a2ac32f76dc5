# SPDX-License-Identifier: Apache-2.0
"""Random models of every operation on the engine, in-process, against the numpy reference.

Floats have to be within the official tolerance, quantised values within a step; whole numbers and
booleans are exact. How many quantised values are exact is counted. A case follows from --seed, its
operation and its number; --random-seconds says how long all operations may take together.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from halyard import reference
from halyard.devices.host import HostDevice
from halyard.model import Array, dtype_of
from halyard.programs import native, operations
from halyard.proto import halyard_pb2 as pb
from halyard.reference.tensor import Tensor
from halyard.runner.execution import Target, run_cases
from tests.random_models import GENERATORS, RandomCase, aliasing, generate, generate_aliased

# Cases that run together; an operation has at least as many.
_BUNDLE = 24
_ALIASED_BUNDLE = 12
# The functions that share --random-seconds.
_FUNCTIONS = len(GENERATORS) + len(aliasing.OPERATIONS)
_SHOWN = 12

_EXACT = frozenset(
    {pb.OPERAND_TYPE_TENSOR_INT32, pb.OPERAND_TYPE_TENSOR_BOOL8, pb.OPERAND_TYPE_INT32}
)
# The official tolerances, absolute and relative.
_TOLERANCES: dict[int, tuple[float, float]] = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: (1e-5, 5 * 2.0**-23),
    pb.OPERAND_TYPE_TENSOR_FLOAT16: (5 * 2.0**-10, 5 * 2.0**-10),
}


@dataclass
class Tally:
    """The outcomes of an operation's cases."""

    cases: int = 0
    quantized: int = 0
    step_off: int = 0
    floats: int = 0
    of_tolerance: float = 0.0  # the largest error, as a part of what is allowed

    def __str__(self) -> str:
        text = f"{self.cases} cases"
        if self.quantized:
            exact = self.quantized - self.step_off
            text += f", {exact} of {self.quantized} quantised values exact, the others by a step"
        if self.floats:
            text += f", {self.floats} floats, errors up to {self.of_tolerance:.2f} of the tolerance"
        return text


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.fixture(scope="module")
def listed() -> set[str]:
    """The operations of the driver."""
    program = native.program("service")
    found = subprocess.run(
        [program, "--list-operations"], capture_output=True, text=True, check=True
    )
    return {row.name for row in operations.parse(found.stdout)}


@pytest.fixture(scope="module")
def tallies(pytestconfig: pytest.Config) -> Iterator[dict[str, Tally]]:
    """By operation; shown at the end with -v."""
    found: dict[str, Tally] = {}
    yield found
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    if capture is not None and pytestconfig.get_verbosity() > 0:
        with capture.global_and_fixture_disabled():
            print(*("", *(f"  {name:28} {tally}" for name, tally in found.items())), sep="\n")


@pytest.mark.parametrize("operation", sorted(GENERATORS))
def test_agrees_with_reference(
    operation: str,
    host: HostDevice,
    listed: set[str],
    tallies: dict[str, Tally],
    steady_seed: int,
    pytestconfig: pytest.Config,
) -> None:
    assert operation in listed
    tally = tallies.setdefault(operation, Tally())
    _compare_with_reference(
        host,
        lambda number: generate(operation, steady_seed, number),
        pytestconfig.getoption("random_seconds") / _FUNCTIONS,
        _BUNDLE,
        tally,
        steady_seed,
    )


@pytest.mark.parametrize("operation", aliasing.OPERATIONS)
def test_agrees_where_constants_overlap(
    operation: str,
    host: HostDevice,
    tallies: dict[str, Tally],
    steady_seed: int,
    pytestconfig: pytest.Config,
) -> None:
    """Two operations of a kind in one model, whose weights lie in the same bytes."""
    _compare_with_reference(
        host,
        lambda number: generate_aliased(operation, steady_seed, number),
        pytestconfig.getoption("random_seconds") / _FUNCTIONS,
        _ALIASED_BUNDLE,
        tallies.setdefault(f"{operation}, aliased", Tally()),
        steady_seed,
    )


def _compare_with_reference(
    host: HostDevice,
    case_of: Callable[[int], RandomCase],
    seconds: float,
    bundle: int,
    tally: Tally,
    seed: int,
) -> None:
    end = time.monotonic() + seconds
    number = 0
    while number == 0 or time.monotonic() < end:
        cases = [case_of(number + at) for at in range(bundle)]
        number += bundle
        results = run_cases(
            host,
            [case.test_case for case in cases],
            pb.RunOptions(timeout_s=60),
            Target.in_process(),
        )
        for case, result in zip(cases, results, strict=True):
            tally.cases += 1
            reason = _judge(case, result, tally)
            if reason:
                pytest.fail(f"{reason}\n{describe(case)}\n--seed {seed}", pytrace=False)


def test_every_operation_has_a_generator() -> None:
    assert reference.operations() == set(GENERATORS)


def test_cases_can_be_made_again() -> None:
    for operation in GENERATORS:
        first, second = (generate(operation, 7, 3).test_case for _ in range(2))
        assert first.SerializeToString(deterministic=True) == second.SerializeToString(
            deterministic=True
        ), operation


def _judge(case: RandomCase, result: pb.CaseResult, tally: Tally) -> str:
    """Why the engine's result is not the reference's; empty if it is."""
    if result.failed_stage != pb.STAGE_NONE or not result.examples:
        return f"the engine fails: {pb.Stage.Name(result.failed_stage)} {result.message}"
    [example] = result.examples
    if example.status != pb.ERROR_STATUS_NONE:
        return f"the engine fails: {pb.ErrorStatus.Name(example.status)} {example.message}"
    main = case.test_case.model.main
    types = [main.operands[index].type for index in main.output_indexes]
    found = []
    for position, output in enumerate(example.outputs):
        shape = case.expected[position].shape
        if tuple(output.dimensions) != shape:
            return f"output {position}: dimensions {output.dimensions}, expected {shape}"
        found.append(np.frombuffer(output.data, dtype_of(types[position])).reshape(shape))
    expected = list(case.expected)
    if case.unordered:
        found, expected = _in_order(found), _in_order(expected)
    for position in set(range(len(found))) - case.ignored:
        reason = _compare(
            types[position], found[position], expected[position], case.most_steps, tally
        )
        if reason:
            return f"output {position}: {reason}"
    return ""


def _in_order(outputs: list[Array]) -> list[Array]:
    """Rows by batch, then by score, from the last and the first output."""
    order = np.lexsort((outputs[0], *outputs[2:]))
    return [output[order] for output in outputs]


def _compare(
    operand_type: int, found: Array, expected: Array, most_steps: int, tally: Tally
) -> str:
    actual, wanted = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual - wanted)
    same = (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
    distance = np.where(same, 0, distance)
    if operand_type in _TOLERANCES:
        absolute, relative = _TOLERANCES[operand_type]
        allowed = np.where(np.isfinite(wanted), absolute + relative * np.abs(wanted), absolute)
        good = distance <= allowed
        tally.floats += found.size
        if found.size and good.all():
            tally.of_tolerance = max(tally.of_tolerance, float((distance / allowed).max()))
    elif operand_type in _EXACT:
        good = distance == 0
    else:
        good = distance <= most_steps
        tally.quantized += found.size
        tally.step_off += int((distance != 0).sum())
    wrong = np.argwhere(~good)
    if not len(wrong):
        return ""
    shown = "; ".join(
        f"{place.tolist()} is {found[tuple(place)]}, expected {expected[tuple(place)]}"
        for place in wrong[:_SHOWN]
    )
    return f"{len(wrong)} of {found.size} elements are off: {shown}"


def describe(case: RandomCase) -> str:
    """The model and its inputs, so that one can calculate."""
    model, lines = case.test_case.model, [case.test_case.name]
    main = model.main
    given = dict(zip(main.input_indexes, case.test_case.examples[0].inputs, strict=True))
    for index in [*main.operations[0].inputs, *main.operations[0].outputs]:
        operand = main.operands[index]
        place = operand.location
        constant = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        pool = model.pools[0] if constant else model.operand_values
        data = pool[place.offset : place.offset + place.length]
        if index in given:
            data = given[index].data
        values = np.frombuffer(data, dtype_of(operand.type))
        tensor = Tensor.like(operand, values)
        quantization = f" {tensor.scale} {tensor.zero_point}" if tensor.is_quantized else ""
        with np.printoptions(threshold=80, linewidth=160):
            lines.append(
                f"  {pb.OperandType.Name(operand.type).removeprefix('OPERAND_TYPE_')}"
                f"{list(operand.dimensions)}{quantization} "
                f"{pb.OperandLifeTime.Name(operand.lifetime).removeprefix('OPERAND_LIFE_TIME_')}"
                f" {values.tolist() if values.size < 2 else values}"
            )
    return "\n".join(lines)
