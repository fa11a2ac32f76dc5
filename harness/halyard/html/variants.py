# SPDX-License-Identifier: Apache-2.0
"""Variants, which are comparable over time: the same model on the same device in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from halyard.store.reading import Timing

OURS = "halyard"


@dataclass(frozen=True, order=True)
class Variant:
    """`threads` is 0 where it is not known."""

    model: str
    device: str
    hal: str
    backends: str
    threads: int
    engine: str = OURS

    @classmethod
    def of(cls, row: Timing) -> Self:
        return cls(row.model, row.device, row.hal, row.backends, row.threads or 0, row.engine)

    def words(self) -> Mapping[str, str]:
        return {
            "model": self.model,
            "device": self.device,
            "hal": self.hal and f"HAL {self.hal}",
            "backends": self.backends,
            "threads": threads_text(self.threads),
            "engine": self.engine,
        }


def names(variants: Sequence[Variant], always: Sequence[str] = ("device",)) -> list[str]:
    """Of each what it does not share with all the others, and what is `always` told."""
    words = [variant.words() for variant in variants]
    telling = [
        part
        for part in ("model", "device", "hal", "backends", "threads", "engine")
        if part in always or len({each[part] for each in words}) > 1
    ]
    return [", ".join(each[part] for part in telling if each[part]) for each in words]


def threads_text(count: int) -> str:
    """Empty where it is not known."""
    return "" if not count else "1 thread" if count == 1 else f"{count} threads"


def by_variant(rows: Iterable[Timing]) -> dict[Variant, list[Timing]]:
    """The oldest of each first, as they came."""
    found: dict[Variant, list[Timing]] = {}
    for row in rows:
        found.setdefault(Variant.of(row), []).append(row)
    return found
