# SPDX-License-Identifier: Apache-2.0
"""A short soak: that its parts work, and that what clients leave behind is nothing.

`python -m tests.soak` is the long one, which watches slopes.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.conformance.collection import load_specs
from halyard.devices import ServiceOptions, VirtualDevice
from tests.soak.soak import KINDS, sampled_cases, soak

SPECS = Path(__file__).parents[1] / "specs" / "V1_2"
# Binder threads that the kernel asked for stay, each with its stack.
MOST_BINDER_THREADS = 64


@pytest.mark.slow
def test_mixed_load_leaves_the_service_as_it_was(
    device: VirtualDevice, say: Callable[[str], None]
) -> None:
    with device.start_service(ServiceOptions(instance="halyard-soaked")) as service:
        cases = sampled_cases(load_specs(SPECS), 20, seed=1)
        soaked = soak(device, service, cases, seconds=6, warm_up=3, spells=2, on_stage=say)
        assert service.is_running(), service.log()
    assert soaked.end.models == 0
    assert soaked.end.reserved == 0
    assert soaked.end.descriptors <= soaked.start.descriptors
    assert soaked.end.threads <= soaked.start.threads + MOST_BINDER_THREADS
    assert soaked.end.mappings <= soaked.start.mappings + 4 * MOST_BINDER_THREADS
    assert {name for name, (well, _) in soaked.rounds.items() if well == 0} == set()
    assert set(soaked.slopes()) == set(KINDS)
