# SPDX-License-Identifier: Apache-2.0
"""Cases derived from golden cases, as the official suites derive them: the same results by other
ways through a driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from halyard.conformance.case import Case
from halyard.model import is_constant, is_tensor
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb

_SHAPES_MUST_BE_KNOWN = frozenset({"RANK", "IF", "WHILE"})
_NOT_SIGNED = frozenset(
    {"CAST", "HASHTABLE_LOOKUP", "LSH_PROJECTION", "PAD_V2", "QUANTIZED_16BIT_LSTM"}
)
_UNSIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
_SIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
# What the ADD that moves an operand inside the model can carry.
_ADDABLE = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_FLOAT32,
        pb.OPERAND_TYPE_TENSOR_FLOAT16,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
    }
)
_ADD_MAX_RANK = 4


def derived(case: Case) -> Iterator[Case]:
    """Every variant of the case that makes sense for it."""
    candidates = [
        unspecified_outputs(case),
        signed(case),
        *(with_lifetimes(case, names) for names in case.lifetime_variants),
    ]
    yield from (candidate for candidate in candidates if candidate is not None)


def unspecified_outputs(case: Case) -> Case | None:
    """The model does not say the extents of its outputs: the driver reports them."""
    if case.expect_failure or case.operations & _SHAPES_MUST_BE_KNOWN:
        return None
    test_case = _copy(case, "unspecified_outputs")
    for index in test_case.model.main.output_indexes:
        operand = test_case.model.main.operands[index]
        operand.dimensions[:] = [0] * len(operand.dimensions)
    return _replace(case, test_case, pb.HAL_VERSION_1_2)


def signed(case: Case) -> Case | None:
    """QUANT8_ASYMM becomes QUANT8_ASYMM_SIGNED, everything 128 steps lower."""
    operations = case.test_case.model.main.operations
    if len(operations) != 1 or case.test_case.model.referenced or case.operations & _NOT_SIGNED:
        return None
    test_case = _copy(case, "signed")
    model, example = test_case.model, test_case.examples[0]
    values = bytearray(model.operand_values)
    pools = [bytearray(pool) for pool in model.pools]
    if not any(operand.type == _UNSIGNED for operand in model.main.operands):
        return None
    expected = list(case.expected)
    inputs = list(model.main.input_indexes)
    outputs = list(model.main.output_indexes)
    for index, operand in enumerate(model.main.operands):
        if operand.type != _UNSIGNED:
            continue
        operand.type = _SIGNED
        operand.zero_point -= 128
        place = operand.location
        if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
            _lower(values, place.offset, place.length)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
            _lower(pools[place.pool_index], place.offset, place.length)
        elif index in inputs:
            value = example.inputs[inputs.index(index)]
            data = bytearray(value.data)
            _lower(data, 0, len(data))
            value.data = bytes(data)
        elif index in outputs:
            position = outputs.index(index)
            lowered = (expected[position].values ^ 0x80).view(np.int8)
            expected[position] = dataclasses.replace(expected[position], values=lowered)
    model.operand_values = bytes(values)
    model.pools[:] = [bytes(pool) for pool in pools]
    changed = _replace(case, test_case, pb.HAL_VERSION_1_3)
    return dataclasses.replace(changed, expected=tuple(expected))


def _lower(data: bytearray, offset: int, length: int) -> None:
    """Takes 128 from unsigned bytes, whose signed values then have the same bits but one."""
    for at in range(offset, offset + length):
        data[at] ^= 0x80


def with_lifetimes(case: Case, names: tuple[str, ...]) -> Case | None:
    """The case with other operand lifetimes; names as in Case.lifetime_variants.

    None where the model has nothing to change.
    """
    test_case = _copy(case, "_".join(names))
    changed = False
    for name in names:
        changed |= _LIFETIMES[name](test_case)
    return _replace(case, test_case, pb.HAL_VERSION_1_0) if changed else None


def _all_tensors_as_inputs(test_case: pb.TestCase) -> bool:
    """Constant tensors become inputs."""
    model, changed = test_case.model, False
    for index, operand in enumerate(model.main.operands):
        if not (is_constant(operand) and is_tensor(operand.type)):
            continue
        place = operand.location
        reference = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        pool = model.pools[place.pool_index] if reference else model.operand_values
        test_case.examples[0].inputs.add(data=pool[place.offset : place.offset + place.length])
        model.main.input_indexes.append(index)
        operand.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
        operand.ClearField("location")
        changed = True
    return changed


def _all_inputs_as_internal(test_case: pb.TestCase) -> bool:
    """Each input goes through an ADD with 0 first."""
    main, changed = test_case.model.main, False
    for position, index in enumerate(main.input_indexes):
        inner = main.operands[index]
        omitted = test_case.examples[0].inputs[position].has_no_value
        if omitted or not _addable(inner):
            continue
        main.input_indexes[position] = _copied(main, index, inner.lifetime)
        inner.lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
        main.operations.insert(0, _addition(test_case.model, main.input_indexes[position], index))
        changed = True
    return changed


def _all_outputs_as_internal(test_case: pb.TestCase) -> bool:
    """Each output goes through an ADD with 0 at last."""
    main, changed = test_case.model.main, False
    for position, index in enumerate(main.output_indexes):
        inner = main.operands[index]
        if not _addable(inner):
            continue
        main.output_indexes[position] = _copied(main, index, inner.lifetime)
        inner.lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
        main.operations.append(_addition(test_case.model, index, main.output_indexes[position]))
        changed = True
    return changed


_LIFETIMES = {
    "all_tensors_as_inputs": _all_tensors_as_inputs,
    "all_inputs_as_internal": _all_inputs_as_internal,
    "all_outputs_as_internal": _all_outputs_as_internal,
}


def _addable(operand: pb.Operand) -> bool:
    return operand.type in _ADDABLE and 0 < len(operand.dimensions) <= _ADD_MAX_RANK


def _copied(main: pb.Subgraph, index: int, lifetime: pb.OperandLifeTime) -> int:
    """A further operand of the same type."""
    copy = main.operands.add()
    copy.CopyFrom(main.operands[index])
    copy.lifetime = lifetime
    return len(main.operands) - 1


def _addition(model: pb.Model, source: int, target: int) -> pb.Operation:
    """target = source + 0, exactly."""
    operand = model.main.operands[source]
    zero = model.main.operands.add(
        type=operand.type,
        dimensions=[1],
        scale=operand.scale,
        zero_point=operand.zero_point,
        lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY,
    )
    size = {pb.OPERAND_TYPE_TENSOR_FLOAT32: 4, pb.OPERAND_TYPE_TENSOR_FLOAT16: 2}
    # Zero is the zero point; of a float it is all bits 0.
    _append_constant(
        model, zero, (operand.zero_point & 0xFF).to_bytes(size.get(operand.type, 1), "little")
    )
    activation = model.main.operands.add(
        type=pb.OPERAND_TYPE_INT32, lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY
    )
    _append_constant(model, activation, int(Activation.NONE).to_bytes(4, "little"))
    added = len(model.main.operands)
    return pb.Operation(
        type=pb.OPERATION_TYPE_ADD, inputs=[source, added - 2, added - 1], outputs=[target]
    )


def _append_constant(model: pb.Model, operand: pb.Operand, data: bytes) -> None:
    values = bytearray(model.operand_values)
    values.extend(bytes(-len(values) % 4))
    operand.location.offset = len(values)
    operand.location.length = len(data)
    model.operand_values = bytes(values) + data


def _copy(case: Case, suffix: str) -> pb.TestCase:
    test_case = pb.TestCase()
    test_case.CopyFrom(case.test_case)
    test_case.name = f"{case.name}_{suffix}"
    return test_case


def _replace(case: Case, test_case: pb.TestCase, at_least: pb.HalVersion) -> Case:
    version = max(case.hal_version, at_least)
    return dataclasses.replace(case, name=test_case.name, test_case=test_case, hal_version=version)
