# SPDX-License-Identifier: Apache-2.0
"""How a model's file is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from halyard.model.shapes import Shapes


@dataclass(frozen=True)
class ReadOptions:
    """As a user says it. A format that has no such thing refuses what is not as usual."""

    shapes: Shapes = field(default_factory=Shapes)


USUAL = ReadOptions()
