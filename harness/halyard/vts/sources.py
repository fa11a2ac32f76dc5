# SPDX-License-Identifier: Apache-2.0
"""Where cases come from when nobody names any."""

from __future__ import annotations

import os
from pathlib import Path

from halyard import native

_VARIABLE = "HALYARD_CONFORMANCE"


def goldens() -> list[Path]:
    """The folder of golden data that HALYARD_CONFORMANCE names, or the one that lies beside a
    checkout; none where there is none."""
    named = os.environ.get(_VARIABLE)
    if named:
        return [Path(named)]
    beside = native.beside_checkout() / "shared" / "conformance"
    return [beside] if (beside / "index.json").is_file() else []
