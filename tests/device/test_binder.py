# SPDX-License-Identifier: Apache-2.0
"""The binder transport alone, on the kernel's own driver."""

from halyard.devices import VirtualDevice
from tests.device.programs import put_test_program


def test_the_transport_keeps_its_promises(device: VirtualDevice) -> None:
    selftest = put_test_program(device, "binder_selftest")
    result = device.shell(f"{selftest} /dev/vndbinder", timeout=300)
    print(result.stdout)
    claims = result.stdout.splitlines()
    assert [claim for claim in claims if not claim.startswith("ok ")] == [], result.stderr
    assert len(claims) > 5
    assert result.exit_code == 0
