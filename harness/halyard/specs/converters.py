# SPDX-License-Identifier: Apache-2.0
"""Converters: each turns a model with its values into a variation of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

import numpy as np

from halyard.specs.declared_operands import Operand, Output
from halyard.specs.model import Model, SubgraphReference
from halyard.specs.operand_type import OperandType
from halyard.specs.session import SpecError


class ModelVariation:
    """Changes a copy of a model; in the base class, nothing."""

    supportsSubgraphs = True

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        # The changes to make: by the operand as the spec knows it.
        self.targetOperands: dict[Operand, object] = {}

    def Identify(self, operandArgs: object = None, paramArgs: object = None) -> Self:  # noqa: ARG002
        """Names the operands to change: a list, or a dict that says to what."""
        if operandArgs is None:
            return self
        if isinstance(operandArgs, Mapping):
            targets = dict(operandArgs)
        elif isinstance(operandArgs, Iterable) and not isinstance(operandArgs, str):
            targets = dict.fromkeys(operandArgs)
        else:
            raise SpecError(f"{operandArgs!r} names no operands")
        strangers = [each for each in targets if not isinstance(each, Operand)]
        if strangers:
            raise SpecError(f"{strangers[0]!r} is no operand")
        self.targetOperands = targets
        return self

    def apply(self, model: Model) -> None:
        """Changes the model, which is a copy made for it."""
        if model.has_subgraphs and not self.supportsSubgraphs:
            raise SpecError(f"{type(self).__name__} cannot convert a model with subgraphs")
        if not self.targetOperands:
            self.targetOperands = self.targets(model)
        for operand, target in self.targetOperands.items():
            self.convert(model.own(operand), target)

    def default_name(self) -> str:
        """The variation's suffix to a test's name if the spec gives it no other."""
        return ""

    def targets(self, model: Model) -> dict[Operand, object]:  # noqa: ARG002
        """The operands to change where the spec names none."""
        return {}

    def convert(self, operand: Operand, target: object) -> None:
        """Changes one of the operands."""


class DefaultVariation(ModelVariation):
    """Leaves the model as it is."""


class DataTypeConverter(ModelVariation):
    """Operands of other types, with the same real numbers."""

    NAMES = ("float16", "int32", "quant8", "quant8_signed")

    def __init__(
        self,
        targetType: str | None = None,
        name: str | None = None,
        scale: float | None = None,
        zeroPoint: int | None = None,
    ) -> None:
        super().__init__(name)
        self.targetType = None if targetType is None else targetType.lower()
        if self.targetType not in (None, *self.NAMES):
            raise SpecError(f"no target type {targetType!r} (one of {', '.join(self.NAMES)})")
        self.scale = scale
        self.zeroPoint = zeroPoint

    # The first that a target has names the variation.
    _DEFAULT_NAMES: ClassVar = {
        "TENSOR_QUANT8_SYMM_PER_CHANNEL": "channelQuant8",
        "TENSOR_QUANT8_ASYMM": "quant8",
        "TENSOR_QUANT8_ASYMM_SIGNED": "quant8_signed",
        "TENSOR_INT32": "int32",
        "TENSOR_FLOAT16": "float16",
    }

    def default_name(self) -> str:
        if self.targetType is not None:
            return self.targetType
        types = {
            target[0]
            for target in self.targetOperands.values()
            if isinstance(target, tuple | list) and target
        }
        found = (name for written, name in self._DEFAULT_NAMES.items() if written in types)
        return next(found, "float32")

    def targets(self, model: Model) -> dict[Operand, object]:
        """All FLOAT32 operands, here and in the subgraphs."""
        tensor, scalar = self._target_types()
        found: dict[Operand, object] = {}
        for operand in model.operands:
            if isinstance(operand, SubgraphReference):
                found[operand] = DataTypeConverter(
                    self.targetType, self.name, self.scale, self.zeroPoint
                )
            elif operand.type.type == "TENSOR_FLOAT32":
                found[operand] = tensor
            elif operand.type.type == "FLOAT32" and scalar is not None:
                found[operand] = scalar
        return found

    def _target_types(self) -> tuple[tuple[object, ...], tuple[object, ...] | None]:
        if self.targetType is None:
            raise SpecError("a DataTypeConverter without a type needs to Identify operands")
        if not self.targetType.startswith("quant8"):
            return (f"TENSOR_{self.targetType.upper()}",), (self.targetType.upper(),)
        if self.scale is None or self.zeroPoint is None:
            raise SpecError(f"{self.targetType} needs a scale and a zero point")
        signed = "_SIGNED" if self.targetType.endswith("signed") else ""
        # There is no scalar of such a type.
        return (f"TENSOR_QUANT8_ASYMM{signed}", self.scale, self.zeroPoint), None

    def convert(self, operand: Operand, target: object) -> None:
        if isinstance(target, DataTypeConverter):
            if not isinstance(operand, SubgraphReference):
                raise SpecError(f"{operand.name!r} is no subgraph that could be converted")
            target.apply(operand.model)
            return
        if not isinstance(target, tuple | list) or not target:
            raise SpecError(f"{operand.name!r} cannot become {target!r}")
        name, *parameters = target
        converted = OperandType.build(name, operand.type.dimensions, *parameters)
        if operand.has_elements:
            real = operand.type.dequantized(operand.array())
            operand.set_array(converted.quantized(real))
        operand.type = converted


class RelaxedModeConverter(ModelVariation):
    """Lets float32 be computed in the range and precision of float16."""

    NAMES = ("relaxed",)

    def __init__(self, isRelaxed: bool | str = True, name: str | None = None) -> None:
        super().__init__(name)
        if isinstance(isRelaxed, str) and isRelaxed.lower() not in self.NAMES:
            raise SpecError(f"no relaxed mode {isRelaxed!r}")
        self.isRelaxed = bool(isRelaxed)

    def default_name(self) -> str:
        return "relaxed" if self.isRelaxed else "float"

    def apply(self, model: Model) -> None:
        model.RelaxedExecution(self.isRelaxed)


class DataLayoutConverter(ModelVariation):
    """Channels before the image, or behind it."""

    supportsSubgraphs = False
    NAMES = ("nhwc", "nchw")

    def __init__(self, targetLayout: str = "nchw", name: str | None = None) -> None:
        super().__init__(name)
        self.targetLayout = targetLayout.lower()
        if self.targetLayout not in self.NAMES:
            raise SpecError(f"no layout {targetLayout!r} (one of {', '.join(self.NAMES)})")
        self._order = [0, 3, 1, 2] if self.targetLayout == "nchw" else [0, 2, 3, 1]

    def default_name(self) -> str:
        return self.targetLayout

    def convert(self, operand: Operand, target: object) -> None:  # noqa: ARG002
        dimensions = operand.type.dimensions
        if len(dimensions) == 4:
            if operand.has_elements:
                operand.set_array(operand.array().transpose(self._order))
            operand.type = operand.type.with_dimensions([dimensions[at] for at in self._order])
        elif dimensions == (4,) and operand.has_elements:
            # One value for each dimension.
            operand.set_array(operand.array()[self._order])
        elif operand.type.type == "BOOL":
            operand.SetValue(self.targetLayout == "nchw")
        else:
            raise SpecError(f"{operand.name!r} has no layout")


class AxisConverter(ModelVariation):
    """Moves an axis to another place, and takes out others, of which index 0 is left."""

    supportsSubgraphs = False

    def __init__(
        self, origin: int, target: int, rank: int, drop: Iterable[int] = (), name: str | None = None
    ) -> None:
        super().__init__(name)
        self._target = target
        self._rank = rank
        self._drop = sorted(drop)
        self._place = target % rank
        self._order = [axis for axis in range(rank) if axis != origin]
        self._order.insert(self._place, origin)

    def default_name(self) -> str:
        negative = "_neg" if self._target < 0 else ""
        return f"dim{self._rank - len(self._drop)}_axis{self._remaining_place()}{negative}"

    def _remaining_place(self) -> int:
        return self._place - sum(axis < self._place for axis in self._drop)

    def convert(self, operand: Operand, target: object) -> None:  # noqa: ARG002
        if operand.type.type == "INT32":
            place = self._remaining_place()
            rank = self._rank - len(self._drop)
            operand.SetValue(place - rank if self._target < 0 else place)
            return
        dimensions = operand.type.dimensions
        if len(dimensions) != self._rank:
            raise SpecError(f"{operand.name!r} has {len(dimensions)} dimensions, not {self._rank}")
        if operand.has_elements:
            values = operand.array().transpose(self._order)
            for axis in reversed(self._drop):
                values = np.take(values, 0, axis=axis)
            operand.set_array(values)
        moved = [dimensions[axis] for axis in self._order]
        kept = [extent for axis, extent in enumerate(moved) if axis not in self._drop]
        operand.type = operand.type.with_dimensions(kept)


class ActivationConverter(ModelVariation):
    """A fused activation, and outputs that are clamped as it says."""

    supportsSubgraphs = False
    # NNAPI's FuseCode, least and greatest.
    _ACTIVATIONS: ClassVar = {
        "none": (0, None, None),
        "relu": (1, 0.0, None),
        "relu1": (2, -1.0, 1.0),
        "relu6": (3, 0.0, 6.0),
    }
    NAMES = tuple(_ACTIVATIONS)

    def __init__(self, act: str = "relu", name: str | None = None) -> None:
        super().__init__(name)
        self.act = act.lower()
        if self.act not in self.NAMES:
            raise SpecError(f"no activation {act!r} (one of {', '.join(self.NAMES)})")

    def default_name(self) -> str:
        return self.act

    def convert(self, operand: Operand, target: object) -> None:  # noqa: ARG002
        code, low, high = self._ACTIVATIONS[self.act]
        if operand.type.type == "INT32":
            operand.SetValue(code)
            return
        if not isinstance(operand, Output):
            raise SpecError(f"{operand.name!r} is neither an activation nor an output")
        values = operand.array()
        if low is not None:
            values = np.maximum(values, operand.type.quantized(np.asarray(low)))
        if high is not None:
            values = np.minimum(values, operand.type.quantized(np.asarray(high)))
        operand.set_array(values)


# ---- lifetimes ----------------------------------------------------------------------------------


class LifetimeConverter(ModelVariation):
    """The same results by other lifetimes of operands. It leaves the model as it is: what it asks
    for is done to the finished case (halyard.cases.variants), like to a golden one."""

    CANONICAL: ClassVar[str]

    def default_name(self) -> str:
        return self.CANONICAL


class AllTensorsAsInputsConverter(LifetimeConverter):
    """Constant tensors are fed like inputs."""

    CANONICAL = "all_tensors_as_inputs"


class AllInputsAsInternalConverter(LifetimeConverter):
    """Each input goes through an ADD with 0 first."""

    CANONICAL = "all_inputs_as_internal"


class AllOutputsAsInternalConverter(LifetimeConverter):
    """Each output goes through an ADD with 0 at last."""

    CANONICAL = "all_outputs_as_internal"


# ---- what a spec may write instead --------------------------------------------------------------

_NAMED = (DataTypeConverter, RelaxedModeConverter, DataLayoutConverter, ActivationConverter)


def variation(value: object) -> ModelVariation:
    """A converter, or the one that a string, or a string with operands, stands for."""
    if isinstance(value, ModelVariation):
        return value
    name, *operands = value if isinstance(value, tuple | list) and value else [value]
    for converter in _NAMED:
        if isinstance(name, str) and name.lower() in converter.NAMES:
            return converter(name).Identify(*operands)
    raise SpecError(f"{name!r} is no variation")
