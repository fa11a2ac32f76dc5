# SPDX-License-Identifier: Apache-2.0
"""Debian's stock kernel for the virtual device: the installed one, or its package.

The kernel's modules are part of what is found: the virtual device needs binder and network, and
Debian builds both as modules.
"""

import bz2
import gzip
import io
import itertools
import lzma
import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from halyard.errors import VmError
from halyard.vm.debian import Packages
from halyard.vm.machine_type import Machine


@dataclass(frozen=True)
class Module:
    name: str
    parameters: str
    image: bytes


@dataclass(frozen=True)
class Kernel:
    release: str
    image: Path  # what QEMU loads
    modules: tuple[Module, ...]  # in the order to load them
    origin: str  # for reports: where it comes from
    # The modules that can be loaded later by their names, each after what it depends on.
    loadable: Mapping[str, tuple[Module, ...]] = field(default_factory=dict)


def find(machine: Machine, cache: Path, root: Path = Path("/")) -> Kernel:
    """The newest installed kernel that has the modules; else the package, kept in `cache`."""
    installed = (root / "boot").glob("vmlinuz-*") if machine.is_here() else ()
    for image in sorted(installed, key=_version, reverse=True):
        release = image.name.removeprefix("vmlinuz-")
        folder = root / "lib/modules" / release
        if os.access(image, os.R_OK) and _has_modules(machine, folder):
            return _load(machine, release, image, folder, cache, f"installed, {image}")
    name = machine.kernel_package if machine.kernel_backported else machine.name
    kept = cache / "kernels" / name
    if not (_complete(machine, kept) and _has_modules(machine, kept / "modules")):
        _download(machine, kept)
    release = (kept / "release").read_text().strip()
    return _load(
        machine, release, kept / "vmlinuz", kept / "modules", cache, f"package of {release}"
    )


def _version(image: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", image.name))


def _load(
    machine: Machine, release: str, image: Path, folder: Path, cache: Path, origin: str
) -> Kernel:
    return Kernel(
        release=release,
        image=unpacked(image, cache / "kernels" / "unpacked"),
        modules=load_modules(folder, machine.modules),
        loadable=_loadable(machine, folder),
        origin=origin,
    )


# ---- modules ------------------------------------------------------------------------------------

# Of the kernel's build: the modules that it has inside, a path for each.
_BUILT_IN = "modules.builtin"


def module_files(folder: Path) -> Mapping[str, Path]:
    """Each module below a folder by its name, in which `-` is `_`."""
    return {
        path.name.split(".ko", 1)[0].replace("-", "_"): path
        for path in folder.rglob("*.ko*")
        if path.name.endswith((".ko", ".ko.xz", ".ko.gz"))
    }


def built_in(folder: Path) -> frozenset[str]:
    """The names of what the kernel of the modules in a folder has inside, and is never loaded."""
    return frozenset(
        Path(line).stem.replace("-", "_")
        for path in folder.rglob(_BUILT_IN)
        for line in path.read_text().splitlines()
    )


def load_modules(folder: Path, wanted: Iterable[tuple[str, str]]) -> tuple[Module, ...]:
    """The modules and all they depend on, in an order in which they can be loaded; none for what is
    built in, unless it is to have parameters.

    Dependencies come from the modules themselves: modules.dep exists only where depmod ran, and it
    does not run when a package is merely unpacked.
    """
    files = module_files(folder)
    inside = built_in(folder)
    ordered: dict[str, Module] = {}

    def add(name: str, parameters: str, chain: tuple[str, ...]) -> None:
        if name in ordered or (name in inside and not parameters):
            return
        if name not in files or name in chain:
            raise VmError(f"{folder}: no module {name} (for {' -> '.join(chain) or 'the device'})")
        image = module_image(files[name])
        for dependency in dependencies(image):
            add(dependency, "", (*chain, name))
        ordered[name] = Module(name, parameters, image)

    for name, parameters in wanted:
        add(name, parameters, ())
    return tuple(ordered.values())


def module_image(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(content)
    if path.suffix == ".gz":
        return gzip.decompress(content)
    return content


def dependencies(image: bytes) -> list[str]:
    """The modules that a module says it depends on."""
    try:
        section = ELFFile(io.BytesIO(image)).get_section_by_name(".modinfo")
    except ELFError as error:
        raise VmError(f"not a kernel module: {error}") from error
    if section is None:
        raise VmError("not a kernel module: it has no .modinfo")
    for entry in section.data().split(b"\0"):
        key, _, value = entry.partition(b"=")
        if key == b"depends":
            return [name.replace("-", "_") for name in value.decode().split(",") if name]
    return []


def _has_modules(machine: Machine, folder: Path) -> bool:
    files = module_files(folder) if folder.is_dir() else {}
    inside = built_in(folder)
    return all(
        name in files or (name in inside and not parameters) for name, parameters in machine.modules
    )


def _loadable(machine: Machine, folder: Path) -> dict[str, tuple[Module, ...]]:
    files = module_files(folder)
    return {name: load_modules(folder, [(name, "")]) for name in machine.loadable if name in files}


# ---- the image ----------------------------------------------------------------------------------

_DECOMPRESSORS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data)),
    (b"\x5d\0\0", lambda data: lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(data)),
    (b"\x1f\x8b", lambda data: zlib.decompressobj(wbits=31).decompress(data)),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data)),
)


def unpack_bzimage(image: bytes) -> bytes | None:
    """The ELF kernel in an x86 bzImage; None if it is none, or packed in an unknown way.

    Offsets are those of the Linux/x86 boot protocol, version 2.08 on: setup_sects at 0x1f1, the
    magic HdrS at 0x202, payload_offset and payload_length at 0x248.
    """
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        return None
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + length]
    for magic, decompress in _DECOMPRESSORS:
        if payload.startswith(magic):
            kernel = decompress(payload)
            return kernel if kernel.startswith(b"\x7fELF") else None
    return None


def unpacked(image: Path, cache: Path) -> Path:
    """The kernel as QEMU starts it fastest: unpacked here, once, rather than under emulation at
    every boot. The image itself where that can't be done."""
    status = image.stat()
    target = cache / f"{image.name}-{status.st_size}-{status.st_mtime_ns}"
    if not target.exists():
        kernel = unpack_bzimage(image.read_bytes())
        if kernel is None:
            return image
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"{image.name}-*"):
            old.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(dir=cache, delete=False) as file:
            file.write(kernel)
        Path(file.name).replace(target)
    return target


# ---- the package --------------------------------------------------------------------------------


def wanted_modules(machine: Machine) -> str:
    """The name of a kept package, by the modules that were asked for: an older harness may have
    asked for fewer, and no kernel has to have all."""
    return " ".join([name for name, _ in machine.modules] + list(machine.loadable)) + "\n"


def _complete(machine: Machine, kept: Path) -> bool:
    wanted = kept / "wanted"
    has_all = wanted.is_file() and wanted.read_text() == wanted_modules(machine)
    return has_all and (kept / "release").is_file()


def _download(machine: Machine, kept: Path) -> None:
    packages = Packages(machine.debian, kept.parent.parent, backports=machine.kernel_backported)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        work = Path(folder)
        tree = work / "tree"
        packages.unpack([image_package(machine.kernel_package, packages)], tree)
        image = next((tree / "boot").glob("vmlinuz-*"))
        release = image.name.removeprefix("vmlinuz-")
        # Since Debian 13 the modules lie below usr.
        modules = next(
            path for path in (tree / "lib/modules", tree / "usr/lib/modules") if path.is_dir()
        )
        new = work / "new"
        (new / "modules").mkdir(parents=True)
        later = _loadable(machine, modules).values()
        for module in [*load_modules(modules, machine.modules), *itertools.chain(*later)]:
            (new / "modules" / f"{module.name}.ko").write_bytes(module.image)
        for listed in modules.rglob(_BUILT_IN):
            shutil.copy(listed, new / "modules")
        shutil.copy(image, new / "vmlinuz")
        (new / "wanted").write_text(wanted_modules(machine))
        (new / "release").write_text(release + "\n")
        shutil.rmtree(kept, ignore_errors=True)
        new.rename(kept)


def image_package(meta: str, packages: Packages) -> str:
    """The package with the kernel that a meta package depends on."""
    return parse_image_package(meta, packages.dependencies(meta))


def parse_image_package(meta: str, listed: str) -> str:
    for line in listed.splitlines():
        found = re.fullmatch(r"\s*Depends: (linux-image-\d\S*)", line)
        if found:
            return found[1]
    raise VmError(f"apt knows no kernel behind {meta}; run apt-get update and try again")
