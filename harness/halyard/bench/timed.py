# SPDX-License-Identifier: Apache-2.0
"""Files with times, whoever wrote them: which models they hold, and what the times depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from halyard import records
from halyard.bench.gpu import BACKEND as GPU
from halyard.bench.ratios import threads
from halyard.bench.results import OURS
from halyard.errors import ConfigError, HalyardError
from halyard.records.bench import Bench, Peer, Result
from halyard.records.run import Device, Model, Run

# Executions without rounds are cut into so many.
_BLOCKS = 10

# A benchmark, or runs of one model through several HAL versions.
Documents = Bench | Sequence[Run]
# By engine, its executions in rounds.
Sampled = Mapping[str, Sequence[Sequence[float]]]


def read(path: Path) -> Documents:
    """ConfigError where it is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    try:
        return records.decode(content, Run)
    except HalyardError:
        # Then it is a benchmark, or what that says of it holds.
        pass
    try:
        [document, *more] = records.decode(content, Bench)
    except HalyardError as error:
        raise ConfigError(
            f"{path}: {error}; give a file that halyard bench --json or halyard run --json wrote"
        ) from error
    if more:
        raise ConfigError(f"{path}: it holds {len(more) + 1} benchmarks, and one can be compared")
    return document


@dataclass(frozen=True)
class Timed:
    """`facts` are those that times depend on, but for the models; `models` go by what has to be
    the same; `versions` are the peers', by name."""

    facts: Mapping[str, str]
    models: Mapping[str, Sampled]
    versions: Mapping[str, str]
    complete: bool = True
    on_gpu: bool = False

    @classmethod
    def of(cls, documents: Documents) -> Self:
        if isinstance(documents, Bench):
            return cls._of_bench(documents)
        facts = {
            "device": ",".join({each.device.serial for each in documents}),
            "build of the device": ",".join({_build(each.device) for each in documents}),
            "target": ",".join({each.target for each in documents}),
        }
        models = {
            f"{_model(each.model, each.model)}, HAL {each.hal}": {OURS: _blocks(each.samples_ms)}
            for each in documents
        }
        return cls(facts, models, {})

    @classmethod
    def _of_bench(cls, document: Bench) -> Self:
        facts = {
            "device": document.device.serial if document.device else "",
            "build of the device": _build(document.device),
            "target": document.target,
            "processor": document.machine.cpu,
            "set of cores": ",".join(map(str, document.machine.cpus)),
            "number of burners": str(document.burners),
            **_choices(document.backends, fast_math=document.fast_math),
        }
        models = {
            f"{_model(result.subject, result)}, {threads(result.threads)}": {
                name: engine.rounds_ms for name, engine in result.engines.items()
            }
            for result in document.results
        }
        return cls(
            facts,
            models,
            _versions(document.peers),
            document.complete,
            on_gpu=_on_gpu(document.backends),
        )


def _choices(backends: Sequence[str], *, fast_math: bool) -> dict[str, str]:
    return {"choice of backends": ",".join(backends), "choice of fast math": str(fast_math)}


def _on_gpu(backends: Sequence[str]) -> bool:
    return any(name.partition(":")[0] == GPU for name in backends)


def _versions(peers: Sequence[Peer]) -> dict[str, str]:
    return {peer.name: peer.version for peer in peers if not peer.missing}


def _model(subject: Model | None, named: Result | Model) -> str:
    words = [named.title if isinstance(named, Model) else named.model]
    words += [str(word) for word in (named.type, named.size) if word]
    width = subject.width if subject is not None else 1.0
    words += [f"width {width:g}"] if isinstance(width, float) and width != 1.0 else []
    return " ".join(words)


def _blocks(samples: Sequence[float]) -> list[list[float]]:
    """Executions in a row have no rounds: those beside each other count as one."""
    count = _BLOCKS if len(samples) >= 2 * _BLOCKS else 1
    return [list(block) for block in np.array_split(np.asarray(samples), count) if len(block)]


def _build(device: Device | None) -> str:
    return device.properties.get("ro.build.fingerprint", "") if device else ""
