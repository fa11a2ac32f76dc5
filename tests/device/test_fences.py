# SPDX-License-Identifier: Apache-2.0
"""Fences and buffers of the kernel's own: sync_files that have not happened yet, and dma-bufs."""

import pytest

from halyard.devices import ServiceOptions, VirtualDevice, Wire
from tests.device.programs import put_test_program


@pytest.mark.parametrize("wire", list(Wire))
def test_a_service_waits_for_real_fences_and_maps_real_buffers(
    device: VirtualDevice, wire: Wire
) -> None:
    device.load_module("vgem")
    selftest = put_test_program(device, "fence_selftest")
    with device.start_service(ServiceOptions(wires=[wire], backends=["CpuRef"])) as service:
        result = device.shell(f"{selftest} {wire} {service.instance}", timeout=150)
        print(result.stdout, result.stderr)
        assert service.is_running(), service.log()
    claims = result.stdout.splitlines()
    assert [claim for claim in claims if not claim.startswith("ok ")] == [], result.stderr
    assert len(claims) > 10
    assert result.exit_code == 0
