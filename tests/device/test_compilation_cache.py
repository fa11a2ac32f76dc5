# SPDX-License-Identifier: Apache-2.0
"""Models that a service keeps in its clients' files, and another one finds there."""

from collections.abc import Iterator

import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import ServiceOptions, VirtualDevice
from halyard.model import DataType
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

FOLDER = "/data/local/tmp/kept-models"


@pytest.fixture
def case() -> pb.TestCase:
    model = BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.5).zoo_model
    return pb.TestCase(name="kept", model=model.model, examples=[model.example(0)])


@pytest.fixture(autouse=True)
def _nothing_kept(device: VirtualDevice) -> Iterator[None]:
    device.shell(f"rm -rf {FOLDER}").check()
    yield
    device.shell(f"rm -rf {FOLDER}").check()


def run(
    device: VirtualDevice, case: pb.TestCase, version: pb.HalVersion, **service: object
) -> pb.CaseResult:
    """By a service that lives as long as this takes."""
    options = pb.RunOptions(hal_version=version, cache_folder=FOLDER)
    with device.start_service(ServiceOptions(**service)) as running:  # type: ignore[arg-type]
        [result] = run_cases(device, [case], options, Target.hidl(running.instance))
    assert result.failed_stage == pb.STAGE_NONE, result.message
    return result


@pytest.mark.parametrize("version", [pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3])
def test_a_service_finds_what_the_one_before_it_kept(
    device: VirtualDevice, case: pb.TestCase, version: pb.HalVersion
) -> None:
    first, second = (run(device, case, version) for _ in range(2))
    assert (first.prepared_from_cache, second.prepared_from_cache) == (False, True)
    assert second.examples[0].outputs == first.examples[0].outputs


def test_a_file_that_was_changed_is_written_anew(device: VirtualDevice, case: pb.TestCase) -> None:
    first = run(device, case, pb.HAL_VERSION_1_3)
    for name in ("model0", "data0"):
        device.shell(
            f"for file in {FOLDER}/*.{name}; do "
            'printf "\\377\\000\\377" | dd of=$file bs=1 seek=50 conv=notrunc; done'
        ).check()
        damaged, mended = (run(device, case, pb.HAL_VERSION_1_3) for _ in range(2))
        assert (damaged.prepared_from_cache, mended.prepared_from_cache) == (False, True)
        assert damaged.examples[0].outputs == first.examples[0].outputs
        assert mended.examples[0].outputs == first.examples[0].outputs


# A process that has the files and no key could have written all of them.
def test_a_service_believes_what_its_own_key_has_authenticated(
    device: VirtualDevice, case: pb.TestCase
) -> None:
    folders = ["/data/vendor/halyard", "/data/vendor/halyard-other"]
    own, other = (["--cache-key-dir", folder] for folder in folders)
    device.shell(f"rm -rf {' '.join(folders)} && mkdir -p -m 700 {' '.join(folders)}").check()
    try:
        kept = [
            run(device, case, pb.HAL_VERSION_1_3, arguments=arguments).prepared_from_cache
            for arguments in (own, own, other, other, [], [], own)
        ]
        modes = device.shell(f"stat -c %a {folders[0]}/*").check().stdout.split()
    finally:
        device.shell(f"rm -rf {' '.join(folders)}").check()
    assert kept == [False, True, False, True, False, True, False]
    assert modes == ["600"]


def test_a_service_of_other_backends_prepares_anew(
    device: VirtualDevice, case: pb.TestCase
) -> None:
    assert not run(device, case, pb.HAL_VERSION_1_3).prepared_from_cache
    assert not run(device, case, pb.HAL_VERSION_1_3, backends=["CpuRef"]).prepared_from_cache
