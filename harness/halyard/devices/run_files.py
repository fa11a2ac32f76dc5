# SPDX-License-Identifier: Apache-2.0
"""The files of a run on a device, and what runs that were killed have left."""

import re
import secrets

from halyard.devices.device import WORK_FOLDER, Device
from halyard.devices.owner import Owner

_RUN = f"{WORK_FOLDER}/run-"


def new_run() -> str:
    """The path of a run's files on the device, without what tells them apart. It names the process
    of the harness: no file of its own has to be written for that."""
    owner = Owner.here()
    return f"{_RUN}{owner.digest()}-{owner.pid}-{owner.born}-{secrets.token_hex(4)}"


def remove_dead_runs(device: Device) -> None:
    """Ends the runners whose harness was killed, and removes all files of its runs."""
    here = Owner.here()
    said = device.shell(f"ls {WORK_FOLDER} 2>/dev/null").stdout.split()
    dead = set()
    for name in said:
        found = re.match(r"(run-([0-9a-f]{16})-(\d+)-(\d+)-[0-9a-f]{8})\.\w+$", name)
        if found is not None and found[2] == here.digest():
            owner = Owner(here.place, here.boot, int(found[3]), int(found[4]))
            if owner.is_dead():
                dead.add(f"{WORK_FOLDER}/{found[1]}")
    for path in sorted(dead):
        # The process may be another's by now.
        device.shell(
            f"p=$(cat {path}.pid 2>/dev/null) && grep -q {path}.bundle /proc/$p/cmdline && "
            f"kill -9 $p; sleep 0.1; rm -f {path}.*"
        )
