# SPDX-License-Identifier: Apache-2.0
"""Where ours stands beside its peers, processor by processor: a small file of each, and the table
that is made of all of them."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from halyard import output_file, records, zoo
from halyard.bench.cores import OwnRounds
from halyard.bench.ratios import Grid, Ratio
from halyard.bench.results import OURS, RELAXED
from halyard.errors import ConfigError, HalyardError
from halyard.records import standing
from halyard.records.bench import Bench, Engine, Result
from halyard.records.standing import Row, Standing

# The marks around the table in a page.
BEGIN = "<!-- made of benchmarks/results by `make standing` -->"
END = "<!-- end of what is made -->"

# Words that say nothing of which processor it is.
_EMPTY_WORDS = re.compile(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*", re.IGNORECASE)


def of(document: Bench) -> Standing:
    """ConfigError for a benchmark that says nothing of a processor."""
    if not document.complete:
        raise ConfigError("a benchmark that did not come to its end has no standing")
    if document.burners or (document.device is not None and document.device.serial != "host"):
        raise ConfigError("a standing is that of this machine without any load")
    machine = document.machine
    rows = [row for row in map(_row, document.results) if OURS in row.engines]
    if not rows:
        raise ConfigError("a benchmark without times of ours has no standing")
    timed = {name for row in rows for name in row.engines}
    return Standing(
        date=document.date[:10],
        version=document.version,
        cpu=machine.cpu,
        features=machine.features,
        architecture=machine.architecture,
        cpus=machine.cpus,
        same_core=document.same_core,
        backends=document.backends,
        fast_math=document.fast_math,
        peers={
            peer.name: standing.Peer(title=peer.title, version=peer.version)
            for peer in document.peers
            if peer.name in timed
        },
        rows=rows,
    )


def _row(result: Result) -> Row:
    width = result.benchmark_model.width if result.benchmark_model is not None else None
    return Row(
        model=result.model,
        type=result.type,
        size=result.size,
        width=width if isinstance(width, float) else 1.0,
        threads=result.threads,
        core_paces=[_rounded(pace) for pace in result.core_paces],
        engines={
            name: [_rounded(statistics.median(each)) for each in engine.rounds_ms]
            for name, engine in _alike(result).items()
        },
    )


def _alike(result: Result) -> dict[str, Engine]:
    """Ours, and the peers that it is compared with: those that are as exact, if there are any."""
    timed = {name: engine for name, engine in result.engines.items() if engine.rounds_ms}
    peers = {name: engine for name, engine in timed.items() if name not in (OURS, RELAXED)}
    ours = {name: engine for name, engine in timed.items() if name == OURS}
    is_relaxed = any(engine.is_relaxed for engine in ours.values()) and any(
        engine.is_relaxed for engine in peers.values()
    )
    return {
        **ours,
        **{name: engine for name, engine in peers.items() if engine.is_relaxed == is_relaxed},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def save(document: Bench, folder: Path) -> Path:
    """Written as its processor's file, in place of an earlier one. ConfigError as of()."""
    kept = of(document)
    path = folder / file_name(kept)
    output_file.write(path, standing.encode(kept))
    return path


def file_name(kept: Standing) -> str:
    """Of processors that hide what they are, as in clouds, the features tell kinds apart."""
    words = [_short(kept.cpu), *kept.features[-1:], *kept.backends]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-") + ".json"


def _short(cpu: str) -> str:
    return " ".join(_EMPTY_WORDS.sub(" ", cpu).split())


def read(path: Path) -> Standing:
    """HalyardError for a file that is none."""
    try:
        [kept] = records.decode(path.read_bytes(), Standing)
    except (HalyardError, ValueError) as error:
        raise HalyardError(f"{path}: {error}") from error
    if not all(OURS in row.engines and all(row.engines.values()) for row in kept.rows):
        raise HalyardError(f"{path}: a row has no times of ours, or none of a peer that it names")
    return kept


def ratios(kept: Standing) -> list[Ratio]:
    """Ours to the best peer's."""
    found = []
    for row in kept.rows:
        ours = row.engines[OURS]
        peers = [times for name, times in row.engines.items() if name != OURS]
        value = max((_ratio(ours, theirs) for theirs in peers), default=None)
        found.append(Ratio(_model(row), row.type, row.threads, value))
    return found


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median over the rounds, in which engines take turns: what slows both down for a while is
    no difference. Of the medians, where one has missed rounds."""
    if len(ours) != len(theirs):
        return statistics.median(ours) / statistics.median(theirs)
    return statistics.median(each / beside for each, beside in zip(ours, theirs, strict=True))


def _model(row: Row) -> str:
    words = [row.model]
    if row.model in zoo.NAMES and row.size != zoo.default_size(row.model):
        words.append(str(row.size))
    return " ".join([*words, *([f"width {row.width:g}"] if row.width != 1.0 else [])])


def as_markdown(all_kept: Sequence[Standing]) -> str:
    """A table of processors, and one for each with its models."""
    ordered = sorted(all_kept, key=file_name)
    parts = [_table(Grid.of([mean for kept in ordered for mean in _means(kept)], "processor"))]
    for kept in ordered:
        parts.append(f"### {_title(kept)}\n\n{_circumstances(kept)}")
        parts.append(_table(Grid.of(ratios(kept))))
        if own := _own_rounds(kept):
            parts.append("Of one thread, those rounds in which the core was the engines' own:")
            parts.append(
                _table(Grid(["model", "type", "rounds", "ratio"], ["rounds", "ratio"], own))
            )
    return "\n\n".join(parts)


def _own_rounds(kept: Standing) -> list[list[str]]:
    fastest = max((pace for row in kept.rows for pace in row.core_paces), default=0.0)
    found = []
    for row in kept.rows:
        peers = [times for name, times in row.engines.items() if name != OURS]
        own = OwnRounds.among(row.core_paces, row.engines[OURS], peers, fastest)
        if own.ratio is not None:
            found.append([_model(row), row.type, f"{own.count} of {own.of}", f"{own.ratio:.2f}"])
    return found


def _means(kept: Standing) -> list[Ratio]:
    """Geometric, over the models that have a ratio."""
    values: dict[tuple[str, int], list[float]] = {}
    for ratio in ratios(kept):
        if ratio.value is not None:
            values.setdefault((ratio.data_type, ratio.threads), []).append(ratio.value)
    return [
        Ratio(_title(kept), data_type, threads, math.exp(statistics.mean(map(math.log, found))))
        for (data_type, threads), found in values.items()
    ]


def _title(kept: Standing) -> str:
    backends = f" with {','.join(kept.backends)}" if kept.backends else ""
    return f"{_short(kept.cpu)}{backends}"


def _circumstances(kept: Standing) -> str:
    cores = f"{len(kept.cpus)} core{'s' * (len(kept.cpus) != 1)}"
    peers = " and ".join(f"{peer.title} {peer.version}" for peer in kept.peers.values())
    features = f" with {', '.join(kept.features)}" if kept.features else ""
    return f"{kept.date}, {cores}{features}, beside {peers or 'nothing'}."


def _table(grid: Grid) -> str:
    marks = ["---:" if name in grid.numbers else "---" for name in grid.head]
    lines = [grid.head, *grid.rows]
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], f"|{'|'.join(marks)}|", *text[1:]])


def within(page: str, made: str) -> str:
    """The page with that between its marks. HalyardError for one that has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise HalyardError(f"the page lacks {END if begin else BEGIN}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"
