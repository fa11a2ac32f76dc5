# SPDX-License-Identifier: Apache-2.0
"""Clients of every kind on a device, at once and for as long as they are let.

Each is a loop of the device's shell, so that none waits for this machine. A loop writes a line per
round, ok or the exit code of what failed, into a file of its own.
"""

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard.benchmark_model import BenchmarkModel
from halyard.cases import Case
from halyard.devices import WORK_FOLDER, Service, VirtualDevice
from halyard.model import DataType
from halyard.programs import native, protobuf_stream
from halyard.proto import halyard_pb2 as pb
from tests.device.programs import put_test_program

_BENCHMARK_MODEL = BenchmarkModel("mobilenet_v2", DataType.QUANT8, 32, 0.1)
# Seconds to give every loop to finish its round.
_LAST_ROUND = 240
_numbers = itertools.count()


@dataclass(frozen=True)
class Client:
    """`command` is one round; with `dies`, it is killed soon after it began."""

    name: str
    command: str
    dies: bool = False


class Load:
    """Runs while its context lasts, and can do so again. `rounds` tells what came of it in all."""

    def __init__(
        self,
        device: VirtualDevice,
        service: Service,
        cases: Sequence[Case],
        folder: Path,
        of_each: int = 1,
    ) -> None:
        """`cases`: what the conformance clients run. `folder`: for files, of this machine.
        `of_each`: how many clients of each kind."""
        self._device = device
        # Its own, so that a loop that is late still finds the word that ends it.
        self._folder = f"{WORK_FOLDER}/soak-{next(_numbers)}"
        self._runner = device.put_program(native.RUNNER)
        self._hostile_client = put_test_program(device, "hostile-client")
        self._target = shlex.quote(f"hidl:{service.instance}")
        self._instance = shlex.quote(service.instance)
        device.shell(f"rm -rf {self._folder}; mkdir -p {self._folder}").check()
        model = _BENCHMARK_MODEL.zoo_model
        test_case = pb.TestCase(name="model", model=model.model, examples=[model.example(0)])
        self._put(folder, "model.bundle", protobuf_stream.write([test_case]))
        self._put(folder, "cases.bundle", protobuf_stream.write([case.test_case for case in cases]))
        self._clients = [
            client
            for number in range(of_each)
            for client in self._make_clients(folder, f"-{number}" if of_each > 1 else "")
        ]

    def _put(self, folder: Path, name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        self._device.push(folder / name, f"{self._folder}/{name}")

    def _make_clients(self, folder: Path, suffix: str) -> list[Client]:
        def runs(kind: str, bundle: str, options: pb.RunOptions) -> str:
            name = kind + suffix
            self._put(folder, f"{name}.options", options.SerializeToString())
            return (
                f"{self._runner} --target {self._target} --bundle {self._folder}/{bundle}.bundle "
                f"--options {self._folder}/{name}.options --results {self._folder}/{name}.results"
            )

        def hostile(mode: str) -> str:
            return f"{self._hostile_client} {self._instance} {mode} {self._folder}/model.bundle"

        asynchronous, synchronous = pb.EXECUTION_MODE_ASYNC, pb.EXECUTION_MODE_SYNC
        ways = {
            "cases-1.0": pb.RunOptions(hal_version=pb.HAL_VERSION_1_0, mode=asynchronous),
            "cases-1.2": pb.RunOptions(hal_version=pb.HAL_VERSION_1_2, mode=synchronous),
            "cases-1.3": pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=asynchronous),
        }
        prepares = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=synchronous)
        executes = pb.RunOptions(hal_version=pb.HAL_VERSION_1_1, mode=asynchronous, repeat=20)
        dying = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=synchronous, repeat=1_000_000)
        commands = {
            **{kind: runs(kind, "cases", options) for kind, options in ways.items()},
            "prepares": runs("prepares", "model", prepares),
            "executes": runs("executes", "model", executes),
            "dies": runs("dies", "model", dying),
            "dies-early": hostile("die-during-execute"),
            "cuts-memory": hostile("cut-memory"),
            "lies": hostile("garbage-parcel"),
        }
        return [
            Client(kind + suffix, command, dies=kind == "dies")
            for kind, command in commands.items()
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
        return f"while [ ! -e {self._folder}/end ]; do {round_}; done"

    def __enter__(self) -> Self:
        self._device.shell(f"rm -f {self._folder}/end").check()
        for client in self._clients:
            loop = f"{self._loop(client)} >>{self._folder}/{client.name}.rounds 2>/dev/null"
            done = f"{loop}; echo >{self._folder}/{client.name}.done"
            self._device.shell(f"setsid sh -c {shlex.quote(done)} >/dev/null 2>&1 </dev/null &")
        return self

    def __exit__(self, *_: object) -> None:
        """Lets every client finish its round."""
        self._device.shell(
            f"echo >{self._folder}/end; for i in $(seq {_LAST_ROUND}); do "
            f"[ $(ls {self._folder}/*.done 2>/dev/null | wc -l) = {len(self._clients)} ] && break; "
            "sleep 1; done",
            timeout=_LAST_ROUND + 30,
        )
        self._device.shell(f"rm -f {self._folder}/*.done")

    def rounds(self) -> dict[str, tuple[int, int]]:
        """By client, how many rounds went well, and how many did not."""
        found = {}
        for client in self._clients:
            said = self._device.shell(f"cat {self._folder}/{client.name}.rounds").stdout.split()
            well = said.count("ok")
            found[client.name] = (well, len(said) - well)
        return found
