# SPDX-License-Identifier: Apache-2.0
"""Other engines in processes of their own: what they take, and how they are started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.engines.engine import EngineRefused
from halyard.engines.process import EngineProcess
from halyard.engines.workload import Workload
from halyard.errors import HalyardError

# Seconds that a package may take to be imported.
_PROBE = 120.0


@dataclass(frozen=True)
class Peer:
    """`file` gives what it loads, or a HalyardError for a model that has no such file."""

    name: str
    title: str
    file: Callable[[Workload], Path]
    has_threads: bool = True  # whether it can be told how many to use

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
    """What became of looking for it: a version, or why there is none."""

    peer: Peer
    version: str = ""
    reason: str = ""

    @property
    def available(self) -> bool:
        return not self.reason


PEERS = (
    Peer("litert", "LiteRT", Workload.tflite),
    Peer("onnxruntime", "ONNX Runtime", Workload.onnx),
    Peer("armnn", "Arm NN", Workload.tflite, has_threads=False),
)


def find(peers: Sequence[Peer], *, required: bool) -> list[FoundPeer]:
    """All of them, those that are missing too; these are a HalyardError if `required`."""
    found = [peer.probe() for peer in peers]
    missing = [entry for entry in found if not entry.available]
    if required and missing:
        raise HalyardError(
            "; ".join(f"{entry.peer.title} was asked for: {entry.reason}" for entry in missing)
        )
    return found
