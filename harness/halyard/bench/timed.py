# SPDX-License-Identifier: Apache-2.0
"""Files with times, of any command: which models they hold, and what the times depend on."""

from __future__ import annotations

import contextlib
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
from halyard.records.standing import Row, Standing

# Executions without rounds are cut into so many.
_BLOCKS = 10

# A benchmark, what was kept of one, or runs of one model through several HAL versions.
Documents = Bench | Standing | Sequence[Run]
# By engine, its executions in rounds.
Sampled = Mapping[str, Sequence[Sequence[float]]]


def read(path: Path) -> Documents:
    """ConfigError where it is none."""
    documents = _decoded(path)
    for key, engines in Timed.of(documents).models.items():
        if any(time <= 0 for rounds in engines.values() for each in rounds for time in each):
            raise ConfigError(f"{path}: {key} has times that are not greater than 0")
    return documents


def _decoded(path: Path) -> Documents:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    with contextlib.suppress(HalyardError):
        return records.decode(content, Run)
    with contextlib.suppress(HalyardError, ValueError):
        [kept] = records.decode(content, Standing)
        return kept
    # Then it is a benchmark, or what that says of it holds.
    try:
        [document, *more] = records.decode(content, Bench)
    except HalyardError as error:
        raise ConfigError(
            f"{path}: {error}; give what halyard bench --json or --standing wrote, or halyard "
            "run --json"
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
        if isinstance(documents, Standing):
            return cls._of_standing(documents)
        facts = {
            "device": ",".join({each.device.serial for each in documents}),
            "build of the device": ",".join({_build(each.device) for each in documents}),
            "target": ",".join({each.target for each in documents}),
        }
        models = {
            _of_run(each.model) + (f", HAL {each.hal}" if each.hal else ""): {
                OURS: _blocks(each.samples_ms)
            }
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
            "set of cores": _cores(document.machine.cpus, same=document.same_core),
            "number of burners": str(document.burners),
            **_choices(document.backends, fast_math=document.fast_math),
        }
        models = {
            _of_result(result): {name: engine.rounds_ms for name, engine in result.engines.items()}
            for result in document.results
        }
        return cls(
            facts,
            models,
            _versions(document.peers),
            document.complete,
            on_gpu=_on_gpu(document.backends),
        )

    @classmethod
    def _of_standing(cls, kept: Standing) -> Self:
        facts = {
            "processor": kept.cpu,
            "set of cores": _cores(kept.cpus, same=kept.same_core),
            **_choices(kept.backends, fast_math=kept.fast_math),
        }
        models = {
            _of_row(row): {
                name: [[each] for each in rounds] for name, rounds in row.engines.items()
            }
            for row in kept.rows
        }
        versions = {name: peer.version for name, peer in kept.peers.items()}
        return cls(facts, models, versions, on_gpu=_on_gpu(kept.backends))


def _cores(cores: Sequence[int], *, same: bool) -> str:
    return ",".join(map(str, cores)) + (", the same for one thread" if same else "")


def _choices(backends: Sequence[str], *, fast_math: bool) -> dict[str, str]:
    return {"choice of backends": ",".join(backends), "choice of fast math": str(fast_math)}


def _on_gpu(backends: Sequence[str]) -> bool:
    return any(name.partition(":")[0] == GPU for name in backends)


def _versions(peers: Sequence[Peer]) -> dict[str, str]:
    return {peer.name: peer.version for peer in peers if not peer.missing}


def _named(name: str, data_type: object, size: object, width: object) -> str:
    """Unknown and missing parts are left out."""
    words = [name, *(str(word) for word in (data_type, size) if word)]
    words += [f"width {width:g}"] if isinstance(width, float) and width != 1.0 else []
    return " ".join(words)


def _of_run(model: Model) -> str:
    return _named(model.title, model.type, model.size, model.width)


def _of_result(result: Result) -> str:
    width = result.benchmark_model.width if result.benchmark_model is not None else None
    named = _named(result.model, result.type, result.size, width)
    return f"{named}, {threads(result.threads)}"


def _of_row(row: Row) -> str:
    return f"{_named(row.model, row.type, row.size, row.width)}, {threads(row.threads)}"


def _blocks(samples: Sequence[float]) -> list[list[float]]:
    """Executions in a row have no rounds: those beside each other count as one."""
    count = _BLOCKS if len(samples) >= 2 * _BLOCKS else 1
    return [list(block) for block in np.array_split(np.asarray(samples), count) if len(block)]


def _build(device: Device | None) -> str:
    return device.properties.get("ro.build.fingerprint", "") if device else ""
