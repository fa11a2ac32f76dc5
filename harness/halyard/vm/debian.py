# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian's, of any architecture, unpacked into a folder: nothing is installed, and no
root is needed.

For this machine's own architecture the lists of packages are the system's. For another, and for
backports, they are fetched into a folder of the user's: the system need know neither.

`python -m halyard.vm.debian ARCHITECTURE FOLDER PACKAGE...` unpacks packages;
`python -m halyard.vm.debian source FOLDER PACKAGE` a source package, with Debian's patches.
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
    """Debian's packages of one architecture: the release's, or those of its backports alone."""

    def __init__(self, architecture: str, cache: Path, *, backports: bool = False) -> None:
        for program in _PROGRAMS:
            if shutil.which(program) is None:
                raise ProgramMissing(f"there is no {program} to get Debian's packages with")
        self._options: list[str] = []
        is_here = run(["dpkg", "--print-architecture"], Path("/")).strip() == architecture
        if not is_here or backports:
            name = f"{architecture}-backports" if backports else architecture
            self._options = _own_lists(architecture, cache / "apt" / name)
            if backports:
                self._options += _backports(cache / "apt" / name)
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


def unpack_source(package: str, cache: Path, folder: Path) -> None:
    """The source of the package, of the system's release: what its archive has at the top becomes
    the folder, which is made anew."""
    mirror, release = _system_release()
    lists = cache / "apt" / "source"
    options = _own_lists(run(["dpkg", "--print-architecture"], Path("/")).strip(), lists)
    options += _sources(f"deb-src {mirror} {release} main", lists / "sources.list")
    run(["apt-get", *options, "-q", "update"], Path("/"))
    with tempfile.TemporaryDirectory(prefix="halyard-source-") as work:
        run(["apt-get", *options, "-q", "source", package], Path(work))
        [tree] = [path for path in Path(work).iterdir() if path.is_dir()]
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(tree, folder)


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


def _backports(folder: Path) -> list[str]:
    """The options for the backports of the system's release alone."""
    mirror, release = _system_release()
    return _sources(f"deb {mirror} {release}-backports main", folder / "backports.list")


def _system_release() -> tuple[str, str]:
    """The mirror that the system has Debian from, and its release."""
    columns = "$(ORIGIN)\t$(REPO_URI)\t$(CODENAME)"
    known = run(["apt-get", "indextargets", "--format", columns], Path("/")).splitlines()
    for line in known:
        origin, mirror, release = line.split("\t")
        # bookworm-updates and bookworm-security are no releases.
        if origin == "Debian" and "-" not in release:
            return mirror, release
    raise VmError("apt knows no release of Debian's; run apt-get update and try again")


def _sources(line: str, file: Path) -> list[str]:
    """The options for what that line of a sources.list names, and for nothing else."""
    file.write_text(f"{line}\n")
    settings = (f"Dir::Etc::SourceList={file}", "Dir::Etc::SourceParts=/dev/null")
    return [word for setting in settings for word in ("-o", setting)]


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
        print("python -m halyard.vm.debian source FOLDER PACKAGE", file=sys.stderr)
        return 2
    architecture, folder, *packages = words
    try:
        if architecture == "source":
            unpack_source(packages[0], paths.cache(), Path(folder).absolute())
            return 0
        Path(folder).mkdir(parents=True, exist_ok=True)
        Packages(architecture, paths.cache()).unpack(packages, Path(folder).resolve())
    except HalyardError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
