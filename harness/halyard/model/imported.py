# SPDX-License-Identifier: Apache-2.0
"""A model that was read from another format's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from halyard.model.runnable import RunnableModel


@dataclass(frozen=True)
class ImportedModel(RunnableModel):
    """NNAPI runs all of it, and the file takes and gives the same bytes: an engine that reads its
    format runs the file itself, and not what would be written of the model."""

    original: Path = Path()
    format: str = ""
    # The content that stands for the file, where it is not run as it is.
    content: bytes | None = None
