# SPDX-License-Identifier: Apache-2.0
"""Compilation caches where their files lie on what containers have: an overlay, btrfs, a root that
is in no mount table. The C++ tests of caches run there as they do elsewhere, from programs that lie
there, and the driver in a process of its own keeps models there."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from halyard.programs import native

# Of caches, and of what they are asked for by the checks of the vendor test suite.
_TESTS = {
    "driver_tests": "*CompilationCache*:*CacheKey*:*KeptKernels*:*KeptData*",
    "hal_tests": "*CompilationCach*:*CacheFiles*:*CacheArguments*:DescriptorKinds*",
    "programs_tests": "*WrongDevices.*Keep*:*WrongDevices.*Kept*",
}
_ROOT = "root"

# Each makes its second argument, `root`, of its first, a folder; the rest runs on it.
_OVERLAY = """
set -e
mount -t tmpfs none "$1"
mkdir "$1/lower" "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$1/root"
"""
_BTRFS = """
set -e
truncate -s 256M "$1/image"
mkfs.btrfs -q "$1/image" > "$1/made"
mkdir "$1/root"
mount -o loop "$1/image" "$1/root"
"""
# The folder is no mount, and so in no mount table once it is the root.
_CHROOT = """
set -e
mkdir -p "$1/root/proc" "$1/root/dev"
mount --bind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
"""


def unshared(make: str, folder: Path, then: str, *words: str) -> subprocess.CompletedProcess[str]:
    """In mount tables of its own, which go with it. `then`: a script, whose $1 is the folder."""
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", make + then, "sh"]
    return subprocess.run(
        [*command, str(folder), *words], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(params=["overlay", "btrfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The script that makes it, and where."""
    make = {"overlay": _OVERLAY, "btrfs": _BTRFS}[request.param]
    made = unshared(make, tmp_path, 'stat -f -c %T "$1/root"')
    if made.returncode != 0:
        pytest.skip(f"this machine refuses to mount {request.param}: {made.stderr.strip()}")
    assert made.stdout.strip() in {"overlayfs", "btrfs"}
    shutil.rmtree(tmp_path, ignore_errors=True)
    tmp_path.mkdir(exist_ok=True)
    return make, tmp_path


def built(name: str) -> Path:
    program = native.folder() / name
    if not program.is_file():
        pytest.skip(f"{name} is not built: make test-native builds it")
    return program


def passed(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    assert re.search(r"\[  PASSED  \] [1-9]\d* tests?\.", ended.stdout), ended.stdout[-2000:]


@pytest.mark.parametrize("name", list(_TESTS))
def test_caches_work_wherever_they_lie(name: str, place: tuple[str, Path]) -> None:
    make, folder = place
    program = built(name)
    then = """
        set +e
        cp "$2" "$1/root/program"
        mkdir "$1/root/tmp"
        cd "$1/root"
        TMPDIR="$1/root/tmp" ./program "--gtest_filter=$3" || exit 1
        ls tmp | grep . && exit 1
        exit 0
    """
    passed(unshared(make, folder, then, str(program), _TESTS[name]))


@pytest.mark.parametrize("name", list(_TESTS))
def test_caches_work_in_a_root_that_is_in_no_mount_table(name: str, tmp_path: Path) -> None:
    program = built(name)
    root = tmp_path / _ROOT
    put(program, root / "program")
    for library in libraries(program):
        put(library, root / str(library).lstrip("/"))
    (root / "tmp").mkdir()
    if unshared(_CHROOT, tmp_path, 'chroot "$1/root" /program --gtest_list_tests').returncode:
        pytest.skip("this machine refuses to change the root")
    shutil.rmtree(root / "dev")
    shutil.rmtree(root / "proc")
    then = 'TMPDIR=/tmp chroot "$1/root" /program "--gtest_filter=$2"'
    passed(unshared(_CHROOT, tmp_path, then, _TESTS[name]))


def put(file: Path, where: Path) -> None:
    where.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, where)


def libraries(program: Path) -> Sequence[Path]:
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", told)]


def test_a_model_is_kept_and_found_wherever_the_folder_lies(place: tuple[str, Path]) -> None:
    make, folder = place
    model = "--model mobilenet_v2 --type quant8 --size 32 --width 0.1"
    then = """
        mkdir "$1/root/cache"
        for i in 1 2; do "$2" -m halyard run $3 --cache-dir "$1/root/cache"; done
    """
    ended = unshared(make, folder, then, sys.executable, model)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "kept" not in ended.stderr, "it has a key beside its files"
    _, again = re.findall(r"^.*prepared.*$", ended.stdout, re.MULTILINE)
    assert "from the cache" in again
