# SPDX-License-Identifier: Apache-2.0
"""The waits of an honest client before, during and after each attack, as a Markdown table.

`python -m tests.device.attack_table [ATTACK ...]` boots a virtual device of its own. It takes some
two minutes for an attack, and a machine that does nothing else: times are a few milliseconds, of an
emulated processor.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from halyard.devices import ServiceOptions, VirtualDevice
from halyard.vm.virtual_machine import VmOptions
from tests.device.attacking import STRANGER, Attacker, Fight, Latency

MEMORY = 64  # MiB that the service may take

# The kinds of calls that have columns of their own; the last ones are of all kinds.
SHOWN = ("getStatus", "prepareModel", "executeSynchronously")


@dataclass(frozen=True)
class Row:
    """An attack that goes on for as long as somebody suffers from it."""

    words: tuple[str | int, ...]
    # By the honest client's user, too; the service then has to answer, at whatever time.
    same_user: bool = True

    @property
    def name(self) -> str:
        return " ".join(str(word) for word in self.words)


ROWS: Sequence[Row] = (
    Row(("slot-hog", "--clients", 64)),
    Row(("slot-hog", "--clients", 64, "--against", "convolution")),
    Row(("slot-hog", "--clients", 64, "--against", "high")),
    Row(("slot-hog", "--clients", 2, "--processes", 40)),
    Row(("memory-hog", "--clients", 300, "--processes", 3, "--uids", 3)),
    Row(("one-model", "--processes", 200)),
    Row(("sync-hog", "--clients", 8)),
    Row(("sync-hog", "--clients", 64)),
    Row(("prepare-hog", "--clients", 64)),
    Row(("support-hog", "--clients", 32, "--against", "nodes")),
    Row(("thread-bomb", "--clients", 4, "--processes", 24)),
    Row(("execute-flood", "--clients", 64)),
    Row(("object-flood", "--clients", 8)),
    Row(("pool-hoarder", "--clients", 40)),
    Row(("request-hoarder", "--clients", 64)),
    Row(("mapping-bomb", "--clients", 400)),
    Row(("address-space", "--clients", 40, "--against", "used-model")),
    Row(("memory-hog", "--clients", 300)),
    Row(("sparse-pools", "--clients", 40)),
    Row(("silent-file", "--clients", 70, "--against", "array")),
    Row(("silent-file", "--clients", 70, "--against", "page")),
    Row(("lingering-socket", "--clients", 70, "--against", "array")),
    Row(("trailing-bytes", "--clients", 6, "--against", "behind")),
    Row(("buffer-fill", "--clients", 48)),
    Row(("debug", "--clients", 16, "--against", "eventfd")),
    Row(("oneway-flood", "--clients", 8)),
    Row(("name-thief",)),
    Row(("name-crowd", "--clients", 1, "--processes", 200)),
)


def cell(kind: str, fights: Sequence[Fight]) -> str:
    """Medians and 99th percentiles of one kind of call, in milliseconds."""
    latencies = [fight.latencies.get(kind) for fight in fights]

    def line(number: str) -> str:
        return " / ".join(
            "-" if latency is None else f"{getattr(latency, number) / 1000:.1f}"
            for latency in latencies
        )

    return f"{line('median')} ({line('p99')})"


def ratio(number: str, before: Fight, during: Fight) -> float:
    """The largest over all kinds of calls that are made many times."""

    def of(latency: Latency) -> int:
        return max(int(getattr(latency, number)), 1)

    return max(
        (
            of(during.latencies[kind]) / of(latency)
            for kind, latency in before.latencies.items()
            if kind in during.latencies and latency.calls > 1
        ),
        default=float("nan"),
    )


def show(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.device.attack_table")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="those with it in their names")
    parser.add_argument("--seconds", type=int, default=20, help="of each of the three times")
    parser.add_argument("--backends", default="CpuRef", help="of the service")
    arguments = parser.parse_args()
    chosen = [
        row
        for row in ROWS
        if not arguments.attacks or any(part in row.name for part in arguments.attacks)
    ]
    if not chosen:
        parser.error("no such attack; there are: " + ", ".join(row.name for row in ROWS))
    show("attack", "user", *(f"{kind}, ms" for kind in SHOWN), "median ×", "p99 ×", "failure")
    show("---", "---", *("---" for _ in SHOWN), "---", "---", "---")
    failures = 0
    options = ServiceOptions(
        instance="halyard-victim",
        backends=arguments.backends.split(","),
        verbose=False,
        arguments=["--max-memory", str(MEMORY)],
    )
    with VirtualDevice.boot(VmOptions(timeout=180)) as device:
        for row in chosen:
            for user in (STRANGER, 0) if row.same_user else (STRANGER,):
                # A service of its own, so that no attack begins where another one ended.
                with device.start_service(options) as service:
                    attacker = Attacker(device, service, quiet=True)
                    before = attacker.honest(arguments.seconds)
                    during = attacker.beside(*row.words, "--uid", user, seconds=arguments.seconds)
                    after = attacker.honest(arguments.seconds)
                    failure = during.failure or after.failure
                    if not service.is_running():
                        failure = "the service died"
                failures += failure != ""
                fights = (before, during, after)
                show(
                    row.name,
                    "another" if user else "the same",
                    *(cell(kind, fights) for kind in SHOWN),
                    f"{ratio('median', before, during):.1f}",
                    f"{ratio('p99', before, during):.1f}",
                    failure,
                )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
