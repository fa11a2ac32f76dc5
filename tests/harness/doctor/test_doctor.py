# SPDX-License-Identifier: Apache-2.0
"""The findings of halyard doctor on phones, from their programs' output and their files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from halyard import records
from halyard.cli import program
from halyard.devices.config import DeviceConfig
from halyard.devices.device import WORK_FOLDER
from halyard.doctor import connection, places
from halyard.doctor.examination import examine
from halyard.doctor.finding import Verdict
from halyard.doctor.init_script import parse
from halyard.doctor.patient import option
from halyard.doctor.selinux import denials
from halyard.errors import DeviceUnreachable
from halyard.programs import native
from halyard.records.doctor import Doctor
from tests.harness.doctor.phones import (
    FRAGMENT,
    NAME,
    PROGRAM,
    REGISTERED,
    SCRIPT,
    elf,
    end,
    found,
    only,
    stat,
)
from tests.harness.fake_phone import FakePhone

# ---- a phone that is well -----------------------------------------------------------------------


def test_finds_nothing_on_a_phone_that_is_well(phone: FakePhone) -> None:
    phone.file(PROGRAM, elf(183), 0o755)
    # A program of that kind does not start here.
    assert [each for each in found(phone) if each.check not in ("linker", "process")] == []
    assert [each for each in found(phone, "process") if each.verdict is not Verdict.UNKNOWN] == []
    assert {each.seen for each in found(phone, "registration", verdicts="ok")} == {*REGISTERED}


def test_every_finding_that_is_not_ok_says_what_to_do(phone: FakePhone) -> None:
    end(phone)
    phone.path(FRAGMENT).unlink()
    phone.path(PROGRAM).unlink()
    phone.says("id", "2000\n")
    for finding in found(phone, verdicts="problem warning"):
        assert finding.fix, finding


# ---- adb ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "words", "command"),
    [
        ("unauthorized", "has not allowed this machine", ""),
        ("offline", "does not answer", "adb reconnect offline"),
        ("no permissions (user in plugdev?)", "may not open the USB device", ""),
        ("device", "adb server of this machine holds", "adb kill-server"),
    ],
)
def test_a_phone_that_cant_be_opened_is_explained_by_the_servers_state(
    state: str, words: str, command: str
) -> None:
    text = f"PHONE7\t{state}\n"
    states = connection.parse_states(f"OKAY{len(text):04x}{text}")
    config = DeviceConfig(kind="adb", serial="PHONE7")
    finding = connection.failed(config, "PHONE7 is no device", states)
    assert finding.verdict is Verdict.PROBLEM
    assert words in finding.seen
    assert finding.command == command


def test_a_key_that_is_refused_is_told_from_a_cable_that_is_not_there() -> None:
    config = DeviceConfig(kind="adb", serial="PHONE7")
    assert "say yes there" in connection.failed(config, "Device not authenticated", {}).fix
    assert "USB debugging" in connection.failed(config, "no such device", {}).fix


def test_a_device_that_cant_be_opened_is_a_finding() -> None:
    def no_device() -> FakePhone:
        raise DeviceUnreachable("connection refused", serial="10.0.0.7:5555", command="connect")

    config = DeviceConfig(kind="adb", transport="tcp", host="10.0.0.7")
    findings = list(examine(config, "10.0.0.7:5555", "halyard-default", no_device))
    assert findings[-1].verdict is Verdict.PROBLEM
    assert "no adb answers at 10.0.0.7:5555" in findings[-1].seen
    assert findings[-1].command == "adb tcpip 5555"


def test_a_device_that_goes_in_the_middle_ends_the_examination(phone: FakePhone) -> None:
    phone.breaks_at = "pidof"
    findings = found(phone)
    assert findings[-1].seen == "the device is gone: the connection broke"
    assert [each.verdict for each in findings] == [Verdict.PROBLEM]


# ---- root ---------------------------------------------------------------------------------------


def test_su_is_root_where_adbs_shell_is_not(phone: FakePhone) -> None:
    phone.says("id", "2000\n")
    # Magisk's, which knows -c and no program's name.
    phone.tool("su", '[ "$1" = -c ] && [ "$2" = "id -u" ] && echo 0')
    assert only(found(phone, "root", verdicts="ok problem")).seen == "by su -c"


@pytest.mark.parametrize(("debuggable", "word"), [("1", "adb root"), ("0", "user build")])
def test_without_root_the_next_step_is_the_builds(
    phone: FakePhone, debuggable: str, word: str
) -> None:
    phone.says("id", "2000\n")
    phone.set(ro__debuggable=debuggable, ro__build__type="user")
    finding = only(found(phone, "root"))
    assert word in f"{finding.seen} {finding.command}"


# ---- the program --------------------------------------------------------------------------------


@pytest.mark.parametrize(("machine", "name"), [(62, "x86_64"), (40, "armv7l")])
def test_a_program_for_another_processor_is_named(
    phone: FakePhone, machine: int, name: str
) -> None:
    phone.file(PROGRAM, elf(machine), 0o755)
    finding = only(found(phone, "program"))
    assert f"is for {name}, and this device is aarch64" in finding.seen
    assert "make arm64" in finding.fix


def test_a_32_bit_program_runs_on_a_phone_that_has_that_abi(phone: FakePhone) -> None:
    phone.set(ro__product__cpu__abilist="arm64-v8a,armeabi-v7a,armeabi")
    phone.file(PROGRAM, elf(40), 0o755)
    assert found(phone, "program") == []


def test_segments_that_are_not_aligned_to_the_kernels_pages_are_told(phone: FakePhone) -> None:
    phone.file(PROGRAM, elf(183, alignment=4096), 0o755)
    phone.file("/proc/self/smaps", "KernelPageSize:       16 kB\n")
    finding = only(found(phone, "program"))
    assert finding.verdict is Verdict.PROBLEM
    assert "aligned to 4096 bytes, and this kernel's pages have 16384" in finding.seen
    phone.file(PROGRAM, elf(183, alignment=16384), 0o755)
    assert found(phone, "program") == []


def test_a_library_that_bionics_linker_lacks_is_named(phone: FakePhone) -> None:
    said = f'CANNOT LINK EXECUTABLE "{PROGRAM}": library "libneuralnetworks_x.so" not found'
    phone.file(PROGRAM, f"#!/bin/sh\necho '{said}: needed by main executable' >&2\nexit 1\n", 0o755)
    assert "needs libneuralnetworks_x.so" in only(found(phone, "linker")).seen


def test_a_symbol_that_the_device_lacks_is_named(phone: FakePhone) -> None:
    said = f'CANNOT LINK EXECUTABLE "{PROGRAM}": cannot locate symbol "memfd_create" referenced'
    phone.file(PROGRAM, f"#!/bin/sh\necho '{said}' >&2\nexit 1\n", 0o755)
    assert 'cannot locate symbol "memfd_create"' in only(found(phone, "linker")).seen


@pytest.mark.parametrize(
    ("path", "user"),
    [(PROGRAM, "root"), (f"{WORK_FOLDER}/{native.SERVICE}", "shell")],
)
def test_root_runs_no_program_that_others_can_put_there(
    phone: FakePhone, path: str, user: str
) -> None:
    phone.tool("id", '[ "$AS" = root ] && echo 0 || echo 2000')
    phone.tool("su", '[ "$1" = 0 ] && shift; AS=root exec "$@"')
    phone.file(path, f"#!/bin/sh\necho ${{AS:-shell}} >{phone.root}/ran\n", 0o755)
    found(phone, "linker")
    assert (phone.root / "ran").read_text() == f"{user}\n"


# ---- the .rc file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("    class hal\n", "    clas hal\n", "'clas' is no option of a service"),
        ("service neural", "servce neural", "stands in no section"),
        ("/vendor/bin/hw/android", "vendor/bin/hw/android", "no absolute path"),
        ("    user system\n", "", "names no user"),
        ("    user system\n", "    user no_such_user\n", "there is no user no_such_user"),
        ("    class hal\n", "    class hal\n    oneshot\n", ""),
        ("-service-halyard -c", "-service-elsewhere -c", "-service-elsewhere is not there"),
    ],
)
def test_what_is_wrong_with_a_script_is_named(
    phone: FakePhone, before: str, after: str, words: str
) -> None:
    phone.tool("id", '[ "$1" = no_such_user ] && exit 1; echo 0')
    text = phone.path(SCRIPT).read_text()
    assert before in text
    phone.file(SCRIPT, text.replace(before, after))
    said = " ".join(each.seen for each in found(phone, "init script"))
    assert words in said
    assert bool(said) == bool(words)


def test_a_script_that_others_may_write_is_one_that_init_skips(phone: FakePhone) -> None:
    phone.path(SCRIPT).chmod(0o666)
    finding = only(found(phone, "init script"))
    assert "init skips it" in finding.seen
    assert finding.command == f"halyard shell --device PHONE7 -- chmod 644 {SCRIPT}"


def test_a_script_that_came_after_the_boot_needs_another_boot(phone: FakePhone) -> None:
    phone.set(init__svc__logd="running", ro__build__version__sdk="33")
    finding = only(found(phone, "init script"))
    assert "came after the boot" in finding.seen
    assert finding.command == "adb reboot"


def test_what_init_says_of_a_script_is_told(phone: FakePhone) -> None:
    phone.says("dmesg", f"[  2.1] init: {SCRIPT}: 17: Invalid option 'foo'\n")
    assert "17: Invalid option 'foo'" in only(found(phone, "init script")).seen


def test_continued_lines_and_comments_are_read_as_init_does() -> None:
    script = parse(
        "service a /b \\\n    -c x # no\n    class hal\n# service c /d\non boot\n  any 1\n"
    )
    [service] = script.services
    assert (service.name, service.words) == ("a", ["/b", "-c", "x"])
    assert script.errors == []


# ---- the manifest -------------------------------------------------------------------------------


def test_xml_that_is_none_is_told_with_its_line(phone: FakePhone) -> None:
    phone.file(FRAGMENT, phone.path(FRAGMENT).read_text().replace("</manifest>", "</manifes>"))
    findings = found(phone, "manifest")
    assert "mismatched tag: line 14" in findings[0].seen
    assert "no manifest declares halyard-default" in findings[1].seen


def test_another_instance_is_named(phone: FakePhone) -> None:
    text = phone.path(FRAGMENT).read_text().replace("halyard-default", "other")
    phone.file(FRAGMENT, text)
    assert "declared of NNAPI: other" in only(found(phone, "manifest")).seen


def test_hidl_on_android_14_is_told(phone: FakePhone) -> None:
    phone.set(ro__build__version__sdk="34", ro__build__version__release="14")
    finding = only(found(phone, "manifest"))
    assert "Android 14 (API 34) allows HIDL's NNAPI no more" in finding.seen
    assert finding.command.endswith("--wires aidl")


def test_aidl_before_android_12_is_told(phone: FakePhone) -> None:
    phone.set(ro__build__version__sdk="30", ro__build__version__release="11")
    assert "knows no AIDL of NNAPI" in only(found(phone, "manifest")).seen


def test_a_fragment_that_came_after_the_managers_is_told(phone: FakePhone) -> None:
    phone.file("/proc/411/stat", stat(200))
    finding = only(found(phone, "manifest"))
    assert "has changed since the service managers read it" in finding.seen
    assert finding.command == "adb reboot"


def test_an_instance_that_two_files_declare_is_told(phone: FakePhone) -> None:
    phone.file("/vendor/etc/vintf/manifest/other.xml", phone.path(FRAGMENT).read_text())
    assert [each.verdict for each in found(phone, "manifest")] == [Verdict.PROBLEM] * 2


def test_a_version_without_measure_is_no_declaration(phone: FakePhone) -> None:
    text = phone.path(FRAGMENT).read_text().replace("@1.3::", "@1.999999999999::")
    phone.file(FRAGMENT, text)
    finding = only(found(phone, "manifest", verdicts="ok problem warning"))
    assert finding.verdict is Verdict.OK
    assert "neuralnetworks.IDevice/halyard-default" in finding.seen


def test_hidls_older_form_of_a_manifest_is_read(phone: FakePhone) -> None:
    phone.file(
        FRAGMENT,
        '<manifest version="1.0" type="device"><hal format="hidl">'
        "<name>android.hardware.neuralnetworks</name><transport>hwbinder</transport>"
        "<version>1.2</version><interface><name>IDevice</name>"
        "<instance>halyard-default</instance></interface></hal></manifest>",
    )
    finding = only(found(phone, "manifest", verdicts="ok"))
    assert "neuralnetworks@1.2::IDevice/halyard-default" in finding.seen


# ---- the process --------------------------------------------------------------------------------


def test_a_service_that_init_restarts_again_and_again_is_told_with_its_signal(
    phone: FakePhone,
) -> None:
    end(phone)
    phone.set(**{f"init__svc__{NAME}": "restarting"})
    line = f"[ 9.1] init: Service '{NAME}' (pid 7) received signal 31\n"
    phone.says("dmesg", line * 3)
    absent, crashes = found(phone, "process", verdicts="problem")
    assert f"to init {NAME} is restarting" in absent.seen
    assert absent.command == f"halyard shell --device PHONE7 -- start {NAME}"
    assert "received signal 31 (SIGSYS), 3 times" in crashes.seen
    assert "--seccomp log" in crashes.fix


def test_the_last_error_of_the_log_is_told(phone: FakePhone) -> None:
    phone.says(
        "logcat",
        "11-24 03:00:00.000  812  812 E halyard : the first\n"
        "11-24 03:00:01.000  812  812 E halyard : can't open /dev/binder\n"
        "11-24 03:00:02.000  812  812 I halyard : the end\n",
    )
    finding = only(found(phone, "process"))
    assert finding.verdict is Verdict.WARNING
    assert "can't open /dev/binder" in finding.seen


def test_a_service_of_another_name_is_named(phone: FakePhone) -> None:
    words = [PROGRAM, "--service-name=other"]
    phone.file("/proc/812/cmdline", "\0".join(words) + "\0")
    assert "there are services named other" in found(phone, "process", verdicts="problem")[0].seen


@pytest.mark.parametrize("words", [["x", "-n", "a"], ["x", "-na"], ["x", "--service-name=a"]])
def test_an_option_is_found_in_each_of_getopts_forms(words: list[str]) -> None:
    assert option(words, "-n", "--service-name") == "a"


# ---- registration -------------------------------------------------------------------------------


def test_a_wire_that_is_declared_and_not_registered_is_named(phone: FakePhone) -> None:
    phone.registers(*REGISTERED[:4])
    finding = only(found(phone, "registration"))
    assert "not registered: android.hardware.neuralnetworks.IDevice/halyard-default" in finding.seen
    assert "--wires" in finding.fix


def test_a_single_hidl_version_that_lacks_is_named(phone: FakePhone) -> None:
    phone.registers(*REGISTERED[:3], REGISTERED[4])
    assert only(found(phone, "registration")).seen.endswith("@1.3::IDevice/halyard-default")


def test_managers_that_do_not_answer_are_no_verdict_on_the_service(phone: FakePhone) -> None:
    phone.tool(native.RUNNER, "echo 'no answer from /dev/hwbinder' >&2; exit 3")
    finding = only(found(phone, "registration"))
    assert finding.verdict is Verdict.UNKNOWN
    assert "no answer from /dev/hwbinder" in finding.seen


def test_a_manager_that_is_switched_off_is_told_from_one_that_died(phone: FakePhone) -> None:
    phone.tool("pidof", '[ "$1" = servicemanager ] && echo 411')
    assert "does not run" in only(found(phone, "managers")).seen
    phone.set(hwservicemanager__disabled="true", ro__build__version__sdk="35")
    finding = only(found(phone, "managers"))
    assert "switched off" in finding.seen
    assert finding.command.endswith("--wires aidl")


# ---- SELinux ------------------------------------------------------------------------------------

DENIALS = """\
[ 12.0] type=1400 audit(0.0:77): avc:  denied  { read write } for  pid=812 comm="halyard" \
name="kgsl-3d0" dev="tmpfs" ino=1 scontext=u:r:hal_neuralnetworks_halyard:s0 \
tcontext=u:object_r:gpu_device:s0 tclass=chr_file permissive=0
[ 12.1] type=1400 audit(0.0:78): avc:  denied  { open } for  pid=812 comm="halyard" \
name="kgsl-3d0" dev="tmpfs" ino=1 scontext=u:r:hal_neuralnetworks_halyard:s0 \
tcontext=u:object_r:gpu_device:s0 tclass=chr_file permissive=0
[ 12.2] type=1400 audit(0.0:79): avc:  denied  { execmem } for  pid=812 comm="halyard" \
scontext=u:r:hal_neuralnetworks_halyard:s0 tcontext=u:r:hal_neuralnetworks_halyard:s0 \
tclass=process permissive=1
[ 12.3] type=1400 audit(0.0:80): avc:  denied  { read } for  pid=99 comm="camera" \
scontext=u:r:cameraserver:s0 tcontext=u:object_r:vendor_file:s0 tclass=file permissive=0
"""


def test_each_denial_has_the_line_of_policy_that_allows_it() -> None:
    assert [each.rule() for each in denials(DENIALS)] == [
        "allow hal_neuralnetworks_halyard gpu_device:chr_file { open read write };",
        "allow hal_neuralnetworks_halyard self:process execmem;",
    ]


def test_denials_of_the_kernels_log_are_findings(phone: FakePhone) -> None:
    phone.says("dmesg", DENIALS)
    gpu, permitted = found(phone, "selinux")
    assert gpu.verdict is Verdict.PROBLEM
    assert "allow hal_neuralnetworks_halyard gpu_device:chr_file { open read write };" in gpu.fix
    assert "sepolicy_gpu" in gpu.fix
    assert permitted.verdict is Verdict.WARNING


def test_a_registration_that_the_manager_denies_is_in_logcat(phone: FakePhone) -> None:
    phone.says(
        "logcat",
        "11-24 E SELinux : avc:  denied  { add } for "
        "interface=android.hardware.neuralnetworks::IDevice sid=u:r:hal_neuralnetworks_halyard:s0 "
        "pid=812 scontext=u:r:hal_neuralnetworks_halyard:s0 "
        "tcontext=u:object_r:default_android_hwservice:s0 tclass=hwservice_manager permissive=0\n",
    )
    rule = "allow hal_neuralnetworks_halyard default_android_hwservice:hwservice_manager add;"
    assert rule in only(found(phone, "selinux")).fix


def test_a_program_without_its_label_is_told(phone: FakePhone) -> None:
    phone.tool("ls", "echo u:object_r:vendor_file:s0 $2")
    finding = only(found(phone, "selinux"))
    assert finding.command.endswith(f"chcon {places.EXECUTABLE_LABEL} {PROGRAM}")


# ---- the rest -----------------------------------------------------------------------------------


def test_a_release_that_asks_for_aidl_alone_is_told_of_a_driver_on_hidl(phone: FakePhone) -> None:
    phone.registers(*REGISTERED[:4])
    assert "the driver is on HIDL alone" in only(found(phone, "release")).seen


def test_a_property_that_keeps_the_runtime_from_drivers_is_told(phone: FakePhone) -> None:
    phone.set(debug__nn__cpuonly="1", debug__nn__vlog="all", ro__build__version__sdk="33")
    finding = only(found(phone, "properties"))
    assert "asks no driver" in finding.seen
    assert finding.command.endswith("setprop debug.nn.cpuonly 0")


def test_a_processor_without_vectors_is_told(phone: FakePhone) -> None:
    phone.file("/proc/cpuinfo", "Features\t: fp\n")
    assert "no vector unit" in only(found(phone, "backends")).seen


def test_a_clock_that_is_off_and_a_disk_that_is_full_are_told(phone: FakePhone) -> None:
    phone.says("date", "1000000000\n")
    assert "behind this machine's" in only(found(phone, "clock")).seen
    phone.says("stat", "10 4096\n")
    assert only(found(phone, "disk")).verdict is Verdict.PROBLEM


def test_few_descriptors_are_told(phone: FakePhone) -> None:
    phone.file("/proc/812/limits", "Max open files            256   4096   files\n")
    assert "may open 256 descriptors" in only(found(phone, "limits")).seen


def test_an_answer_that_makes_no_sense_is_unknown(phone: FakePhone) -> None:
    phone.file("/proc/uptime", "soon\n")
    assert only(found(phone, "process")).verdict is Verdict.UNKNOWN


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(program.cli, ["doctor", *words])
        return result.exit_code, result.output

    return call


def test_the_host_is_well(invoke: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, said = invoke("--json", str(tmp_path / "doctor.json"))
    assert code == 0, said
    [document] = records.decode((tmp_path / "doctor.json").read_bytes(), Doctor)
    assert (document.device, document.ok, document.problems) == ("host", True, 0)
    assert {each.check for each in document.findings} >= {"programs", "backends"}


def test_a_problem_ends_the_command_with_1_and_a_command_to_type(
    invoke: Callable[..., tuple[int, str]],
) -> None:
    code, said = invoke("--device", "127.0.0.1:1")
    assert code == 1
    assert "PROBLEM  connection: no adb answers at 127.0.0.1:1" in said
    assert said.endswith("$ adb tcpip 1\n")


def test_a_name_that_can_be_no_services_is_a_wrong_command(
    invoke: Callable[..., tuple[int, str]],
) -> None:
    assert invoke("--instance", "a b")[0] == 2
