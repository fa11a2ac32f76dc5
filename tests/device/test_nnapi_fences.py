# SPDX-License-Identifier: Apache-2.0
"""NNAPI's C functions over services, with fences and memory of the kernel's own."""

import pytest

from halyard.devices import ServiceOptions, VirtualDevice, Wire
from tests.device.programs import put_test_program
from tests.device.test_golden_cases import nothing_left_behind


@pytest.mark.parametrize("wire", list(Wire))
def test_a_service_is_told_the_kernels_fences(device: VirtualDevice, wire: Wire) -> None:
    device.load_module("vgem")
    program = put_test_program(device, "nnapi_fences")
    options = ServiceOptions(wires=[wire], backends=["CpuRef"])
    with device.start_service(options) as service, nothing_left_behind(device, service):
        devices = f"HALYARD_NNAPI_DEVICES={wire}:{service.instance}"
        result = device.shell(f"{devices} {program}", timeout=150)
        print(result.stdout, result.stderr)
        assert service.is_running(), service.log()
    claims = result.stdout.splitlines()
    assert [claim for claim in claims if not claim.startswith("ok ")] == [], result.stderr
    assert len(claims) == 9
    assert result.exit_code == 0
