# SPDX-License-Identifier: Apache-2.0
"""Random models of one operation each, with random inputs: what the operation's contract allows, in
shapes, types, layouts, optional operands and values that no test names.

A case follows from a seed, its operation and its number alone, so that it can be made again.
"""

from tests.random_models import (  # noqa: F401
    controlling,
    detecting,
    elementwise,
    normalizing,
    quantized_recurrent,
    quantizing,
    recurrent,
    reshaping,
    selecting,
    windowed,
)
from tests.random_models.aliasing import generate_aliased
from tests.random_models.sketch import GENERATORS, RandomCase, generate

__all__ = ["GENERATORS", "RandomCase", "generate", "generate_aliased"]
