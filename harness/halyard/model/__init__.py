# SPDX-License-Identifier: Apache-2.0
"""NNAPI models as protobuf messages: building them and reading them."""

from halyard.model.builder import ModelBuilder
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

__all__ = [
    "Array",
    "ModelBuilder",
    "TensorType",
    "byte_size",
    "constant",
    "constants",
    "dtype_of",
    "is_constant",
    "is_tensor",
    "label",
    "operation_name",
    "type_name",
]
