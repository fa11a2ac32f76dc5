# SPDX-License-Identifier: Apache-2.0
"""The tests' backends in shared libraries, where this user has them: code of somebody else's is not
loaded, and a checkout may be somebody else's."""

import shutil
from pathlib import Path

import pytest

from halyard.programs import native


def own_backends(name: str, folder: Path) -> Path:
    """A folder of the libraries of build/release/backends/NAME, in another one."""
    built = native.folder() / "backends" / name
    if not built.is_dir():
        pytest.skip(f"the backends of {name} are not built: make test-native builds them")
    own = folder / name
    own.mkdir(mode=0o755)
    for library in built.glob("*.so"):
        shutil.copyfile(library, own / library.name)
    return own
