# SPDX-License-Identifier: Apache-2.0
"""The programs for arm64 devices, which QEMU runs here: the golden cases in-process, on a processor
without dot product instructions and on one with every extension.

A random sample, unless --no-sample is given. What a case gives is compared with the expected
results, and what is no float with what this machine's own programs give as well: there is one set
of numbers for all processors. Sums of floats are added as processors have lanes.
"""

import subprocess
from collections.abc import Iterator, Sequence

import pytest

from halyard.cases import Case, Verdict
from halyard.conformance.suite import SECONDS_PER_CASE
from halyard.devices.host import HostDevice
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from halyard.vm.machine_type import ARM64
from tests.conftest import Bundle


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def run(device: HostDevice, cases: Sequence[Case]) -> list[pb.CaseResult]:
    options = pb.RunOptions(timeout_s=SECONDS_PER_CASE)
    return run_cases(device, [case.test_case for case in cases], options, Target.in_process())


def judge(host: HostDevice, cpu: str, cases: Sequence[Case]) -> dict[str, Verdict]:
    with HostDevice(ARM64, cpu) as emulated:
        results = run(emulated, cases)
    verdicts = {}
    for case, result, own in zip(cases, results, run(host, cases), strict=True):
        verdict = case.check(result)
        if verdict.passed and outputs(case, result) != outputs(case, own):
            verdict = Verdict(
                False, f"other results than this machine's: {difference(case, result, own)}"
            )
        verdicts[case.name] = verdict
    return verdicts


FLOATS = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32,
    pb.OPERAND_TYPE_TENSOR_FLOAT16,
    pb.OPERAND_TYPE_FLOAT32,
    pb.OPERAND_TYPE_FLOAT16,
}


def outputs(case: Case, result: pb.CaseResult) -> list[tuple[bytes, tuple[int, ...]]]:
    """Outputs that must be equal bit for bit."""
    main = case.test_case.model.main
    types = [main.operands[index].type for index in main.output_indexes]
    return [
        (b"" if kind in FLOATS else output.data, tuple(output.dimensions))
        for example in result.examples
        for output, kind in zip(example.outputs, types, strict=False)  # none after a failure
    ]


def difference(case: Case, result: pb.CaseResult, own: pb.CaseResult) -> str:
    pairs = zip(outputs(case, result), outputs(case, own), strict=True)
    return ", ".join(
        f"output {at}: {there.hex()[:64]}, here {here.hex()[:64]}"
        for at, ((there, _), (here, _)) in enumerate(pairs)
        if there != here
    )


@pytest.mark.sample(1000)
def test_without_dot_products(any_case: str, bundle: Bundle, host: HostDevice) -> None:
    bundle.check(any_case, lambda cases: judge(host, "cortex-a53", cases))


@pytest.mark.sample(1000)
def test_with_every_extension(any_case: str, bundle: Bundle, host: HostDevice) -> None:
    bundle.check(any_case, lambda cases: judge(host, "max", cases))


def test_a_static_service_that_is_asked_for_gpuacc_names_the_other_build() -> None:
    program = native.program("service", ARM64.uname)
    done = subprocess.run(
        [ARM64.qemu_user, program, "-v", "-c", "GpuAcc,CpuRef"], capture_output=True, text=True
    )
    # It ends for want of binder.
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if "GpuAcc" in line]
    assert len(lines) == 1, done.stderr
    assert "linked statically" in lines[0]
    assert "make android" in lines[0]
