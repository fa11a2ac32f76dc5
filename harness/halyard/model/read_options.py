# SPDX-License-Identifier: Apache-2.0
"""How a model's file is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from halyard.errors import ConfigError
from halyard.model.shapes import Shapes


@dataclass(frozen=True)
class ReadOptions:
    """As a user says it. A format that has no such thing refuses what is not as usual."""

    shapes: Shapes = field(default_factory=Shapes)
    # Which graph of a .tflite file is to be read, and which model of several in one file.
    signature: str = ""
    member: str = ""

    def refuse_names(self) -> None:
        """ConfigError where a signature or a member is named: of formats that have neither."""
        for option, value in (("--signature", self.signature), ("--member", self.member)):
            if value:
                raise ConfigError(f"{option} {value} is for .tflite and .task files")


USUAL = ReadOptions()
