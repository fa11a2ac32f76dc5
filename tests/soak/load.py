# SPDX-License-Identifier: Apache-2.0
"""Clients of every kind on a device, at once and for as long as they are let.

Each is a loop of the device's shell, so that none waits for this machine. A loop writes a line per
round, ok or the exit code of what failed, into a file of its own.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard import delimited, native
from halyard.conformance import Case
from halyard.devices import WORK_FOLDER, Service, VirtualDevice
from halyard.measurement import Subject
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import DataType

_FOLDER = f"{WORK_FOLDER}/soak"
_SUBJECT = Subject("mobilenet_v2", DataType.QUANT8, 32, 0.1)
# Seconds to give a loop to finish its round.
_LAST_ROUND = 60


@dataclass(frozen=True)
class Client:
    """`command` is one round; with `dies`, it is killed soon after it began."""

    name: str
    command: str
    dies: bool = False


class Load:
    """Runs while its context lasts. `rounds` tells what came of it."""

    def __init__(
        self, device: VirtualDevice, service: Service, cases: Sequence[Case], folder: Path
    ) -> None:
        """`cases`: what the conformance clients run. `folder`: for files, of this machine."""
        self._device = device
        self._runner = device.put_program(native.RUNNER)
        self._target = shlex.quote(f"hidl:{service.instance}")
        device.shell(f"rm -rf {_FOLDER}; mkdir -p {_FOLDER}").check()
        model = _SUBJECT.zoo_model
        subject = pb.TestCase(name="subject", model=model.model, examples=[model.example(0)])
        self._put(folder, "subject.bundle", delimited.write([subject]))
        self._put(folder, "cases.bundle", delimited.write([case.test_case for case in cases]))
        self._clients = self._make_clients(folder)

    def _put(self, folder: Path, name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        self._device.push(folder / name, f"{_FOLDER}/{name}")

    def _make_clients(self, folder: Path) -> list[Client]:
        def runs(name: str, bundle: str, options: pb.RunOptions) -> str:
            self._put(folder, f"{name}.options", options.SerializeToString())
            return (
                f"{self._runner} --target {self._target} --bundle {_FOLDER}/{bundle}.bundle "
                f"--options {_FOLDER}/{name}.options --results {_FOLDER}/{name}.results"
            )

        def hostile(mode: str) -> str:
            return (
                f"{self._runner} --target {self._target} --hostile {mode} "
                f"--bundle {_FOLDER}/subject.bundle"
            )

        asynchronous, synchronous = pb.EXECUTION_MODE_ASYNC, pb.EXECUTION_MODE_SYNC
        ways = {
            "cases-1.0": pb.RunOptions(hal_version=pb.HAL_VERSION_1_0, mode=asynchronous),
            "cases-1.2": pb.RunOptions(hal_version=pb.HAL_VERSION_1_2, mode=synchronous),
            "cases-1.3": pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=asynchronous),
        }
        prepares = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=synchronous)
        executes = pb.RunOptions(hal_version=pb.HAL_VERSION_1_1, mode=asynchronous, repeat=20)
        dying = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=synchronous, repeat=1_000_000)
        return [
            *(Client(name, runs(name, "cases", options)) for name, options in ways.items()),
            Client("prepares", runs("prepares", "subject", prepares)),
            Client("executes", runs("executes", "subject", executes)),
            Client("dies", runs("dies", "subject", dying), dies=True),
            Client("dies-early", hostile("die-during-execute")),
            Client("cuts-memory", hostile("cut-memory")),
            Client("lies", hostile("garbage-parcel")),
        ]

    def _loop(self, client: Client) -> str:
        if client.dies:
            # A runner's cases run in processes of their own, which end with its group; or it has
            # not come as far as to have one.
            round_ = (
                f"setsid {client.command} >/dev/null 2>&1 & p=$!; "
                "sleep 0.$((RANDOM % 9 + 1)); kill -9 -- -$p; kill -9 $p; wait $p; echo ok"
            )
        else:
            round_ = f"{client.command} >/dev/null 2>&1 && echo ok || echo $?"
        return f"while [ ! -e {_FOLDER}/end ]; do {round_}; done"

    def __enter__(self) -> Self:
        self._device.shell(f"rm -f {_FOLDER}/end {_FOLDER}/*.rounds").check()
        for client in self._clients:
            loop = f"{self._loop(client)} >>{_FOLDER}/{client.name}.rounds 2>/dev/null"
            done = f"{loop}; echo >{_FOLDER}/{client.name}.done"
            self._device.shell(f"setsid sh -c {shlex.quote(done)} >/dev/null 2>&1 </dev/null &")
        return self

    def __exit__(self, *_: object) -> None:
        """Lets every client finish its round."""
        self._device.shell(
            f"echo >{_FOLDER}/end; for i in $(seq {_LAST_ROUND}); do "
            f"[ $(ls {_FOLDER}/*.done 2>/dev/null | wc -l) = {len(self._clients)} ] && break; "
            "sleep 1; done",
            timeout=_LAST_ROUND + 30,
        )
        self._device.shell(f"rm -f {_FOLDER}/*.done")

    def rounds(self) -> dict[str, tuple[int, int]]:
        """By client, how many rounds went well, and how many did not."""
        found = {}
        for client in self._clients:
            said = self._device.shell(f"cat {_FOLDER}/{client.name}.rounds").stdout.split()
            well = said.count("ok")
            found[client.name] = (well, len(said) - well)
        return found
