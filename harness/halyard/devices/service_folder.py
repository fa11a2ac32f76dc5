# SPDX-License-Identifier: Apache-2.0
"""A service's folder on a device: who started it, its process, its log; and what dead runs left.

`owner` names the process of the harness on its machine, `pid` the service's on the device, each
with its start time, so that another process with the same number is not taken for it. A run that
was killed leaves both; the next one ends that service and removes the folder.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

from halyard.devices.device import WORK_FOLDER, Device
from halyard.devices.owner import Owner

# The log of the service that ended last.
LAST_LOG = f"{WORK_FOLDER}/service.log"
_PREFIX = f"{WORK_FOLDER}/service-"
# The end of a folder's name once it is being removed.
_GONE = ".gone"
_END_TIMEOUT = 5.0
_POLL = 0.05
# Files that a killed runner left are removed after so many minutes.
_OLD_RUN = 12 * 60


@dataclass(frozen=True)
class ServiceFolder:
    """The contents of one."""

    path: str
    owner: Owner | None
    pid: int | None
    born: str  # the start time of the process, as the device's kernel counts
    instance: str


def found(device: Device) -> Sequence[ServiceFolder]:
    """Every service's folder on the device."""
    said = device.shell(
        f"for f in {_PREFIX}*/; do [ -d $f ] && "
        'echo "$f|$(cat $f/owner 2>/dev/null)|$(cat $f/pid 2>/dev/null)'
        '|$(cat $f/instance 2>/dev/null)"; done; true'
    ).stdout
    folders = []
    for line in said.splitlines():
        fields = line.split("|", 3)
        # The name is shell text of this module's making; nothing else is touched.
        name = WORK_FOLDER + fields[0].rstrip("/").rpartition(WORK_FOLDER)[2]
        if len(fields) != 4 or not name.removeprefix(_PREFIX).isalnum():
            continue
        pid, _, born = fields[2].partition(" ")
        folders.append(
            ServiceFolder(
                path=name,
                owner=Owner.parse(fields[1]),
                pid=int(pid) if pid.isdigit() else None,
                born=born.strip(),
                instance=fields[3],
            )
        )
    return folders


def end_leftovers(device: Device) -> list[ServiceFolder]:
    """Ends the services whose runs are dead, and removes their folders; those that it ended."""
    ended = []
    for folder in found(device):
        if folder.owner is None or not folder.owner.is_dead():
            continue
        if _is_running(device, folder):
            _end(device, folder)
            ended.append(folder)
        device.shell(_remove_command(folder.path))
    device.shell(
        f"rm -rf {_PREFIX}*{_GONE}; "
        f"find {WORK_FOLDER} -maxdepth 1 -name 'run-*' -mmin +{_OLD_RUN} -exec rm -f {{}} \\; "
        "2>/dev/null; true"
    )
    return ended


def _is_running(device: Device, folder: ServiceFolder) -> bool:
    if folder.pid is None or not folder.born:
        return False
    # The fields are counted behind the name, which may hold anything.
    said = device.shell(f"sed 's/.*) //' /proc/{folder.pid}/stat 2>/dev/null").stdout.split()
    return len(said) > 19 and said[0] not in {"Z", "X"} and said[19] == folder.born


def _end(device: Device, folder: ServiceFolder) -> None:
    for signal in ("TERM", "KILL"):
        device.shell(f"kill -{signal} {folder.pid}")
        end = time.monotonic() + _END_TIMEOUT
        while time.monotonic() < end:
            if not _is_running(device, folder):
                return
            time.sleep(_POLL)


def make_commands(path: str, instance: str) -> str:
    """The shell commands that make a folder; they fail where the disk is full."""
    return (
        f"mkdir -p {path} && echo {shlex.quote(Owner.here().text())} >{path}/owner && "
        f"echo {shlex.quote(instance)} >{path}/instance"
    )


def launch_command(path: str, command: Sequence[str]) -> str:
    """The shell command that runs the service behind a shell that outlives the connection and keeps
    its exit code. A service whose process can't be noted, as the disk is full, is ended."""
    inner = (
        f"{shlex.join(command)} >{path}/log 2>&1 </dev/null & p=$!; "
        f"echo $p $(sed 's/.*) //' /proc/$p/stat | cut -d' ' -f20) >{path}/pid.new && "
        f"[ -s {path}/pid.new ] && mv {path}/pid.new {path}/pid || kill -9 $p; "
        f"wait $p; echo $? >{path}/exit"
    )
    return (
        f"(setsid sh -c {shlex.quote(inner)} >/dev/null 2>&1 </dev/null &) && "
        f"for i in $(seq 50); do [ -f {path}/pid ] || [ -f {path}/exit ] && break; "
        "sleep 0.1; done; "
        f"cat {path}/pid"
    )


def _remove_command(path: str, before: str = ":") -> str:
    """The shell command that removes a folder. The shell of the service may still write into it,
    which would keep it from being removed; so it is renamed first. `before` runs in between."""
    return f"mv {path} {path}{_GONE} 2>/dev/null && {{ {before}; rm -rf {path}{_GONE}; }}"


def kill_and_remove(device: Device, path: str) -> None:
    """Of a service that is not known to have started. Its shell ends one whose process it can't
    note any more; one that is noted is killed here, and has ended then."""
    pid = f"{path}{_GONE}/pid"
    device.shell(
        _remove_command(
            path,
            f"[ -s {pid} ] && p=$(cut -d' ' -f1 {pid}) && kill -9 $p && "
            "for i in $(seq 50); do kill -0 $p 2>/dev/null || break; sleep 0.1; done",
        )
    )


def remove(device: Device, path: str) -> None:
    """Keeps the log for those who ask for it later."""
    device.shell(f"mv -f {path}/log {LAST_LOG} 2>/dev/null; {_remove_command(path)}")
