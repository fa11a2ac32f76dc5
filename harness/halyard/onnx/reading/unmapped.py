# SPDX-License-Identifier: Apache-2.0
"""Why operators without a mapping have none: what NNAPI lacks, or what is not written here."""

from __future__ import annotations

from collections.abc import Mapping

_NOT_WRITTEN = "NNAPI has {}, and no mapping to it is written"
_WHOLE = "its integer accumulators are used otherwise than the dynamic quantiser writes them"
_LISTS = "NNAPI has no lists of tensors"
_STRINGS = "NNAPI has no tensors of strings"
_COUNTED = "how much it gives depends on the values that it reads, and shapes are fixed here"

REASONS: Mapping[str, str] = {
    "ConvInteger": _WHOLE,
    "If": _NOT_WRITTEN.format("IF"),
    "Loop": _NOT_WRITTEN.format("WHILE"),
    "MatMulInteger": _WHOLE,
    "NonMaxSuppression": _COUNTED,
    "NonZero": _COUNTED,
    "RandomNormal": "NNAPI draws no numbers of that distribution",
    "RandomNormalLike": "NNAPI draws no numbers of that distribution",
    "RandomUniform": "NNAPI draws no numbers of that distribution",
    "RandomUniformLike": "NNAPI draws no numbers of that distribution",
    "Multinomial": "its numbers would be other ones than the file's engine draws",
    "RoiAlign": _NOT_WRITTEN.format("ROI_ALIGN"),
    "Scan": _NOT_WRITTEN.format("WHILE"),
    **dict.fromkeys(
        (
            "ConcatFromSequence",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SequenceMap",
            "SplitToSequence",
        ),
        _LISTS,
    ),
    **dict.fromkeys(
        ("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch"), _STRINGS
    ),
    "Compress": _COUNTED,
    "Unique": _COUNTED,
}


def reason(operator: str) -> str:
    return REASONS.get(operator, "NNAPI has no operation for it, and none is composed")
