# SPDX-License-Identifier: Apache-2.0
"""Fixtures of several tests of this folder."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def full_disk() -> Iterator[Callable[[Path], Callable[[], None]]]:
    """Mounts a file system of 1 MiB on a folder; what it gives fills that one up."""
    mounted: list[Path] = []

    def mount(folder: Path) -> Callable[[], None]:
        folder.mkdir(parents=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True
        )
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return lambda: _fill(folder / "filling")

    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


def _fill(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return
