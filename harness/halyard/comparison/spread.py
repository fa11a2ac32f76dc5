# SPDX-License-Identifier: Apache-2.0
"""How far an engine's results are from its own, where what it is given, or how it computes, is as
right as before: of a model that magnifies the last bit of a number, no result is nearer than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from halyard import paths
from halyard.comparison.difference import compare
from halyard.engines.engine import EngineMissing, EngineRefused, Library
from halyard.engines.nudging import nudged, nudged_file, rounding_otherwise
from halyard.engines.original import run_file
from halyard.errors import HalyardError
from halyard.model import Array, TensorInfo
from halyard.model.fitting import fitted

INPUTS = "with its inputs an ulp away"
WEIGHTS = "with its weights an ulp away"
ROUNDING = "with what it rounds to 8 bits 2^-20 away"
KERNELS = "with other kernels, or in another order"

# Most roundings come out the same: one execution may show nothing.
_DRAWS = 4


@dataclass(frozen=True)
class Variation:
    """An engine's results in another way; `how` says in which."""

    how: str
    outputs: Sequence[Array]


@dataclass(frozen=True)
class Widest:
    """Of one output. `share`: of the elements, so many differ."""

    error: float = 0.0  # in real values
    share: float = 0.0
    how: str = ""


@dataclass
class Spread:
    """By output, of the variations that were asked for: each is an execution, and some take long,
    so that they are asked for one by one. Not thread-safe."""

    infos: Sequence[TensorInfo]
    outputs: Sequence[Array]  # the engine's own
    variations: Iterator[Variation]
    widest: list[Widest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.widest = [Widest() for _ in self.infos]

    def widen(self) -> bool:
        """By the next variation. False: there is none."""
        for variation in self.variations:
            for number, info in enumerate(self.infos):
                self.widest[number] = _wider(
                    self.widest[number],
                    info,
                    self.outputs[number],
                    variation.outputs[number],
                    variation.how,
                )
            return True
        return False


def _wider(before: Widest, info: TensorInfo, base: Array, other: Array, how: str) -> Widest:
    """Results of another shape are no measure."""
    if base.shape != other.shape:
        return before
    difference = compare(info, base, other)
    share = max(before.share, 1.0 - difference.exact_share)
    if difference.max_abs_error > before.error:
        return Widest(difference.max_abs_error, share, how)
    return Widest(before.error, share, before.how)


def variations(
    engine: Library,
    file: Callable[[], AbstractContextManager[Path]],
    inputs: Sequence[Array],
    infos: Sequence[TensorInfo],
) -> Iterator[Variation]:
    """Of what the engine gives, quick ones first. `infos`: of the outputs that its results are
    fitted to. What the engine does not take is left out."""

    def run(path: Path, given: Sequence[Array], by: Library | None = engine) -> list[Array] | None:
        if by is None:
            return None
        outputs, _ = run_file(by, path, given, 1, 0)
        return [fitted(*each) for each in zip(outputs, infos, strict=True)]

    def as_file(path: Path, content: bytes | None) -> list[Array] | None:
        if content is None:
            return None
        with paths.Temporary("weights") as folder:
            other = folder / f"model{path.suffix}"
            other.write_bytes(content)
            return run(other, inputs)

    def rounded(seed: int, path: Path) -> list[Array] | None:
        return as_file(path, rounding_otherwise(path, seed))

    def tried(how: str, vary: Callable[[Path], list[Array] | None]) -> Iterator[Variation]:
        """No file is held from one to the next, which may never be asked for."""
        try:
            with file() as path:
                outputs = vary(path)
        except (EngineMissing, EngineRefused, HalyardError, OSError, ValueError):
            return
        if outputs is not None:
            yield Variation(how, outputs)

    moved = [nudged(values) for values in inputs]
    if any(one is not other for one, other in zip(moved, inputs, strict=True)):
        yield from tried(INPUTS, lambda path: run(path, moved))
    yield from tried(WEIGHTS, lambda path: as_file(path, nudged_file(path)))
    yield from tried(KERNELS, lambda path: run(path, inputs, engine.otherwise()))
    for seed in range(_DRAWS):
        yield from tried(ROUNDING, partial(rounded, seed))
