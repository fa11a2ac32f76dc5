# SPDX-License-Identifier: Apache-2.0
"""The settings of this machine that a bare root gets. `make test-fresh` makes one; this does
not."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import fresh

README = Path(fresh.__file__).parents[1] / "README.md"
ALONE = ("unshare", "--mount", "--propagation", "private")


def may_mount() -> str | None:
    """Why not, if not."""
    tried = subprocess.run(
        [*ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True
    )
    return None if tried.returncode == 0 else tried.stderr.strip()


def test_files_that_settings_name_go_along(tmp_path: Path) -> None:
    for name in ("certificate.pem", "wheels/a.whl", "index/simple/a.html", "index/files/a.whl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    settings = [
        f"{tmp_path}/certificate.pem",
        f"{tmp_path}/wheels {tmp_path}/absent",
        f"https://index.example/simple file://{tmp_path}/index/simple",
        "180",
    ]
    # An index names files beside it.
    assert fresh.named_paths(settings) == {
        tmp_path / "certificate.pem",
        tmp_path / "wheels",
        tmp_path / "index",
    }


def test_what_pip_reads_from_files_becomes_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "global.cert='/etc/ca.pem'\nglobal.extra-index-url='\\nfile:///a\\nfile:///b'\n"
    for name in fresh.network_settings():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, listed, "")
    )
    monkeypatch.setenv("PIP_CERT", "/of/the/environment.pem")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert fresh.network_settings() == {
        "PIP_CERT": "/of/the/environment.pem",
        "PIP_EXTRA_INDEX_URL": "file:///a file:///b",
        "HTTPS_PROXY": "http://proxy.example:3128",
    }


def test_the_mirror_is_apt_s_or_debian_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for listed, mirror in (
        ("http://mirror.example/debian/\n", "http://mirror.example/debian/"),
        ("mirror+file:/etc/mirrors\n", fresh.MIRROR),
        ("", fresh.MIRROR),
    ):
        monkeypatch.setattr(fresh, "output", lambda *_, said=listed: said)
        assert fresh.apt_mirror() == mirror


@pytest.mark.parametrize(
    ("form", "kind"),
    [("chroot", None), ("overlay", "overlayfs"), ("btrfs", "btrfs"), ("tmpfs", "tmpfs")],
)
def test_a_root_lies_on_what_its_form_says(form: str, kind: str | None, tmp_path: Path) -> None:
    """The bare root is a folder with one file in it. One made before is there again if it stays."""
    missing = [name for name in fresh.FORMS[form].packages if shutil.which(f"mkfs.{form}") is None]
    if missing:
        pytest.skip(f"Debian's package {missing[0]} is not installed")
    if may_mount() is not None:
        pytest.skip(f"mounting takes root: {may_mount()}")

    lies_on_overlay = fresh.output("stat", "-f", "-c", "%T", str(tmp_path)).strip() == "overlayfs"

    def root() -> tuple[str, str, bool]:
        program = f"""
            import subprocess
            from pathlib import Path
            from tests import fresh

            def make_root(root, release):
                made = root / release
                print(made.exists())
                made.parent.mkdir(exist_ok=True)
                made.touch()

            fresh.make_root = make_root
            root = fresh.FORMS[{form!r}].mounted(Path({str(tmp_path)!r}), "bookworm")
            assert (root / "bookworm").exists()
            print(fresh.output("stat", "-f", "-c", "%T", str(root)), end="")
            print(root)
        """
        done = subprocess.run(
            [*ALONE, sys.executable, "-c", textwrap.dedent(program)],
            cwd=Path(fresh.__file__).parents[1],
            capture_output=True,
            text=True,
        )
        if form == "overlay" and lies_on_overlay:
            assert "lays none over another: name a folder elsewhere" in done.stderr
            pytest.skip("the temporary folder lies on an overlay itself, which is refused")
        assert done.returncode == 0, done.stderr
        found, said, place = done.stdout.splitlines()[-3:]
        return said, place, found == "True"

    said, place, found = root()
    assert not found
    if kind is not None:
        assert said == kind
    assert not Path(place).is_mount()
    assert root() == (said, place, fresh.FORMS[form].stays)


@pytest.mark.skipif(os.geteuid() != 0, reason="what is no root asks for sudo first")
def test_a_root_in_memory_is_not_kept() -> None:
    done = subprocess.run(
        [sys.executable, fresh.__file__, "--on", "tmpfs", "--keep"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "A root on tmpfs can't be kept: it is gone with its mount.\n"


def test_the_docker_file_has_the_two_commands_and_the_packages_of_a_bare_root() -> None:
    text = (Path(fresh.__file__).parents[1] / "Dockerfile").read_text()
    [packages] = re.findall(r"apt-get install -y --no-install-recommends (.*?)\s*\\\n", text)
    assert sorted(packages.split()) == sorted(fresh.PACKAGES)
    [built] = re.findall(r"^RUN make (\w+)$", text, re.MULTILINE)
    [run] = re.findall(r'^CMD \["make", "(\w+)"\]$', text, re.MULTILINE)
    assert (built, run) == fresh.TARGETS
    assert all(
        re.search(rf"^    make {name}\b", README.read_text(), re.MULTILINE) for name in (built, run)
    )
