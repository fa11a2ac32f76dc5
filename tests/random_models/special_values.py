# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities, put into the float tensors of any model, its inputs and its constants; and
what becomes of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np

from halyard.devices.host import HostDevice
from halyard.model import Array, dtype_of
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.random_models.chains import generate_chain
from tests.random_models.sketch import GENERATORS, generate

Results = list[pb.CaseResult]

_FLOATS = (pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_TENSOR_FLOAT16)
_CONSTANTS = (pb.OPERAND_LIFE_TIME_CONSTANT_COPY, pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE)
# The sets of values that a tensor gets.
_KINDS = ((np.nan,), (np.inf,), (-np.inf,), (np.inf, -np.inf), (np.nan, np.inf, -np.inf))
# Between two orders of a sum: relative, or of 1.
_TOLERANCES = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: 1e-4,
    pb.OPERAND_TYPE_TENSOR_FLOAT16: 2e-2,
}


def poisoned(seed: int, each: int) -> list[pb.TestCase]:
    """Random models of every operation that has floats, so many of each."""
    cases = []
    for operation in sorted(GENERATORS):
        for number in range(each):
            test_case = generate(operation, seed, number).test_case
            source = np.random.default_rng([seed, number, len(operation)])
            if poison(test_case, source):
                cases.append(test_case)
    return cases


def poisoned_chains(seed: int, count: int) -> list[pb.TestCase]:
    """And of chains of them."""
    cases = [generate_chain(seed, number) for number in range(count)]
    for number, test_case in enumerate(cases):
        poison(test_case, np.random.default_rng([seed, number]))
    return cases


def run_all(
    device: HostDevice,
    cases: Sequence[pb.TestCase],
    *,
    backends: Sequence[str],
    options: Sequence[str] = (),
) -> Results:
    return run_cases(
        device,
        cases,
        pb.RunOptions(timeout_s=60),
        Target.in_process(),
        driver=DriverOptions(backends, more=options),
    )


def instruction_sets(device: HostDevice) -> list[str]:
    """Those of the device's processor, by the names of --cpu-features: what refuses another one
    lists them."""
    runner = shlex.quote(device.put_program(native.RUNNER))
    folder = '"$ROOT"'
    answer = device.shell(
        f": >{folder}/none; {runner} --target in-process --bundle {folder}/none "
        f"--options {folder}/none --results {folder}/gone --cpu-features none"
    )
    found = re.search(r"for CpuAcc; it has ([a-z0-9, ]+)", answer.stderr + answer.stdout)
    assert found, answer.stderr
    return found.group(1).strip().split(", ")


def difference(test_case: pb.TestCase, expected: pb.CaseResult, found: pb.CaseResult) -> str:
    """Where an output is NaN, or an infinity, in one result alone; or far off."""
    ends = [
        (result.failed_stage, [each.status for each in result.examples])
        for result in (expected, found)
    ]
    if ends[0] != ends[1]:
        return f"{expected.message or 'well'} / {found.message or 'well'}"
    reasons = []
    for position, (one, other) in enumerate(
        zip(_outputs(test_case, expected), _outputs(test_case, found), strict=True)
    ):
        if one.shape != other.shape:
            reasons.append(f"output {position}: {one.shape}, not {other.shape}")
            continue
        wrong = np.argwhere(~_same(one, other, _tolerance(test_case, position)))
        if len(wrong):
            place = tuple(wrong[0])
            reasons.append(
                f"output {position}: {len(wrong)} of {one.size} elements differ, the first at "
                f"{wrong[0].tolist()}: {other[place]}, not {one[place]}"
            )
    return "; ".join(reasons)


def has_special_values(test_case: pb.TestCase, result: pb.CaseResult) -> bool:
    return any(
        output.dtype.kind == "f" and not np.isfinite(output).all()
        for output in _outputs(test_case, result)
    )


def _outputs(test_case: pb.TestCase, result: pb.CaseResult) -> list[Array]:
    main = test_case.model.main
    return [
        np.frombuffer(output.data, dtype_of(main.operands[index].type)).reshape(output.dimensions)
        for example in result.examples
        if example.status == pb.ERROR_STATUS_NONE
        for output, index in zip(example.outputs, main.output_indexes, strict=False)
    ]


def _tolerance(test_case: pb.TestCase, position: int) -> float:
    main = test_case.model.main
    return _TOLERANCES.get(main.operands[main.output_indexes[position]].type, 0.0)


def _same(one: Array, other: Array, tolerance: float) -> Array:
    if one.dtype.kind != "f":
        return one == other
    a, b = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= tolerance * np.maximum(1, np.abs(a))
    finite = np.isfinite(a) & np.isfinite(b)
    return (a == b) | (np.isnan(a) & np.isnan(b)) | (finite & close)


def poison(test_case: pb.TestCase, source: np.random.Generator) -> bool:
    """Puts a few into some of the float tensors. False if the model has none."""
    main = test_case.model.main
    floats = [
        index
        for index, operand in enumerate(main.operands)
        if operand.type in _FLOATS
        and (operand.lifetime in _CONSTANTS or index in main.input_indexes)
    ]
    chosen = [index for index in floats if source.random() < 0.5] or floats[:1]
    found = False
    for index in chosen:
        operand = main.operands[index]
        if operand.lifetime in _CONSTANTS:
            place = operand.location
            if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
                whole = bytearray(test_case.model.operand_values)
            else:
                whole = bytearray(test_case.model.pools[place.pool_index])
            end = place.offset + place.length
            data, hit = _poisoned(bytes(whole[place.offset : end]), operand.type, source)
            whole[place.offset : end] = data
            if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
                test_case.model.operand_values = bytes(whole)
            else:
                test_case.model.pools[place.pool_index] = bytes(whole)
        else:
            value = test_case.examples[0].inputs[list(main.input_indexes).index(index)]
            value.data, hit = _poisoned(value.data, operand.type, source)
        found = found or hit
    return found


def _poisoned(
    data: bytes, operand_type: pb.OperandType, source: np.random.Generator
) -> tuple[bytes, bool]:
    values = np.frombuffer(data, dtype_of(operand_type)).copy()
    if not values.size:
        return data, False
    count = 1 if source.random() < 0.5 else int(source.integers(1, values.size, endpoint=True) / 4)
    places = source.integers(0, values.size, max(count, 1))
    values[places] = source.choice(_KINDS[source.integers(len(_KINDS))], places.size)
    return values.tobytes(), True
