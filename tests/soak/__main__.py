# SPDX-License-Identifier: Apache-2.0
"""Puts a service on the virtual device under mixed load, and tells what grew.

Exit code 0 if nothing did, 1 if the interval of a slope lies wholly above what is let pass.
"""

import argparse
import contextlib
import functools
import secrets
import sys
from pathlib import Path

from halyard.conformance.collection import load_specs
from halyard.devices import ServiceOptions, VirtualDevice
from halyard.vm.virtual_machine import VmOptions
from tests.device.footprint import ServiceFootprint
from tests.soak.soak import KINDS, Soaked, sampled_cases, soak

_SPECS = Path(__file__).parents[1] / "specs" / "V1_2"
_CASES = 60
# The allocator's caches of freed blocks, for each thread and in an arena for a few of them, grow
# for hours; the service's own memory is the question.
_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}
# Seconds until every kind of client has come and gone a few times.
_WARM_UP = 120.0
_SPELLS = 20


def main() -> int:
    arguments = parse()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    cases = sampled_cases(load_specs(arguments.specs), _CASES, seed)
    seconds = arguments.minutes * 60
    machine = VmOptions(timeout=180, environment=_ENVIRONMENT)
    options = ServiceOptions(backends=["CpuRef"], verbose=False)
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(VirtualDevice.boot(machine))
        # Else the kernel makes single pages of a stack into two megabytes, at times of its own.
        device.shell("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        service = stack.enter_context(device.start_service(options))
        soaked = soak(
            device,
            service,
            cases,
            seconds=seconds,
            warm_up=min(_WARM_UP, seconds / 5),
            spells=_SPELLS,
            on_rest=show if arguments.verbose else lambda _: None,
            on_stage=functools.partial(print, flush=True),
        )
        alive = service.is_running()
        print("the service lived to the end" if alive else service.log()[-2000:])
    grown = report(soaked)
    return 0 if alive and not grown else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of load, after warming up")
    parser.add_argument("--seed", type=int, help="repeats a choice of cases")
    parser.add_argument("--specs", type=Path, default=_SPECS, help="whose cases clients run")
    parser.add_argument("--verbose", action="store_true", help="print what every rest finds")
    return parser.parse_args()


def show(state: ServiceFootprint) -> None:
    print(*(f"{kind.name} {kind.of(state):.0f}" for kind in KINDS), sep=", ", flush=True)


def report(soaked: Soaked) -> list[str]:
    """Prints the tables; the names of what grew."""
    for name, (well, badly) in soaked.rounds.items():
        print(f"{name:12} {well:6} rounds" + (f", and {badly} that failed" if badly else ""))
    print(f"{len(soaked.rests)} rests; growth per hour, with its 95 % interval:")
    print(f"{'':12} {'start':>10} {'end':>10} {'growth':>12} {'from':>12} {'to':>12} {'passes':>9}")
    grown = []
    for kind, found in soaked.slopes().items():
        grows = found.grows_by_more_than(kind.epsilon)
        if grows:
            grown.append(kind.name)
        print(
            f"{kind.name:12} {kind.of(soaked.start):10.0f} {kind.of(soaked.end):10.0f} "
            f"{found.value:12.2f} {found.low:12.2f} {found.high:12.2f} {kind.epsilon:9.0f} "
            f"{kind.unit}{' GROWS' if grows else ''}"
        )
    return grown


if __name__ == "__main__":
    sys.exit(main())
