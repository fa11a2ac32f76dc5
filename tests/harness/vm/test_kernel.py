# SPDX-License-Identifier: Apache-2.0
"""Finding Debian's kernel, its modules and what they depend on."""

import bz2
import gzip
import lzma
import platform
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.errors import VmError
from halyard.vm import kernel
from halyard.vm.machine_type import ARM64, X86_64
from tests.harness.elf_object import kernel_module

ELF = b"\x7fELF" + bytes(2000)


def bzimage(payload: bytes) -> bytes:
    """A bzImage with two setup sectors and the payload 16 bytes into its protected-mode part."""
    image = bytearray(3 * 512 + 16)
    image[0x1F1] = 2
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 16, len(payload))
    return bytes(image) + payload + b"trailing size"


def install(root: Path, release: str, *, modules: dict[str, bytes] | None = None) -> None:
    (root / "boot").mkdir(parents=True, exist_ok=True)
    (root / "boot" / f"vmlinuz-{release}").write_bytes(bzimage(lzma.compress(ELF)))
    if modules is None:
        modules = {
            "virtio_pci": kernel_module("license=GPL", "depends=virtio"),
            "virtio_net": kernel_module("depends=net_failover,virtio"),
            "net-failover": kernel_module("depends=failover"),
            "failover": kernel_module("depends="),
            "virtio": kernel_module("name=virtio"),
            "binder_linux": kernel_module("depends="),
            "fuse": kernel_module("depends="),
        }
    folder = root / "lib/modules" / release / "kernel/drivers"
    folder.mkdir(parents=True)
    for name, image in modules.items():
        (folder / f"{name}.ko").write_bytes(image)


def test_modules_come_after_what_they_depend_on(tmp_path: Path) -> None:
    install(tmp_path, "6.1.0-1-amd64")
    found = kernel.find(X86_64, tmp_path / "cache", tmp_path)
    names = [module.name for module in found.modules]
    assert names == [
        "virtio",
        "virtio_pci",
        "failover",
        "net_failover",
        "virtio_net",
        "binder_linux",
        "fuse",
    ]
    assert found.modules[-2].parameters == "devices=binder,hwbinder,vndbinder"


def test_modules_that_can_be_loaded_later_are_no_condition(tmp_path: Path) -> None:
    install(tmp_path, "6.1.0-1-amd64")
    assert kernel.find(X86_64, tmp_path / "cache", tmp_path).loadable == {}
    folder = tmp_path / "lib/modules/6.1.0-1-amd64/kernel/drivers"
    (folder / "vgem.ko").write_bytes(kernel_module("depends=drm"))
    (folder / "drm.ko").write_bytes(kernel_module("depends="))
    found = kernel.find(X86_64, tmp_path / "cache", tmp_path)
    assert [module.name for module in found.loadable["vgem"]] == ["drm", "vgem"]
    assert "vgem" not in [module.name for module in found.modules]


def test_the_newest_kernel_with_binder_is_taken(tmp_path: Path) -> None:
    install(tmp_path, "6.1.0-9-amd64")
    install(tmp_path, "6.1.0-10-amd64")
    install(tmp_path, "6.1.0-11-cloud-amd64", modules={"virtio": kernel_module("depends=")})
    assert kernel.find(X86_64, tmp_path / "cache", tmp_path).release == "6.1.0-10-amd64"


@pytest.mark.parametrize(
    "pack",
    [lzma.compress, gzip.compress, bz2.compress, lambda d: lzma.compress(d, lzma.FORMAT_ALONE)],
    ids=["xz", "gzip", "bzip2", "lzma"],
)
def test_the_kernel_is_unpacked_once(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "vmlinuz"
    image.write_bytes(bzimage(pack(ELF)))
    first = kernel.unpacked(image, tmp_path / "cache")
    assert first.read_bytes() == ELF
    monkeypatch.setattr(kernel, "unpack_bzimage", lambda _: pytest.fail("unpacked again"))
    assert kernel.unpacked(image, tmp_path / "cache") == first


@pytest.mark.parametrize(
    "content",
    [b"short", bytes(1000), bzimage(b"(\xb5/\xfd zstd"), bzimage(lzma.compress(b"no ELF"))],
)
def test_a_kernel_packed_otherwise_is_taken_as_it_is(tmp_path: Path, content: bytes) -> None:
    image = tmp_path / "vmlinuz"
    image.write_bytes(content)
    assert kernel.unpacked(image, tmp_path / "cache") == image


def test_a_newer_image_replaces_the_unpacked_one(tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz"
    image.write_bytes(bzimage(lzma.compress(ELF)))
    kernel.unpacked(image, tmp_path / "cache")
    image.write_bytes(bzimage(lzma.compress(ELF + b"new")))
    kernel.unpacked(image, tmp_path / "cache")
    assert [file.read_bytes() for file in (tmp_path / "cache").iterdir()] == [ELF + b"new"]


def test_packed_modules_are_read(tmp_path: Path) -> None:
    image = kernel_module("depends=")
    (tmp_path / "a.ko.xz").write_bytes(lzma.compress(image))
    (tmp_path / "b.ko.gz").write_bytes(gzip.compress(image))
    loaded = kernel.load_modules(tmp_path, [("a", ""), ("b", "x=1")])
    assert [(module.name, module.image) for module in loaded] == [("a", image), ("b", image)]


def test_a_missing_dependency_is_named_with_its_chain(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_bytes(kernel_module("depends=b"))
    with pytest.raises(VmError, match=r"no module b \(for a\)"):
        kernel.load_modules(tmp_path, [("a", "")])


def test_what_a_kernel_has_inside_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("kernel/b-c.ko\nkernel/d.ko\n")
    (tmp_path / "a.ko").write_bytes(kernel_module("depends=b-c"))
    loaded = kernel.load_modules(tmp_path, [("a", ""), ("d", "")])
    assert [module.name for module in loaded] == ["a"]


def test_what_a_kernel_has_inside_takes_no_parameters(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("kernel/a.ko\n")
    with pytest.raises(VmError, match="no module a"):
        kernel.load_modules(tmp_path, [("a", "x=1")])


def test_a_cycle_of_modules_ends(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_bytes(kernel_module("depends=b"))
    (tmp_path / "b.ko").write_bytes(kernel_module("depends=a"))
    with pytest.raises(VmError, match="for a -> b"):
        kernel.load_modules(tmp_path, [("a", "")])


@pytest.mark.parametrize("content", [b"", b"not ELF at all", b"\x7fELF\x02\x01\x01"])
def test_what_is_no_module_is_refused(content: bytes) -> None:
    with pytest.raises(VmError, match="not a kernel module"):
        kernel.dependencies(content)


def test_the_package_behind_the_meta_package_is_read_from_apt() -> None:
    listed = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n  Depends: something\n"
    assert kernel.parse_image_package("linux-image-amd64", listed) == "linux-image-6.1.0-56-amd64"
    with pytest.raises(VmError, match="apt-get update"):
        kernel.parse_image_package("linux-image-amd64", "linux-image-amd64\n")


def test_a_kernel_that_is_installed_here_is_none_for_another_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: X86_64.uname)
    install(tmp_path, "6.1.0-7-amd64")
    kept = tmp_path / "cache/kernels/arm64"
    (kept / "modules").mkdir(parents=True)
    for name, _ in ARM64.modules:
        (kept / "modules" / f"{name}.ko").write_bytes(kernel_module("depends="))
    (kept / "vmlinuz").write_bytes(b"an Image")
    (kept / "wanted").write_text(kernel.wanted_modules(ARM64))
    (kept / "release").write_text("6.1.0-7-arm64\n")
    assert kernel.find(ARM64, tmp_path / "cache", tmp_path).release == "6.1.0-7-arm64"


def test_a_package_is_fetched_where_no_kernel_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fake apt whose package is unpacked by a fake dpkg-deb."""
    tree = tmp_path / "tree"
    install(tree, "6.1.0-7-amd64")
    commands = tmp_path / "bin"
    commands.mkdir()
    calls = tmp_path / "calls"
    for name, body in {
        "apt-cache": "echo '  Depends: linux-image-6.1.0-7-amd64'",
        "apt-get": 'touch "$2_1_amd64.deb"',
        "dpkg-deb": f'cp -r {tree} "$3"',
    }.items():
        script = commands / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >>{calls}\n{body}\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:/usr/bin:/bin")
    # An older harness's kept package, with fewer modules.
    kept = tmp_path / "cache/kernels/x86_64"
    kept.mkdir(parents=True)
    (kept / "release").write_text("6.1.0-6-amd64\n")
    for _ in range(2):
        found = kernel.find(X86_64, tmp_path / "cache", tmp_path / "empty")
        assert found.release == "6.1.0-7-amd64"
        assert found.image.read_bytes() == ELF
        assert [module.name for module in found.modules][-1] == "fuse"
    assert [line.split()[0] for line in calls.read_text().splitlines()] == [
        "apt-cache",
        "apt-get",
        "dpkg-deb",
    ]
