# SPDX-License-Identifier: Apache-2.0
"""Examples as a spec gives them: values for a model's inputs and outputs, and variations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from halyard.specs.converters import (
    ActivationConverter,
    AxisConverter,
    DataLayoutConverter,
    DefaultVariation,
    ModelVariation,
    RelaxedModeConverter,
    variation,
)
from halyard.specs.declared_operands import IgnoredOutput, Input, Operand
from halyard.specs.model import Model
from halyard.specs.session import SpecError, current

Feed = tuple[Mapping[object, object], Mapping[object, object]]


class Example:
    """Values for a model. Every feed is a test of its own, in every variation."""

    def __init__(self, *args: object, model: Model | None = None, name: str | None = None) -> None:
        session = current()
        models = session.of(Model)
        if model is None and not models:
            raise SpecError("an example comes after its model")
        self.line = session.line()
        self.model = models[-1] if model is None else model
        self.name = name
        self.feeds = [self._feed(each) for each in args]
        # In each group one is chosen, in every combination with those of the other groups.
        self.groups: list[list[ModelVariation]] = []
        self.expects_failure = False
        self.multinomial_tolerance = 0.0
        self.derives_lifetimes = True
        self.derives_unspecified_outputs = True
        session.declared.append(self)

    def _feed(self, values: object) -> Feed:
        if isinstance(values, tuple | list) and len(values) == 2:
            inputs, outputs = values
            if isinstance(inputs, Mapping) and isinstance(outputs, Mapping):
                return inputs, outputs
        if not isinstance(values, Mapping):
            raise SpecError("an example is a dict, or a pair of them, from operands to values")
        for operand in (*self.model.inputs, *self.model.outputs):
            if operand not in values and not isinstance(operand, IgnoredOutput):
                raise SpecError(f"the example has no value for {operand.name!r}")
        return values, values

    # ---- variations -----------------------------------------------------------------------------

    def AddVariations(
        self, *args: object, includeDefault: bool = True, defaultName: str | None = None
    ) -> Self:
        group: list[ModelVariation] = [DefaultVariation(defaultName)] if includeDefault else []
        self.groups.append(group + [variation(each) for each in args])
        return self

    def AddNchw(
        self, *args: Operand, includeDefault: bool = True, defaultName: str | None = "nhwc"
    ) -> Self:
        converter = DataLayoutConverter("nchw").Identify(args)
        return self.AddVariations(converter, includeDefault=includeDefault, defaultName=defaultName)

    def AddRelaxed(
        self,
        isRelaxed: bool = True,
        includeDefault: bool = True,
        defaultName: str | None = None,
    ) -> Self:
        converter = RelaxedModeConverter(isRelaxed)
        return self.AddVariations(converter, includeDefault=includeDefault, defaultName=defaultName)

    def AddAllActivations(self, *args: Operand) -> Self:
        names = sorted(ActivationConverter.NAMES)
        converters = [ActivationConverter(each).Identify(args) for each in names]
        return self.AddVariations(*converters, includeDefault=False)

    def AddDims(
        self,
        dims: int | Iterable[int],
        *args: Operand,
        includeDefault: bool = True,
        defaultName: str | None = None,
    ) -> Self:
        """Lower ranks: leading axes other than the target go."""
        converters = self._of_ranks([dims] if isinstance(dims, int) else dims, args)
        return self.AddVariations(
            *converters, includeDefault=includeDefault, defaultName=defaultName
        )

    def AddAllDims(self, *args: Operand) -> Self:
        """All ranks down to 1."""
        _, rank = _axis_and_rank(args)
        converters = self._of_ranks(range(rank, 0, -1), args)
        return self.AddVariations(*converters, includeDefault=False)

    def AddAllDimsAndAxis(self, *args: Operand) -> Self:
        """All ranks down to 1, with the target at every place, counted from either end."""
        axis, rank = _axis_and_rank(args)
        converters = [
            AxisConverter(axis, target, rank, range(dropped)).Identify(args)
            for dropped in range(rank)
            for place in range(dropped, rank)
            for target in (place, place - rank)
        ]
        return self.AddVariations(*converters, includeDefault=False)

    @staticmethod
    def _of_ranks(ranks: Iterable[int], operands: tuple[Operand, ...]) -> list[AxisConverter]:
        axis, rank = _axis_and_rank(operands)
        others = [each for each in range(rank) if each != axis]
        ranks = list(ranks)
        if any(not 1 <= each <= rank for each in ranks):
            raise SpecError(f"the ranks {ranks} are not all within 1 to {rank}")
        return [
            AxisConverter(axis, axis, rank, others[: rank - each]).Identify(operands)
            for each in ranks
        ]

    # ---- what is said of the tests --------------------------------------------------------------

    @staticmethod
    def SetVersion(ver: str | None, *args: str) -> None:
        """The HAL version of the tests with these names."""
        current().versions.update(dict.fromkeys(args, ver))

    def ExpectFailure(self) -> Self:
        """The model must be refused, or its execution fail."""
        if self.multinomial_tolerance:
            raise SpecError("an example that fails has no distribution")
        self.expects_failure = True
        return self

    def WithMultinomialDistributionTolerance(self, expectedTolerance: float) -> Self:
        """The outputs are draws, which follow the distribution that the first input gives."""
        if self.expects_failure:
            raise SpecError("an example that fails has no distribution")
        self.multinomial_tolerance = float(expectedTolerance)
        return self

    def DisableLifeTimeVariation(self) -> Self:
        self.derives_lifetimes = False
        return self

    def DisableDynamicOutputShapeVariation(self) -> Self:
        self.derives_unspecified_outputs = False
        return self


def _axis_and_rank(operands: tuple[Operand, ...]) -> tuple[int, int]:
    """The axis that an INT32 among them says, or the last; and the rank of the others."""
    axis = -1
    ranks = set()
    for operand in operands:
        if operand.type.type == "INT32":
            if isinstance(operand, Input) or not operand.value:
                raise SpecError(f"the axis {operand.name!r} is no constant")
            axis = int(str(operand.value[0]))
        else:
            ranks.add(len(operand.type.dimensions))
    if len(ranks) != 1:
        raise SpecError(f"operands of one rank are needed; they have {sorted(ranks)}")
    [rank] = ranks
    if not -rank <= axis < rank:
        raise SpecError(f"no axis {axis} in {rank} dimensions")
    return axis % rank, rank
