# SPDX-License-Identifier: Apache-2.0
"""Models as a spec builds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from halyard.cases.assembly import ValuedOperand, ValuedSubgraph
from halyard.proto import halyard_pb2 as pb
from halyard.specs.declared_operands import (
    BoolScalar,
    Float32Scalar,
    Float32Vector,
    IgnoredOutput,
    Input,
    Int32Scalar,
    Int32Vector,
    Operand,
    Output,
    Parameter,
)
from halyard.specs.session import SpecError, current


@dataclass(eq=False)
class Step:
    """An operation of a model."""

    type: str
    inputs: list[Operand]
    line: int
    outputs: list[Operand] = field(default_factory=list)


class Model:
    """Operands in the order in which they first appear, and operations between them."""

    def __init__(self, name: str | None = None) -> None:
        session = current()
        self.name = name
        self.operations: list[Step] = []
        self.operands: list[Operand] = []
        self.isRelaxed = False
        self.version = session.version
        session.declared.append(self)

    # ---- what a spec calls ----------------------------------------------------------------------

    def Operation(self, op_name: str, *args: object) -> Self:
        operation = Step(op_name, [argument(each) for each in args], current().line())
        self.operations.append(operation)
        self._register(operation.inputs)
        return self

    def To(self, *outs: object) -> Self:
        """The outputs of the operation before."""
        if not self.operations:
            raise SpecError("To() without an operation before it")
        given = outs[0] if outs and isinstance(outs[0], tuple | list) else outs
        outputs = [_operand(each) for each in given]
        self.operations[-1].outputs = outputs
        self._register(outputs)
        return self

    def IdentifyInputs(self, *args: object) -> Self:
        """These, in this order, are all inputs."""
        self._register([_operand(each) for each in args])
        if list(args) != self.inputs:
            raise SpecError(f"the inputs are {self.inputs}, and not {list(args)}")
        return self

    def IdentifyOutputs(self, *args: object) -> Self:
        """These, in this order, are all outputs."""
        self._register([_operand(each) for each in args])
        if list(args) != self.outputs:
            raise SpecError(f"the outputs are {self.outputs}, and not {list(args)}")
        return self

    def RelaxedExecution(self, isRelaxed: bool) -> Self:
        self.isRelaxed = isRelaxed
        return self

    def IntroducedIn(self, ver: str | None) -> Self:
        self.version = ver
        return self

    # ---- reading --------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[Input]:
        return [each for each in self.operands if isinstance(each, Input)]

    @property
    def outputs(self) -> list[Output]:
        return [each for each in self.operands if isinstance(each, Output)]

    @property
    def has_subgraphs(self) -> bool:
        return any(isinstance(each, SubgraphReference) for each in self.operands)

    def own(self, operand: Operand) -> Operand:
        """This model's operand that a spec means by `operand`."""
        try:
            return self.operands[self.operands.index(operand)]
        except ValueError:
            raise SpecError(f"operand {operand.name!r} is not in the model") from None

    # ---- changing -------------------------------------------------------------------------------

    def feed(self, inputs: Mapping[object, object], outputs: Mapping[object, object]) -> None:
        for fed in self.inputs:
            fed.feed(inputs)
        for fetched in self.outputs:
            fetched.feed(outputs)

    def copied(self, copies: dict[int, Model] | None = None) -> Model:
        """A copy that converters may change. A model that is referenced twice still is."""
        copies = {} if copies is None else copies
        if id(self) not in copies:
            copy = copies[id(self)] = Model.__new__(Model)
            copy.__dict__.update(self.__dict__)
            copy.operands = [each.copied() for each in self.operands]
            for operand in copy.operands:
                if isinstance(operand, SubgraphReference):
                    operand.model = operand.model.copied(copies)
        return copies[id(self)]

    def _register(self, operands: Sequence[Operand]) -> None:
        for operand in operands:
            if operand not in self.operands:
                self.operands.append(operand)

    # ---- the result -----------------------------------------------------------------------------

    def subgraphs(self) -> list[ValuedSubgraph]:
        """This model and all that it references. They are numbered as going deeper meets them."""
        referenced: list[Model] = []
        self.collect(referenced)
        numbers = {id(model): number for number, model in enumerate(referenced)}
        return [model.compiled(numbers) for model in (self, *referenced)]

    def collect(self, referenced: list[Model]) -> None:
        """Adds the models that this one references to those already met."""
        for operand in self.operands:
            if isinstance(operand, SubgraphReference) and operand.model not in referenced:
                referenced.append(operand.model)
                operand.model.collect(referenced)

    def compiled(self, numbers: Mapping[int, int]) -> ValuedSubgraph:
        """This model alone, with the numbers of those that it references by their ids."""
        index = {operand: position for position, operand in enumerate(self.operands)}
        return ValuedSubgraph(
            operands=[_valued(each, numbers) for each in self.operands],
            operations=[
                pb.Operation(
                    type=_operation_code(each),
                    inputs=[index[operand] for operand in each.inputs],
                    outputs=[index[operand] for operand in each.outputs],
                )
                for each in self._sorted(index)
            ],
            input_indexes=[index[each] for each in self.inputs],
            output_indexes=[index[each] for each in self.outputs],
        )

    def _sorted(self, index: Mapping[Operand, int]) -> list[Step]:
        """The operations, each behind those whose outputs it reads."""
        producers: dict[Operand, list[Step]] = {}
        for operation in self.operations:
            for output in operation.outputs:
                producers.setdefault(output, []).append(operation)
        done: dict[Step, bool] = {}  # False while what it needs is looked at

        def visit(operation: Step) -> None:
            if not done.setdefault(operation, False):
                for operand in sorted(operation.inputs, key=index.__getitem__):
                    for producer in producers.get(operand, []):
                        if done.get(producer) is False:
                            raise SpecError(f"{producer.type} needs its own result", producer.line)
                        visit(producer)
                # Put behind what it needs.
                del done[operation]
                done[operation] = True

        for operation in self.operations:
            visit(operation)
        return list(done)


class SubgraphReference(Parameter):
    """A model that an operation of another one runs."""

    def __init__(self, name: str, model: Model) -> None:
        super().__init__(name, ("SUBGRAPH", []), model)
        self.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH
        self.model = model
        if model.name is None:
            model.name = name


def _valued(operand: Operand, numbers: Mapping[int, int]) -> ValuedOperand:
    written = operand.type
    message = pb.Operand(
        type=f"OPERAND_TYPE_{written.type}",
        dimensions=written.dimensions,
        scale=written.scale,
        zero_point=written.zeroPoint,
        lifetime=operand.lifetime,
        name=operand.name,
    )
    if written.extraParams is not None and not written.extraParams.hide:
        message.channel_quant.scales.extend(written.extraParams.scales)
        message.channel_quant.channel_dim = written.extraParams.channelDim
    try:
        if isinstance(operand, SubgraphReference):
            data: bytes | None = numbers[id(operand.model)].to_bytes(4, "little")
        else:
            data = None if operand.value is None else written.encoded(operand.value)
    except SpecError as error:
        raise SpecError(f"operand {operand.name!r}: {error}", operand.line) from None
    return ValuedOperand(
        message,
        data,
        ignored=isinstance(operand, IgnoredOutput),
        never_internal=not operand.mayBeInternal,
        # Only what is written as a Parameter becomes an input in a derived form.
        never_input=isinstance(operand, Parameter) and type(operand) is not Parameter,
    )


def _operation_code(operation: Step) -> int:
    try:
        return pb.OperationType.Value(f"OPERATION_TYPE_{operation.type}")
    except ValueError:
        raise SpecError(f"no operation {operation.type!r}", operation.line) from None


# ---- arguments ----------------------------------------------------------------------------------

# By the exact type: a bool is no int, and numpy's numbers are none of these.
_SCALARS: dict[type, Callable[..., Parameter]] = {
    int: Int32Scalar,
    float: Float32Scalar,
    bool: BoolScalar,
}


def argument(value: object) -> Operand:
    """An argument of an operation: an operand, or a Python value that becomes a constant."""
    if isinstance(value, Operand):
        return value
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        return scalar("param", value)
    if isinstance(value, list | tuple):
        # An empty list is one of ints.
        if all(type(each) is int for each in value):
            return Int32Vector("param", list(value))
        if all(type(each) is float for each in value):
            return Float32Vector("param", list(value))
    if isinstance(value, Model):
        return SubgraphReference("param", value)
    raise SpecError(f"{value!r} is neither an operand nor a constant of one kind")


def _operand(value: object) -> Operand:
    if not isinstance(value, Operand):
        raise SpecError(f"{value!r} is no operand")
    return value
