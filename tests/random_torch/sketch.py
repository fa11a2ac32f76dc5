# SPDX-License-Identifier: Apache-2.0
"""A module in the making: functions and layers, each of values that are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

_MOST_ELEMENTS = 3000
_LARGEST = 300.0
_MOST_RANK = 6

T = TypeVar("T")


class Net(nn.Module):
    """`steps` are functions and the values that they read; inputs are the first values."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[int]) -> None:
        super().__init__()
        self._steps = list(steps)
        self._outputs = list(outputs)
        layers = [step.function for step in steps if isinstance(step.function, nn.Module)]
        self.layers = nn.ModuleList(layers)

    def forward(self, *inputs: Any) -> Any:
        values = list(inputs)
        layers = iter(self.layers)
        for step in self._steps:
            # A copy of the module has layers of its own.
            function = next(layers) if isinstance(step.function, nn.Module) else step.function
            made = function(*(values[index] for index in step.reads))
            values += made if isinstance(made, tuple) else [made]
        return tuple(values[index] for index in self._outputs)


class Held(nn.Module):
    """A function of a value and of tensors that the module holds."""

    def __init__(self, function: Callable[..., Any], *tensors: Any) -> None:
        super().__init__()
        self._function = function
        self._names = [f"held_{number}" for number in range(len(tensors))]
        for name, tensor in zip(self._names, tensors, strict=True):
            self.register_buffer(name, tensor)

    def forward(self, *values: Any) -> Any:
        return self._function(*values, *(getattr(self, name) for name in self._names))


@dataclass(frozen=True)
class Step:
    word: str
    function: Callable[..., Any]
    reads: tuple[int, ...]


@dataclass(frozen=True)
class RandomNet:
    net: nn.Module
    inputs: tuple[Any, ...]
    words: tuple[str, ...]
    # Of 8 bits: the output of the next layer, of the input and of what the layers before gave.
    stages: Callable[[Any, Sequence[Any]], Any] | None = None


@dataclass
class Draft:
    random: np.random.Generator
    values: list[Any] = field(default_factory=list)
    # Those that are as they came in, so that every engine sorts and rounds the same numbers.
    pure: set[int] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    inputs: int = 0
    # Of 4 dimensions with channels last, for NNAPI alone.
    images: set[int] = field(default_factory=set)

    # ---- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def integer(self, low: int, high: int) -> int:
        """Both ends belong to it."""
        return int(self.random.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        if not choices:
            raise ValueError
        return choices[self.integer(0, len(choices) - 1)]

    def shape(self, rank: int, extent: int = 5) -> tuple[int, ...]:
        return tuple(self.integer(1, extent) for _ in range(rank))

    def axis(self, index: int) -> int:
        rank = self.rank(index)
        if not rank:
            raise ValueError
        axis = self.integer(0, rank - 1)
        return axis - rank if self.chance(0.4) else axis

    def rank(self, index: int) -> int:
        return int(self.values[index].ndim)

    def value(self, low: int = 0, high: int = _MOST_RANK, *, pure: bool = False) -> int:
        """A value of real numbers with so many dimensions, a new one more often than not."""
        found = [
            index
            for index, each in enumerate(self.values)
            if each.dtype == torch.float32
            and low <= each.ndim <= high
            and (index in self.pure or not pure)
        ]
        return self.pick(found[-2:] if self.chance(0.7) else found)

    def alike(self, index: int) -> int:
        """A value of the same shape; itself at times."""
        shape = self.values[index].shape
        return self.pick([
            at for at, each in enumerate(self.values)
            if each.dtype == torch.float32 and each.shape == shape
        ])  # fmt: skip

    # ---- the module -----------------------------------------------------------------------------

    def add_input(self, tensor: Any) -> int:
        assert not self.steps
        self.values.append(tensor)
        self.pure.add(len(self.values) - 1)
        self.inputs += 1
        return len(self.values) - 1

    def apply(
        self, word: str, function: Callable[..., Any], *reads: int, pure: bool = False
    ) -> int:
        """Adds it behind values that it reads. ValueError where it does not take them, or where
        what it gives is large in number or size."""
        try:
            with torch.no_grad():
                made = function(*(self.values[index] for index in reads))
        except (RuntimeError, ValueError, IndexError, NotImplementedError, TypeError) as error:
            raise ValueError from error
        found = list(made) if isinstance(made, tuple) else [made]
        for each in found:
            if not 0 < each.numel() <= _MOST_ELEMENTS or each.ndim > _MOST_RANK:
                raise ValueError
            if each.dtype == torch.float32 and not float(each.abs().max()) < _LARGEST:
                raise ValueError
        self.steps.append(Step(word, function, reads))
        first = len(self.values)
        self.values += found
        if pure and all(index in self.pure for index in reads):
            self.pure |= set(range(first, len(self.values)))
        return first

    def finished(self) -> RandomNet:
        """All that no step reads comes out, and another value at times."""
        read = {index for step in self.steps for index in step.reads}
        ends = [at for at in range(self.inputs, len(self.values)) if at not in read]
        if any(at not in read for at in range(self.inputs)):
            # Exporters drop an input that nothing reads.
            raise ValueError
        inner = [at for at in range(self.inputs, len(self.values)) if at in read]
        if inner and self.chance(0.2):
            ends.append(self.pick(inner))
        if not ends:
            raise ValueError
        net = Net(self.steps, ends).eval()
        for parameter in net.parameters():
            parameter.requires_grad_(False)
        words = tuple(step.word for step in self.steps)
        return RandomNet(net, tuple(self.values[: self.inputs]), words)


# It adds something to the module. ValueError where nothing that is there goes with it.
Draw = Callable[[Draft], object]

DRAWS: list[Draw] = []


def draws(weight: int = 1) -> Callable[[Draw], Draw]:
    def register(draw: Draw) -> Draw:
        DRAWS.extend([draw] * weight)
        return draw

    return register


def drawn(random: np.random.Generator, most_steps: int = 5) -> RandomNet:
    """ValueError where there is nothing in it."""
    draft = Draft(random)
    for _ in range(draft.pick((1, 1, 1, 2))):
        rank = draft.pick((1, 2, 2, 3, 3, 4, 4, 4, 4, 5))
        shape = draft.shape(rank, 8 if rank in (3, 4) else 5)
        if rank in (3, 4) and draft.chance(0.8):
            shape = (draft.integer(1, 2), draft.pick((1, 2, 3, 4, 6)), *shape[2:])
        draft.add_input(torch.from_numpy(draft.random.normal(0, 1.2, shape).astype("f4")))
    if draft.chance(0.12):
        places = draft.add_input(torch.from_numpy(draft.random.integers(0, 5, draft.shape(2))))
        draft.apply("embedding", nn.Embedding(5, draft.integer(1, 4)), places)
    wanted = draft.integer(1, most_steps)
    for _ in range(60):
        if len(draft.steps) >= wanted:
            break
        try:
            draft.pick(DRAWS)(draft)
        except ValueError:
            continue
    return draft.finished()
