# SPDX-License-Identifier: Apache-2.0
"""Other engines in processes of their own: what they take, and how they are started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from halyard.engines.engine import EngineRefused
from halyard.engines.process import EngineProcess
from halyard.engines.pytorch import USUAL_WAYS, WAYS, Way
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, HalyardError

# Seconds that a package may take to be imported.
_PROBE = 120.0


@dataclass(frozen=True)
class Peer:
    """`file` gives what it loads, or a HalyardError for a model that has no such file. Those of one
    `family` are there together, and in one version, which `titled` puts into the title."""

    name: str
    title: str
    file: Callable[[Workload], Path]
    has_threads: bool = True  # whether it can be told how many to use
    family: str = ""
    titled: Callable[[str], str] | None = None
    is_relaxed: bool = False  # it rounds float32 on the way
    is_elsewhere: bool = False  # it does not compute on the processor

    def with_threads(self, threads: int) -> PeerEngine:
        return PeerEngine(self, threads)

    def command(self, model: Path, case: Path, threads: int) -> Sequence[str | Path]:
        return [*self._worker(), model, case, str(threads)]

    def probe(self) -> FoundPeer:
        """Imports it, in another process."""
        try:
            done = subprocess.run(
                [*self._worker(), "--version"], capture_output=True, text=True, timeout=_PROBE
            )
        except subprocess.TimeoutExpired:
            return FoundPeer(self, reason=f"it was not imported within {_PROBE:.0f} s")
        said = (done.stdout.strip() or done.stderr.strip()).splitlines() or [""]
        if done.returncode != 0:
            return FoundPeer(self, reason=said[-1])
        return FoundPeer(self, version=said[-1])

    def found(self, other: FoundPeer) -> FoundPeer:
        """As another of its family was."""
        title = self.titled(other.version) if self.titled and other.version else self.title
        return FoundPeer(replace(self, title=title), other.version, other.reason)

    def _worker(self) -> list[str]:
        return [sys.executable, "-m", "halyard.engines.worker", self.name]


@dataclass(frozen=True)
class PeerEngine:
    """A peer as an engine."""

    peer: Peer
    threads: int

    @property
    def title(self) -> str:
        return self.peer.title

    def command(self, work: Workload) -> Sequence[str | Path]:
        """EngineRefused, or NotExpressible, for what can be told before it runs."""
        if not self.peer.has_threads and self.threads != 1:
            raise EngineRefused("it can't be told how many threads to use")
        return self.peer.command(self.peer.file(work), work.inputs_alone(), self.threads)

    def prepare(self, work: Workload) -> EngineProcess:
        return EngineProcess(self.title, self.command(work), work.tensors)


@dataclass(frozen=True)
class FoundPeer:
    """The result of looking for it: a version, or why there is none."""

    peer: Peer
    version: str = ""
    reason: str = ""

    @property
    def available(self) -> bool:
        return not self.reason


def _torch(way: Way) -> Peer:
    return Peer(
        way.name,
        way.title(),
        Workload.bundle,
        family="torch",
        titled=way.title,
        is_relaxed=way.is_relaxed,
        is_elsewhere=True,
    )


# On the processor.
PEERS = (
    Peer("litert", "LiteRT", Workload.tflite),
    Peer("onnxruntime", "ONNX Runtime", Workload.onnx),
    Peer("armnn", "Arm NN", Workload.tflite, has_threads=False),
)

# On a GPU: PyTorch in each of its modes and precisions.
GPU_PEERS = tuple(map(_torch, WAYS))
USUAL_GPU_PEERS = tuple(map(_torch, USUAL_WAYS))


def named(text: str) -> list[Peer]:
    """Those of a list of names, with commas between. "torch" stands for all of PyTorch's usual
    modes, "torch-compile" for that mode in each precision. ConfigError for a name that is none."""
    groups: dict[str, Sequence[Peer]] = {peer.name: [peer] for peer in (*PEERS, *GPU_PEERS)}
    for peer in GPU_PEERS:
        mode = peer.name.rpartition("-")[0]
        groups[mode] = [other for other in GPU_PEERS if other.name.startswith(f"{mode}-")]
    groups["torch"] = USUAL_GPU_PEERS
    chosen: dict[str, Peer] = {}
    for name in text.split(","):
        if name.strip() not in groups:
            known = ", ".join([*(peer.name for peer in PEERS), "torch", *map(_name, GPU_PEERS)])
            raise ConfigError(f"--peers: no {name.strip()!r}, there are {known}")
        chosen.update({peer.name: peer for peer in groups[name.strip()]})
    return list(chosen.values())


def _name(peer: Peer) -> str:
    return peer.name


def usual(backends: Sequence[str]) -> list[Peer]:
    """Beside ours on these backends, where no others are asked for."""
    on_gpu = any(name.partition(":")[0] == "GpuAcc" for name in backends)
    return [*PEERS, *(USUAL_GPU_PEERS if on_gpu else ())]


def find(peers: Sequence[Peer], *, required: bool) -> list[FoundPeer]:
    """All of them, those that are missing too; these are a HalyardError if `required`."""
    families: dict[str, FoundPeer] = {}
    found = []
    for peer in peers:
        family = peer.family or peer.name
        if family not in families:
            families[family] = peer.probe()
        found.append(peer.found(families[family]))
    missing = [entry for entry in found if not entry.available]
    if required and missing:
        raise HalyardError(
            "; ".join(f"{entry.peer.title} was asked for: {entry.reason}" for entry in missing)
        )
    return found
