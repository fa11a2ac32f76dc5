# SPDX-License-Identifier: Apache-2.0
"""The peers, as the benchmark sees them: what they take, and how their processes are started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard import onnx, tflite
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb

# Seconds that a package may take to be imported.
_PROBE = 120.0


@dataclass(frozen=True)
class Peer:
    """`write` gives the file that it loads, or a HalyardError for a model that has none."""

    name: str
    title: str
    write: Callable[[pb.Model], bytes]
    has_threads: bool = True  # whether it can be told how many to use

    def command(self, model: Path, case: Path, threads: int) -> Sequence[str | Path]:
        """Of the process that runs it (engine_process.py)."""
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
        return [sys.executable, "-m", "halyard.bench.worker", self.name]


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
    Peer("litert", "LiteRT", tflite.write),
    Peer("onnxruntime", "ONNX Runtime", onnx.write),
    Peer("armnn", "Arm NN", tflite.write, has_threads=False),
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
