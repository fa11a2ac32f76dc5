# SPDX-License-Identifier: Apache-2.0
"""The virtual device's root: Android's folders, busybox, the kernel's modules, our programs."""

import hashlib
import shlex
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from halyard import paths
from halyard.errors import ProgramMissing
from halyard.programs import native
from halyard.vm.cpio import Archive
from halyard.vm.debian import Packages
from halyard.vm.elf import closure
from halyard.vm.kernel import Kernel
from halyard.vm.machine_type import Machine

BUSYBOX = Path("/bin/busybox")

# The runner is not among them: it comes over adb, as on any device.
PROGRAMS: Mapping[str, str] = {
    f"/vendor/bin/hw/{native.SERVICE}": native.SERVICE,
    "/system/bin/hwservicemanager": native.HWSERVICEMANAGER,
    "/system/bin/servicemanager": native.SERVICEMANAGER,
    "/system/bin/adbd": native.ADBD,
}

PROPERTIES: Mapping[str, str] = {
    "ro.build.version.release": "14",
    "ro.build.version.sdk": "34",  # whose NNAPI is AIDL 4, with HIDL 1.3 beside it
    "ro.build.type": "userdebug",
    "ro.debuggable": "1",
    "ro.hardware": "halyard",
    "ro.product.manufacturer": "Halyard",
    "ro.product.model": "Virtual device",
}

_SCRIPTS = {
    "/system/etc/init/setup": ("setup", 0o755),
    "/system/etc/init/announce": ("announce", 0o755),
    "/system/etc/init/daemon": ("daemon", 0o755),
    "/system/bin/getprop": ("getprop", 0o755),
    "/system/bin/setprop": ("setprop", 0o755),
    "/etc/inittab": ("inittab", 0o644),
}

# The API level of the first release whose NNAPI is AIDL.
_FIRST_AIDL = 31

# The levels of vendor interfaces that libvintf asks a device for, by the API level that they came
# with. A device of a release in between has the one before it.
_TARGET_LEVELS = {26: 1, 27: 2, 28: 3, 29: 4, 30: 5, 31: 6, 33: 7, 34: 8, 35: 202404, 36: 202504}

# Those that init's first script and the shell need before busybox has put in the rest.
_APPLETS = ("sh",)

_FOLDERS = ("data/log", "data/vendor", "dev", "proc", "sys", "vendor/lib64")

_USERS = "root:x:0:0::/data:/system/bin/sh\nsystem:x:1000:1000::/data:/system/bin/sh\n"
_GROUPS = "root:x:0:\nsystem:x:1000:\nshell:x:2000:\n"


def build(
    machine: Machine,
    kernel: Kernel,
    *,
    programs: Mapping[str, Path] | None = None,
    properties: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    busybox: Path = BUSYBOX,
) -> bytes:
    """The archive. `programs` maps paths in it to files; left out: PROGRAMS, as installed.

    `environment` is what its daemons find in theirs, and all that adbd starts.
    """
    if not busybox.is_file():
        raise ProgramMissing(f"{busybox} is missing: install Debian's busybox-static")
    files = dict(programs) if programs is not None else native_programs(machine)
    archive = Archive()
    for folder in _FOLDERS:
        archive.folder(folder)
    archive.folder("data/local/tmp", 0o777)
    archive.folder("tmp", 0o1777)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    archive.link("init", "/bin/busybox")
    for applet in _APPLETS:
        archive.link(f"system/bin/{applet}", "/bin/busybox")
    archive.link("bin/sh", "/bin/busybox")
    for name, path in files.items():
        archive.file(name, path.read_bytes(), 0o755)
    archive.link(f"vendor/bin/hw/{native.AIDL_SERVICE}", native.SERVICE)
    library_root = Path(machine.library_root())
    libraries = closure(files.values(), machine.elf_machine, machine.library_folders, library_root)
    for name, path in libraries.items():
        archive.file(name, path.read_bytes(), 0o755)
    _add_configuration(archive, kernel, {**PROPERTIES, **(properties or {})})
    exports = [
        f"export {name}={shlex.quote(value)}\n" for name, value in (environment or {}).items()
    ]
    archive.file("system/etc/environment", "".join(exports).encode())
    return archive.finish()


def native_programs(machine: Machine) -> dict[str, Path]:
    return {name: native.program(program, machine.uname) for name, program in PROGRAMS.items()}


def busybox_of(machine: Machine, cache: Path | None = None) -> Path:
    """This machine's own, or another architecture's from its package, kept in `cache`."""
    if machine.is_here():
        return BUSYBOX
    kept = (cache or paths.cache()) / "busybox" / machine.name
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            Packages(machine.debian, cache or paths.cache()).unpack(
                ["busybox-static"], Path(folder)
            )
            # Since Debian 13 it lies below usr.
            [found] = (path for path in Path(folder).glob("**/bin/busybox") if path.is_file())
            found.replace(kept)
    return kept


def digest(programs: Mapping[str, Path]) -> str:
    """Names the programs, so that a device that runs older ones can be told."""
    every = hashlib.sha256()
    for name, path in sorted(programs.items()):
        every.update(f"{name}={native.digest(path)}\n".encode())
    return every.hexdigest()


def _add_configuration(archive: Archive, kernel: Kernel, properties: Mapping[str, str]) -> None:
    for name, (source, mode) in _SCRIPTS.items():
        content = resources.files("halyard.vm").joinpath("rootfs", source).read_bytes()
        archive.file(name, content, mode)
    for module in kernel.modules:
        archive.file(f"system/lib/modules/{module.name}.ko", module.image)
    archive.file(
        "system/etc/modules",
        "".join(f"{module.name} {module.parameters}\n" for module in kernel.modules).encode(),
    )
    archive.file(
        "system/etc/properties",
        "".join(f"{name}={value}\n" for name, value in sorted(properties.items())).encode(),
    )
    archive.file("etc/passwd", _USERS.encode())
    archive.file("etc/group", _GROUPS.encode())
    configs = native.device_configs()
    # A device takes one of the pairs: an instance may be declared once.
    sdk = int(properties["ro.build.version.sdk"])
    aidl = sdk >= _FIRST_AIDL
    name = native.AIDL_SERVICE if aidl else native.SERVICE
    fragment, script = configs / f"{name}.xml", configs / f"{name}.rc"
    archive.file(f"vendor/etc/vintf/manifest/{fragment.name}", fragment.read_bytes())
    archive.file(f"vendor/etc/init/{script.name}", script.read_bytes())
    # libvintf reads fragments only beside a manifest, which may declare nothing of its own.
    level = max((level for since, level in _TARGET_LEVELS.items() if since <= sdk), default=1)
    device = f'<manifest version="1.0" type="device" target-level="{level}"/>\n'
    archive.file("vendor/etc/vintf/manifest.xml", device.encode())
    archive.file("system/etc/vintf/manifest.xml", b'<manifest version="1.0" type="framework"/>\n')
