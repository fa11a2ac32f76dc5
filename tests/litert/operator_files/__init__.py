# SPDX-License-Identifier: Apache-2.0
"""Generated .tflite files of every operator that the importer maps."""

from tests.litert.operator_files import (
    arithmetic,
    control_flow,
    conversions,
    custom,
    functions,
    images,
    lookup,
    recurrent,
    reduction,
    reshaping,
    slicing,
    weighted,
)
from tests.litert.operator_files.case import SEED, Case, OperatorFile, build, draft

__all__ = ["CASES", "SEED", "Case", "OperatorFile", "build", "draft"]

CASES: list[Case] = [
    each
    for family in (
        weighted,
        arithmetic,
        functions,
        conversions,
        images,
        lookup,
        recurrent,
        control_flow,
        custom,
        reduction,
        reshaping,
        slicing,
    )
    for each in family.cases()
]
