# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities on arm64, whose minima and maxima treat them in a way of their own: CpuAcc
gives them where CpuRef does, on a processor without dot product instructions and on one with every
extension."""

import pytest

from halyard.devices.host import HostDevice
from halyard.vm.machine_type import ARM64
from tests.random_models.special_values import (
    difference,
    instruction_sets,
    poisoned,
    poisoned_chains,
    run_all,
)

_CASES = 3  # of each operation
_CHAINS = 32


@pytest.mark.parametrize("cpu", ["cortex-a53", "max"])
def test_go_through_every_instruction_set_as_through_the_reference(
    cpu: str, steady_seed: int
) -> None:
    cases = poisoned(steady_seed, _CASES) + poisoned_chains(steady_seed, _CHAINS)
    wrong = []
    with HostDevice(ARM64, cpu) as device:
        sets = instruction_sets(device)
        assert "neon" in sets
        expected = run_all(device, cases, backends=["CpuRef"], options=["--no-optimize"])
        for name in sets:
            options = ["--cpu-features", name]
            found = run_all(device, cases, backends=["CpuAcc", "CpuRef"], options=options)
            wrong += [
                f"{name}: {case.name}: {reason}"
                for case, one, other in zip(cases, expected, found, strict=True)
                if (reason := difference(case, one, other))
            ]
    assert not wrong, "\n".join([f"--seed {steady_seed}", *wrong[:10]])
