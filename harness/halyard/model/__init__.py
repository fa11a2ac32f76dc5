# SPDX-License-Identifier: Apache-2.0
"""NNAPI models as protobuf messages: building, reading and calling them."""

from halyard.model.builder import ModelBuilder
from halyard.model.converted import Conversion, HostPart, NnapiPart, Part, Source, State, Unmapped
from halyard.model.operands import (
    Array,
    TensorType,
    byte_size,
    constant,
    constants,
    dtype_of,
    is_constant,
    is_tensor,
    label,
    operation_name,
    type_name,
)
from halyard.model.runnable import RunnableModel
from halyard.model.tensors import DataType, TensorInfo, Tensors, names_of, tensor_infos

__all__ = [
    "Array",
    "Conversion",
    "DataType",
    "HostPart",
    "ModelBuilder",
    "NnapiPart",
    "Part",
    "RunnableModel",
    "Source",
    "State",
    "TensorInfo",
    "TensorType",
    "Tensors",
    "Unmapped",
    "byte_size",
    "constant",
    "constants",
    "dtype_of",
    "is_constant",
    "is_tensor",
    "label",
    "names_of",
    "operation_name",
    "tensor_infos",
    "type_name",
]
