# SPDX-License-Identifier: Apache-2.0
"""The contents of the virtual device's root."""

import stat
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from halyard.errors import ProgramMissing
from halyard.programs import native
from halyard.vm import initramfs
from halyard.vm.cpio import entries
from halyard.vm.kernel import Kernel, Module
from halyard.vm.machine_type import X86_64

KERNEL = Kernel(
    release="6.1",
    image=Path("/boot/vmlinuz"),
    modules=(Module("virtio", "", b"first"), Module("binder_linux", "devices=a,b", b"second")),
    origin="a test",
)


@pytest.fixture(scope="module")
def root() -> dict[str, tuple[int, bytes]]:
    archive = initramfs.build(
        X86_64,
        KERNEL,
        programs={"/vendor/bin/hw/service": Path("/bin/ls")},
        properties={"ro.test": "yes", "ro.build.version.sdk": "29"},
        environment={"WORDS": "it's two words", "OTHER": "a:b=1"},
    )
    return {name: (mode, content) for name, mode, content in entries(archive)}


def test_programs_and_their_libraries_are_there(root: dict[str, tuple[int, bytes]]) -> None:
    mode, content = root["vendor/bin/hw/service"]
    assert mode & 0o111
    assert content == Path("/bin/ls").read_bytes()
    names = {Path(name).name for name in root}
    assert "libc.so.6" in names
    assert any(name.startswith("ld-linux") for name in names)


def test_init_and_the_shell_are_busybox(root: dict[str, tuple[int, bytes]]) -> None:
    for name in ("init", "system/bin/sh", "bin/sh"):
        assert stat.S_ISLNK(root[name][0])
        assert root[name][1] == b"/bin/busybox"
    assert root["bin/busybox"][1] == initramfs.BUSYBOX.read_bytes()


def test_modules_are_listed_in_loading_order(root: dict[str, tuple[int, bytes]]) -> None:
    assert root["system/etc/modules"][1] == b"virtio \nbinder_linux devices=a,b\n"
    assert root["system/lib/modules/binder_linux.ko"][1] == b"second"


def test_properties_given_win_over_the_defaults(root: dict[str, tuple[int, bytes]]) -> None:
    lines = root["system/etc/properties"][1].decode().splitlines()
    assert "ro.test=yes" in lines
    assert "ro.build.version.sdk=29" in lines
    assert "ro.build.version.sdk=34" not in lines


def test_daemons_find_the_environment_in_theirs(
    root: dict[str, tuple[int, bytes]], tmp_path: Path
) -> None:
    said = "#!/bin/sh\necho $WORDS, $OTHER\n"
    script = root["system/etc/init/daemon"][1].decode()
    for name in ("system/bin", "system/etc", "data/log"):
        (tmp_path / name).mkdir(parents=True)
        script = script.replace(f"/{name}/", f"{tmp_path / name}/")
    (tmp_path / "system/etc/environment").write_bytes(root["system/etc/environment"][1])
    (tmp_path / "system/bin/teller").write_text(said)
    (tmp_path / "system/bin/teller").chmod(0o755)
    subprocess.run(
        [initramfs.BUSYBOX, "sh", "-s", "teller"], input=script.encode(), check=True, timeout=20
    )
    assert (tmp_path / "data/log/teller.log").read_text() == "it's two words, a:b=1\n"


def test_android_folders_are_there(root: dict[str, tuple[int, bytes]]) -> None:
    assert stat.S_IMODE(root["data/local/tmp"][0]) == 0o777
    assert stat.S_IMODE(root["tmp"][0]) == 0o1777
    for folder in ("vendor/bin/hw", "system/bin", "proc", "sys", "dev"):
        assert stat.S_ISDIR(root[folder][0])


@pytest.mark.parametrize(
    ("sdk", "level"), [("28", "3"), ("32", "6"), ("34", "8"), ("35", "202404")]
)
def test_manifests_that_declare_nothing_stand_where_libvintf_begins(sdk: str, level: str) -> None:
    archive = initramfs.build(
        X86_64,
        KERNEL,
        programs={"/vendor/bin/hw/service": Path("/bin/ls")},
        properties={"ro.build.version.sdk": sdk},
    )
    root = {name: content for name, _, content in entries(archive)}
    device = ElementTree.fromstring(root["vendor/etc/vintf/manifest.xml"])
    framework = ElementTree.fromstring(root["system/etc/vintf/manifest.xml"])
    assert (device.tag, device.attrib["type"]) == ("manifest", "device")
    assert device.attrib["target-level"] == level
    assert (framework.tag, framework.attrib["type"]) == ("manifest", "framework")
    assert not list(device)
    assert not list(framework)


@pytest.mark.parametrize(("sdk", "name"), [("29", native.SERVICE), ("34", native.AIDL_SERVICE)])
def test_the_fragment_and_the_script_of_the_release_are_there_and_no_others(
    sdk: str, name: str
) -> None:
    archive = initramfs.build(
        X86_64,
        KERNEL,
        programs={"/vendor/bin/hw/service": Path("/bin/ls")},
        properties={"ro.build.version.sdk": sdk},
    )
    root = {name: content for name, _, content in entries(archive)}
    for folder, suffix in (("vendor/etc/vintf/manifest", "xml"), ("vendor/etc/init", "rc")):
        there = {path for path in root if path.startswith(f"{folder}/")}
        assert there == {f"{folder}/{name}.{suffix}"}
        own = native.device_configs() / f"{name}.{suffix}"
        assert root[f"{folder}/{name}.{suffix}"] == own.read_bytes()


def test_the_service_has_the_name_of_aidls_services_too(root: dict[str, tuple[int, bytes]]) -> None:
    mode, target = root[f"vendor/bin/hw/{native.AIDL_SERVICE}"]
    assert stat.S_ISLNK(mode)
    assert target.decode() == native.SERVICE


def test_both_service_managers_are_started_and_started_again(
    root: dict[str, tuple[int, bytes]],
) -> None:
    table = root["etc/inittab"][1].decode().splitlines()
    for name in ("hwservicemanager", "servicemanager"):
        assert f"::respawn:/system/etc/init/daemon {name}" in table
        assert f"/system/bin/{name}" in initramfs.PROGRAMS


def test_scripts_are_valid_shell(root: dict[str, tuple[int, bytes]]) -> None:
    scripts = [name for name, (_, content) in root.items() if content.startswith(b"#!")]
    assert len(scripts) >= 5
    for name in scripts:
        mode, content = root[name]
        assert mode & 0o111, name
        subprocess.run([initramfs.BUSYBOX, "sh", "-n"], input=content, check=True, timeout=20)


def test_a_missing_busybox_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="busybox-static"):
        initramfs.build(X86_64, KERNEL, programs={}, busybox=tmp_path / "none")


def test_the_digest_tells_programs_apart(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("one")
    before = initramfs.digest({"/a": program})
    assert before == initramfs.digest({"/a": program})
    assert before != initramfs.digest({"/b": program})
    program.write_text("two")
    assert before != initramfs.digest({"/a": program})


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    """setprop and getprop on a store of this test's."""
    scripts = Path(initramfs.__file__).parent / "rootfs"
    for name in ("setprop", "getprop"):
        text = (scripts / name).read_text().replace("/dev/properties", str(tmp_path / "store"))
        (tmp_path / name).write_text(text)
    return tmp_path


def prop(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [initramfs.BUSYBOX, "sh", folder / words[0], *words[1:]],
        capture_output=True,
        text=True,
        timeout=20,
    )


def test_a_property_that_is_set_can_be_read(properties: Path) -> None:
    assert prop(properties, "setprop", "a.b", "x  y").returncode == 0
    assert prop(properties, "setprop", "a.c", "").returncode == 0
    assert prop(properties, "getprop", "a.b").stdout == "x  y\n"
    assert prop(properties, "getprop", "a.none", "default").stdout == "default\n"
    assert prop(properties, "getprop").stdout == "[a.b]: [x  y]\n[a.c]: []\n"


@pytest.mark.parametrize("words", [[], ["only.name"], ["", "value"], ["../etc/passwd", "value"]])
def test_setprop_refuses_what_is_no_property(properties: Path, words: list[str]) -> None:
    assert prop(properties, "setprop", *words).returncode == 1
