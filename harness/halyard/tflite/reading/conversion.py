# SPDX-License-Identifier: Apache-2.0
"""A .tflite file as a Conversion."""

from __future__ import annotations

from pathlib import Path

from halyard.errors import HalyardError
from halyard.model import Conversion


def converted(content: bytes, path: Path) -> Conversion:
    raise HalyardError(f"{path}: {len(content)} bytes of TFLite, which are not mapped yet")
