# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from halyard.doctor import places
from halyard.programs import native
from tests.harness.doctor.phones import FRAGMENT, NAME, PROGRAM, REGISTERED, SCRIPT, serve, stat
from tests.harness.fake_phone import FakePhone


@pytest.fixture
def phone(tmp_path: Path) -> FakePhone:
    """A rooted phone with Android 13, on which the service runs as it should."""
    phone = FakePhone(tmp_path)
    configs = native.device_configs()
    phone.file(SCRIPT, (configs / f"{native.AIDL_SERVICE}.rc").read_text())
    phone.file(FRAGMENT, (configs / f"{native.AIDL_SERVICE}.xml").read_text())
    phone.file(PROGRAM, "#!/bin/sh\necho usage\n", 0o755)
    phone.set(
        ro__build__version__sdk="33",
        ro__build__version__release="13",
        ro__debuggable="1",
        ro__product__cpu__abilist="arm64-v8a",
        **{f"init__svc__{NAME}": "running"},
    )
    phone.says("getenforce", "Enforcing\n")
    phone.says("pidof", "411\n")
    phone.says("uname", "aarch64\n")
    phone.says("dmesg", "[    1.0] init: starting\n")
    phone.tool("ls", f"echo {places.EXECUTABLE_LABEL} $2")
    phone.file("/proc/cpuinfo", "Features\t: fp asimd asimddp\n")
    phone.file("/proc/meminfo", "MemAvailable:  2000000 kB\n")
    phone.file("/proc/uptime", "400.00 800.00\n")
    # The managers have started just now.
    phone.file("/proc/411/stat", stat(40000))
    serve(phone)
    phone.registers(*REGISTERED)
    for node in ("binder", "hwbinder"):
        link = phone.path(f"/dev/{node}")
        link.parent.mkdir(exist_ok=True)
        link.symlink_to("/dev/null")
    return phone
