# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian's, of any architecture, unpacked into a folder: nothing is installed, and no
root is needed.

For this machine's own architecture the lists of packages are the system's. For another they are
fetched, into a folder of the user's: the system need not know the architecture.

`python -m halyard.vm.debian ARCHITECTURE FOLDER PACKAGE...` unpacks packages.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from halyard import paths
from halyard.errors import HalyardError, ProgramMissing, VmError

_PROGRAMS = ("apt-get", "apt-cache", "dpkg", "dpkg-deb")


class Packages:
    """Debian's packages of one architecture."""

    def __init__(self, architecture: str, cache: Path) -> None:
        for program in _PROGRAMS:
            if shutil.which(program) is None:
                raise ProgramMissing(f"there is no {program} to get Debian's packages with")
        self._options: list[str] = []
        if run(["dpkg", "--print-architecture"], Path("/")).strip() != architecture:
            self._options = _own_lists(architecture, cache / "apt" / architecture)
            run(["apt-get", *self._options, "-q", "update"], Path("/"))

    def dependencies(self, package: str) -> str:
        """A package's dependencies, as apt-cache lists it."""
        listed = ["depends", "--no-recommends", "--no-suggests", package]
        return run(["apt-cache", *self._options, *listed], Path("/"))

    def unpack(self, packages: Sequence[str], folder: Path) -> None:
        """Adds the files of the packages, and of nothing that they depend on, to the folder."""
        with tempfile.TemporaryDirectory(prefix="halyard-packages-") as work:
            run(["apt-get", *self._options, "download", *packages], Path(work))
            for package in sorted(Path(work).glob("*.deb")):
                run(["dpkg-deb", "-x", str(package), str(folder)], Path(work))


def _own_lists(architecture: str, folder: Path) -> list[str]:
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Acquire::Languages": "none",
        "Dir::State::Lists": folder / "lists",
        # Nothing is installed, as far as these commands are concerned.
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": folder,
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def run(command: list[str], folder: Path) -> str:
    """The command's output. VmError with what it said unless it succeeds."""
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise VmError(f"{' '.join(command)} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def main(words: Sequence[str]) -> int:
    if len(words) < 3:
        print("python -m halyard.vm.debian ARCHITECTURE FOLDER PACKAGE...", file=sys.stderr)
        return 2
    architecture, folder, *packages = words
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Packages(architecture, paths.cache()).unpack(packages, Path(folder).resolve())
    except HalyardError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
