# SPDX-License-Identifier: Apache-2.0
"""The changes that halyard deploy makes to a device, and takes back, whatever moment it ends at."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from halyard import records
from halyard.cli import deploy as cli_deploy
from halyard.cli import program
from halyard.deploy import ground
from halyard.deploy.deployment import Deployment
from halyard.deploy.payload import for_own_folder, for_vendor, wires_of
from halyard.devices.device import WORK_FOLDER, Wire
from halyard.devices.owner import Owner
from halyard.doctor import init_script, places
from halyard.errors import DeviceUnreachable, HalyardError
from halyard.programs import native
from halyard.records.made import Change
from halyard.records.made import Deployment as Record
from tests.harness.deployments import (
    OTHER_FRAGMENT,
    OWN,
    PROGRAM,
    SCRIPT,
    Tree,
    deploy,
    kept,
    lay_programs,
    phone_at,
    tree,
    undo,
)
from tests.harness.fake_phone import FakePhone


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_programs(tmp_path, monkeypatch)


@pytest.fixture
def phone(tmp_path: Path, programs: None) -> FakePhone:
    return phone_at(tmp_path / "phone")


# ---- what is put there --------------------------------------------------------------------------


def test_the_program_its_script_and_its_fragment_are_put_in_place(phone: FakePhone) -> None:
    assert deploy(phone) == 5
    assert phone.path(PROGRAM).read_text() == "the new program"
    assert not phone.path(PROGRAM).is_symlink()
    assert phone.path(PROGRAM).stat().st_mode & 0o777 == 0o755
    assert phone.path(SCRIPT).stat().st_mode & 0o777 == 0o644
    # One that declares the same would make the manifest invalid.
    assert not phone.path(OTHER_FRAGMENT).exists()
    assert not list(phone.path("/vendor").rglob("*.halyard-part"))


@pytest.mark.parametrize(
    ("sdk", "wires"),
    [(30, [Wire.HIDL]), (31, [Wire.HIDL, Wire.AIDL]), (34, [Wire.AIDL]), (None, [Wire.AIDL])],
)
@pytest.mark.usefixtures("programs")
def test_script_and_fragment_are_what_the_release_allows(
    sdk: int | None, wires: list[Wire]
) -> None:
    assert list(wires_of(sdk)) == wires
    made = for_vendor(
        native.program(native.SERVICE), "some-name", wires_of(sdk), ["CpuAcc", "CpuRef"]
    )
    content = {item.target.rpartition(".")[2]: item.content for item in made.items if item.content}
    assert isinstance(content["xml"], bytes)
    assert isinstance(content["rc"], bytes)
    hals = ET.fromstring(content["xml"]).findall("hal")
    assert {hal.get("format") for hal in hals} == {str(wire) for wire in wires}
    assert all("/some-name" in str(hal.findtext("fqname")) for hal in hals)
    script = init_script.parse(content["rc"].decode())
    assert script.errors == []
    [service] = script.services
    assert any("@1.3" in name for name in service.interfaces) == (Wire.HIDL in wires)
    assert any("@" not in name for name in service.interfaces) == (Wire.AIDL in wires)
    assert all(name.endswith("/some-name") for name in service.interfaces)
    assert list(made.words) == service.words
    line = " ".join(service.words)
    assert f"-c CpuAcc,CpuRef --wires {','.join(wires)} -n some-name --seccomp enforce" in line


@pytest.mark.parametrize("gpu", ["GpuAcc", "GpuAcc:device=1"])
@pytest.mark.usefixtures("programs")
def test_a_gpu_driver_is_not_kept_to_our_system_calls(gpu: str) -> None:
    words = for_vendor(native.program(native.SERVICE), "a", (Wire.AIDL,), ["CpuAcc", gpu]).words
    assert f"CpuAcc,{gpu}" in words
    assert "--seccomp" not in words


def test_deploying_again_does_nothing(phone: FakePhone) -> None:
    deploy(phone)
    before = tree(phone)
    assert deploy(phone) == 0
    assert tree(phone) == before


# ---- and taken back -----------------------------------------------------------------------------


def test_undo_restores_every_file_mode_time_and_link(phone: FakePhone) -> None:
    before = tree(phone)
    deploy(phone)
    assert tree(phone) != before
    undo(phone)
    assert tree(phone) == before
    assert not phone.path(places.DEPLOYMENT).exists()


def test_undo_restores_what_was_there_before_the_first_of_several(phone: FakePhone) -> None:
    before = tree(phone)
    deploy(phone)
    deploy(phone, "another-name")
    assert b"another-name" in phone.path(SCRIPT).read_bytes()
    undo(phone)
    assert tree(phone) == before


def test_a_folder_that_others_have_used_since_stays(phone: FakePhone) -> None:
    deploy(phone)
    phone.file("/vendor/etc/init/other.rc", "service a /b\n")
    undo(phone)
    assert phone.path("/vendor/etc/init/other.rc").is_file()
    assert not phone.path(SCRIPT).exists()


def test_undoing_nothing_changes_nothing(phone: FakePhone) -> None:
    before = tree(phone)
    undo(phone)
    assert tree(phone) == before


# Every so many commands; each of them with another step would be a minute.
_STEP = 4


@pytest.mark.parametrize("ran", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("then", ["undo", "deploy"])
def test_whatever_command_it_breaks_off_at_undo_restores_and_deploying_goes_on(
    tmp_path: Path, programs: None, then: str, ran: bool
) -> None:
    whole = phone_at(tmp_path / "whole")
    original = tree(whole)
    deploy(whole)
    commands = len(whole.commands)
    assert commands > 20
    # The last one gives the folder free: nothing is lost where it fails.
    for lasts in range(3 + ran, commands - 1, _STEP):
        phone = phone_at(tmp_path / f"{lasts}")
        phone.lasts, phone.ran_before_it_broke = lasts, ran
        with pytest.raises(DeviceUnreachable):
            deploy(phone)
        phone.lasts, phone.is_gone = None, False
        if then == "deploy":
            deploy(phone)
            assert contents(tree(phone)) == contents(tree(whole)), whole.commands[lasts]
        undo(phone)
        assert tree(phone) == original, whole.commands[lasts]


def contents(found: Tree) -> dict[str, tuple[int, bytes]]:
    return {name: (mode, content) for name, (mode, _, content) in found.items()}


@pytest.mark.parametrize("ran", [False, True], ids=["before", "after"])
def test_an_undo_that_breaks_off_can_be_done_again(
    tmp_path: Path, programs: None, ran: bool
) -> None:
    whole = phone_at(tmp_path / "whole")
    original = tree(whole)
    deploy(whole)
    begin = len(whole.commands)
    undo(whole)
    for lasts in range(1 + ran, len(whole.commands) - begin, _STEP):
        phone = phone_at(tmp_path / f"{lasts}")
        deploy(phone)
        phone.lasts, phone.ran_before_it_broke = len(phone.commands) + lasts, ran
        with pytest.raises(DeviceUnreachable):
            undo(phone)
        phone.lasts, phone.is_gone = None, False
        undo(phone)
        assert tree(phone) == original, whole.commands[begin + lasts]


def test_a_line_of_the_journal_that_broke_off_is_no_change(phone: FakePhone) -> None:
    before = tree(phone)
    deploy(phone)
    journal = phone.path(f"{places.DEPLOYMENT}/journal")
    journal.write_text(journal.read_text() + '{"kind":"file","tar')
    # Which brings files of other names.
    deployment = Deployment(phone, "PHONE7", "halyard-default", lambda _: None)
    hidl = for_vendor(native.program(native.SERVICE), "halyard-default", (Wire.HIDL,), ())
    deployment.deploy(hidl, deployment.changes(hidl))
    undo(phone)
    assert tree(phone) == before


# ---- what others can write ----------------------------------------------------------------------


def forged(**fields: str) -> str:
    return msgspec.json.encode({"kind": "file", "target": PROGRAM, **fields}).decode() + "\n"


@pytest.mark.parametrize("how", ["its mode", "a link", "a file"])
def test_a_folder_that_is_not_roots_alone_is_not_believed(phone: FakePhone, how: str) -> None:
    before = tree(phone)
    planted = phone.path("/data/planted" if how == "a link" else places.DEPLOYMENT)
    if how == "a file":
        planted.write_text("")
    else:
        phone.file(f"/{planted.relative_to(phone.root)}/journal", forged())
        planted.chmod(0o700 if how == "a link" else 0o770)
    if how == "a link":
        phone.path(places.DEPLOYMENT).symlink_to(planted)
    for act in (deploy, undo):
        with pytest.raises(HalyardError, match="is not a folder of root's alone"):
            act(phone)
    assert tree(phone) == before


def test_a_folder_of_somebody_else_is_not_believed(phone: FakePhone) -> None:
    if os.geteuid() != 0:
        pytest.skip("a file is given away by root")
    kept(phone, "journal", forged())
    os.chown(phone.path(places.DEPLOYMENT), 2000, 2000)
    with pytest.raises(HalyardError, match="is not a folder of root's alone"):
        undo(phone)


def test_nothing_is_kept_below_a_folder_that_everybody_may_write(phone: FakePhone) -> None:
    phone.path("/data/local").chmod(0o777)
    with pytest.raises(HalyardError, match="/data/local can be written by everybody"):
        deploy(phone)


def test_what_root_keeps_is_for_root_alone(phone: FakePhone) -> None:
    deploy(phone)
    assert phone.path(places.DEPLOYMENT).stat().st_mode & 0o777 == 0o700
    assert list(phone.path(WORK_FOLDER).iterdir()) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"backup": "0; touch owned"},
        {"backup": "../owner"},
        {"target": "vendor/bin/hw"},
        {"target": "/vendor/../data/owned"},
        {"target": "/vendor/a\nb"},
        {"label": "u:object_r:x; touch owned"},
    ],
    ids=str,
)
def test_a_line_that_no_deployment_writes_is_not_taken_back(
    phone: FakePhone, fields: dict[str, str]
) -> None:
    kept(phone, "journal", forged(**fields))
    before = tree(phone)
    with pytest.raises(HalyardError, match="a line that no deployment writes"):
        undo(phone)
    assert tree(phone) == before
    assert not (phone.root / "owned").exists()


def test_every_word_of_the_journal_is_quoted(phone: FakePhone) -> None:
    """Of what a device says, its services' names as well."""
    target = "/vendor/etc/init/a$(touch owned).rc"
    phone.tool("stop", f'echo "$@" >>{phone.root}/stopped')
    phone.set(**{"init__svc__a;touch${IFS}owned": "running", "init__svc__logd": "running"})
    phone.file(target, "service a;touch${IFS}owned /vendor/bin/hw/x\n")
    kept(phone, "journal", forged(target=target))
    undo(phone)
    assert (phone.root / "stopped").read_text() == "a;touch${IFS}owned\n"
    assert not phone.path(target).exists()
    assert not (phone.root / "owned").exists()


def test_what_somebody_else_puts_in_its_way_is_not_installed(
    phone: FakePhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is exchanged between adb's push and root's copy."""
    before = tree(phone)
    push = phone.push

    def exchanged(local: Path, remote: str, **_: object) -> None:
        push(local, remote)
        phone.file(remote, "something else!")

    monkeypatch.setattr(phone, "push", exchanged)
    with pytest.raises(HalyardError, match=f"what came for {PROGRAM} is not what was sent"):
        deploy(phone)
    undo(phone)
    assert tree(phone) == before


def test_no_more_of_a_file_is_taken_than_was_sent(
    phone: FakePhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not end would fill the disk."""
    push = phone.push

    def longer(local: Path, remote: str, **_: object) -> None:
        push(local, remote)
        with phone.path(remote).open("ab") as file:
            file.write(b"and more")

    monkeypatch.setattr(phone, "push", longer)
    deploy(phone)
    assert phone.path(PROGRAM).read_text() == "the new program"


# ---- what stands in the way ---------------------------------------------------------------------


def test_two_deployments_at_a_time_are_refused(phone: FakePhone) -> None:
    kept(phone, "owner", "elsewhere/1 boot 7 8")
    with pytest.raises(HalyardError, match="process 7 on elsewhere deploys there now"):
        deploy(phone)


def test_what_a_dead_deployment_holds_is_taken_over(phone: FakePhone) -> None:
    here = Owner.here()
    kept(phone, "owner", f"{here.place} {here.boot} {here.pid} 1")
    assert deploy(phone) == 5


def test_without_root_nothing_is_done(phone: FakePhone) -> None:
    phone.says("id", "2000\n")
    with pytest.raises(HalyardError, match="not root there, and there is no su"):
        deploy(phone)


def test_a_read_only_vendor_is_remounted_and_read_only_again_afterwards(
    phone: FakePhone,
) -> None:
    phone.file("/proc/mounts", "none / ext4 rw 0 0\n/dev/dm-3 /vendor ext4 ro,seclabel 0 0\n")
    phone.tool("mount", f'echo "$@" >>{phone.root}/mounted; sed -i "s/ ro,/ rw,/" proc/mounts')
    deploy(phone)
    undo(phone)
    lines = (phone.root / "mounted").read_text().splitlines()
    assert lines == ["-o rw,remount /vendor"] * 2 + ["-o ro,remount /vendor"]


@pytest.mark.parametrize(
    ("properties", "step"),
    [
        ({"ro.boot.veritymode": "enforcing"}, "adb disable-verity"),
        ({"ro.boot.flash.locked": "1", "ro.boot.veritymode": "enforcing"}, "flashing unlock"),
        ({"ro.kernel.qemu": "1"}, "emulator -writable-system"),
        ({}, "lays an overlay over it"),
    ],
)
def test_a_vendor_that_stays_read_only_is_explained_with_the_next_step(
    properties: dict[str, str], step: str
) -> None:
    mount = ground.mount_of("/vendor/bin/hw", "/dev/dm-3 /vendor ext4 ro 0 0\n")
    said = ground.next_step(mount, properties, "PHONE7")
    assert step in said
    assert "/vendor (ext4 on /dev/dm-3)" in said
    assert "halyard deploy --device PHONE7 --work" in said


def test_a_vendor_that_stays_read_only_is_not_touched(phone: FakePhone) -> None:
    before = tree(phone)
    phone.tool("touch", "exit 1")
    with pytest.raises(HalyardError, match="read-only: `adb root`, `adb remount`"):
        deploy(phone)
    assert tree(phone) == before


def test_the_innermost_and_last_mount_counts() -> None:
    mounts = (
        "/dev/root / ext4 ro 0 0\n/dev/dm-3 /vendor ext4 ro 0 0\n"
        "overlay /vendor overlay rw,lowerdir=/vendor 0 0\n/dev/x /vendor_dlkm ext4 ro 0 0\n"
    )
    mount = ground.mount_of("/vendor/bin/hw", mounts)
    assert mount is not None
    assert (mount.kind, mount.is_read_only) == ("overlay", False)
    other = ground.mount_of("/odm/etc", mounts)
    assert other is not None
    assert other.point == "/"


def test_the_work_folder_takes_the_program_alone(phone: FakePhone) -> None:
    before = tree(phone)
    deployment = Deployment(phone, "PHONE7", "a", lambda _: None)
    made = for_own_folder(native.program(native.SERVICE), "a", (Wire.HIDL,), ())
    deployment.deploy(made, deployment.changes(made))
    assert phone.path(made.items[0].target).read_text() == "the new program"
    assert made.words[0] == made.items[0].target
    assert tree(phone) == before
    assert not phone.path(OWN).exists()


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def told(
    phone: FakePhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Record]:
    """The document of the command with some options."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(cli_deploy, "open_lasting", lambda _: phone)

    def run(*words: str) -> Record:
        result = CliRunner().invoke(
            program.cli, ["deploy", "--device", "PHONE7", *words, "--json", "-"]
        )
        assert result.exit_code == 0, result.output
        [found] = records.decode(result.stdout.encode(), Record)
        return found

    return run


def test_what_would_be_done_is_written_as_what_is(
    told: Callable[..., Record], phone: FakePhone
) -> None:
    before = tree(phone)
    planned = told("--dry-run")
    assert tree(phone) == before
    done = told()
    assert planned == structs.replace(done, dry_run=True)
    assert (done.action, done.needs_boot, done.ok, done.findings) == ("deploy", True, True, [])
    assert Change(what="replace", target=PROGRAM) in done.changes
    assert Change(what="put", target=SCRIPT) in done.changes
    assert Change(what="make", target=OWN) in done.changes


def test_what_is_taken_back_is_written(told: Callable[..., Record], phone: FakePhone) -> None:
    assert told("--undo").changes == []
    before = tree(phone)
    told()
    planned = told("--undo", "--dry-run")
    done = told("--undo")
    assert tree(phone) == before
    assert planned == structs.replace(done, dry_run=True)
    assert (done.action, done.needs_boot) == ("undo", True)
    assert Change(what="file", target=PROGRAM) in done.changes


@pytest.mark.parametrize(
    "words",
    [
        ["--device", "host"],
        ["--device", "vm", "--wires", "usb"],
        ["--device", "vm", "--undo", "--work"],
        ["--device", "vm", "--instance", "a b"],
        ["--device", "vm"],
        [],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_with_2(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    result = CliRunner().invoke(program.cli, ["deploy", *words])
    assert result.exit_code == 2, result.output
