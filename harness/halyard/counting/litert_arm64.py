# SPDX-License-Identifier: Apache-2.0
"""LiteRT's wheel for arm64, and Debian's arm64 Python that runs it: fetched once, not installed."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard.counting.counted_process import CountedProgram
from halyard.engines import litert
from halyard.engines.engine import EngineMissing
from halyard.errors import HalyardError
from halyard.vm.debian import Packages
from halyard.vm.machine_type import ARM64

TITLE = "LiteRT"

_PACKAGE = "ai-edge-litert"
# Beside the Python itself: what it, LiteRT and numpy link.
_LIBRARIES = ("libc6", "libexpat1", "libffi8", "libgcc-s1", "libstdc++6", "zlib1g")
# Of wheels, the newest first that Debian's C library takes.
_PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64")
# Where it finds its packages, below QEMU's -L.
_SITE = "site"
_SCRIPT = Path(__file__).parent / "litert_invocations.py"


@dataclass(frozen=True)
class LiteRtForArm64:
    """`folder` has Debian's files, and the packages in `site`."""

    folder: Path
    python: Path
    version: str

    @classmethod
    def kept_in(cls, cache: Path) -> Self:
        """In the version of the package that is installed on this machine, fetched where the
        cache has none. EngineMissing where that package is not installed, HalyardError where a
        download fails."""
        version = installed_version()
        folder = cache / "litert-arm64" / version
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as work:
                fetched = Path(work) / "fetched"
                _fetch(fetched, version, cache)
                # Another process may have been faster.
                if not folder.is_dir():
                    fetched.replace(folder)
        return cls(folder, _python(folder), version)

    def program(self, model: Path, inputs: Path) -> CountedProgram:
        """That executes the .tflite file. `inputs` has the bytes of all inputs, one after the
        other."""
        return CountedProgram(
            # -S: the packages of this machine's own Python are not for it.
            [self.python, "-S", _SCRIPT, model, inputs],
            {
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONHASHSEED": "0",
                "PYTHONPATH": f"/{_SITE}",
                # numpy's threads would spin.
                "OPENBLAS_NUM_THREADS": "1",
            },
            {path.name: path for path in self.folder.iterdir()},
        )


def installed_version() -> str:
    """On this machine. EngineMissing where it is not installed."""
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise EngineMissing(litert.MISSING) from error


def _fetch(folder: Path, version: str, cache: Path) -> None:
    folder.mkdir()
    debian = Packages(ARM64.debian, cache)
    found = re.search(r"Depends: (python3\.\d+)-minimal", debian.dependencies("python3-minimal"))
    if found is None:
        raise HalyardError("Debian's python3-minimal depends on no Python that is known")
    name = found[1]
    python = (f"{name}-minimal", f"lib{name}-minimal", f"lib{name}-stdlib")
    debian.unpack([*python, *_LIBRARIES], folder)
    if not (folder / "lib").exists():  # where packages name /usr alone
        (folder / "lib").symlink_to("usr/lib")
    with tempfile.TemporaryDirectory(dir=folder.parent) as wheels:
        _download([f"{_PACKAGE}=={version}", "numpy"], name.removeprefix("python"), Path(wheels))
        for wheel in Path(wheels).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / _SITE)
    if name == f"python{sys.version_info.major}.{sys.version_info.minor}":
        _compile(folder)


def _compile(folder: Path) -> None:
    """The modules it imports, by this machine's Python of the same version: emulated, compiling
    takes longer than many an inference, and is done anew each time."""
    words = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(folder)]
    subprocess.run([sys.executable, *words], capture_output=True)


def _download(requirements: list[str], python: str, folder: Path) -> None:
    """Without what they depend on, which an inference does not need."""
    command: list[str | Path] = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary", ":all:", "--implementation", "cp"),
        *("--python-version", python, "--dest", folder),
        *(word for name in _PLATFORMS for word in ("--platform", name)),
        *requirements,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{', '.join(requirements)} for arm64: {done.stderr.strip()}")


def _python(folder: Path) -> Path:
    programs = sorted(folder.glob("usr/bin/python3.*"))
    if not programs:
        raise HalyardError(f"{folder} has no Python: remove it, and it is fetched anew")
    return programs[-1]
