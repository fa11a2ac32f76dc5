# SPDX-License-Identifier: Apache-2.0
"""The per-user folders, as the XDG base directory specification names them."""

import os
from pathlib import Path


def _folder(variable: str, default: str) -> Path:
    # The specification: a relative path there is invalid and is to be ignored.
    given = Path(os.environ.get(variable, ""))
    folder = (given if given.is_absolute() else Path.home() / default) / "halyard"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache() -> Path:
    """What can be made again: kernels."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state() -> Path:
    """What must outlive a command: the running virtual device, the adb key."""
    return _folder("XDG_STATE_HOME", ".local/state")
