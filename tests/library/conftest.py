# SPDX-License-Identifier: Apache-2.0
"""The library as `cmake --install --component library` leaves it, and programs that are built
against it out of the tree."""

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.programs import native

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


def run(*words: object, **more: str) -> str:
    """A command's output; fails with all of it where the command does."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=more or None
    )
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def configured(source: Path, build: Path, *options: str) -> Path:
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options)
    return build


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the component in it."""
    built = native.folder()
    if not (built / "libhalyard.so").exists():
        pytest.skip(f"{built} has no libhalyard.so: ninja halyard_shared builds it")
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", built, "--component", "library", "--prefix", folder, "--strip")
    return folder


@pytest.fixture(scope="session")
def library(prefix: Path) -> Path:
    [found] = prefix.rglob("libhalyard.so")
    return found


@pytest.fixture(scope="session")
def program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A program of the folder programs/, found by find_package()."""
    build = configured(
        PROGRAMS, tmp_path_factory.mktemp("programs"), f"-DCMAKE_PREFIX_PATH={prefix}"
    )

    def built(name: str) -> Path:
        run("cmake", "--build", build, "--target", name)
        return build / name

    return built


@pytest.fixture(scope="session")
def on_x86() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("a matter of x86-64's instruction sets")
