# SPDX-License-Identifier: Apache-2.0
"""The native adbd, driven by Debian's adb client, by adb-shell and by hostile bytes."""

import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from adb_shell.adb_device import AdbDeviceTcp
from adb_shell.auth.keygen import keygen
from adb_shell.auth.sign_pythonrsa import PythonRSASigner
from adb_shell.exceptions import DeviceAuthError, TcpTimeoutException

from halyard import native

OLD_VERSION = 0x01000000  # packets carry checksums
NEW_VERSION = 0x01000001


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)


class Daemon:
    """An adbd of our own on a free port, with a temporary root."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        program = native.program("adbd")
        self.process = subprocess.Popen(
            [program, "--port", "0", "--root", root, "--shell", "/bin/sh", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        self.port = int(line.rsplit(":", 1)[1])

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ends the daemon; its exit status, or the signal it had died of as a negative number."""
        self.process.terminate()
        self.process.communicate(timeout=20)
        return self.process.returncode

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(tmp_path_factory.mktemp("root"))
    yield running
    assert running.stop() == 0, "the daemon died, or did not end in order"


class Adb:
    """Debian's adb client, with a server of its own."""

    def __init__(self, home: Path) -> None:
        program = shutil.which("adb")
        assert program is not None, "adb is in Debian's package adb"
        self.program = program
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.environment = os.environ | {
            "ANDROID_ADB_SERVER_PORT": str(port),
            "HOME": str(home),
            "ADB_VENDOR_KEYS": "",
        }

    def run(
        self, *arguments: str | Path, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        result = subprocess.run(
            [self.program, *arguments],
            input=stdin,
            capture_output=True,
            env=self.environment,
            timeout=120,
            check=False,
        )
        if check:
            assert result.returncode == 0, (arguments, result.stdout, result.stderr)
        return result

    def connect(self, daemon: Daemon) -> bytes:
        # Exit status 0 even where it fails.
        return self.run("connect", daemon.serial).stdout


@pytest.fixture(scope="module")
def adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    client = Adb(tmp_path_factory.mktemp("home"))
    yield client
    client.run("kill-server")


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def device(adb: Adb, daemon: Daemon) -> Run:
    assert b"connected to" in adb.connect(daemon)

    def run(
        *arguments: str | Path, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        return adb.run("-s", daemon.serial, *arguments, stdin=stdin, check=check)

    return run


@pytest.fixture
def adb_shell(daemon: Daemon) -> Iterator[AdbDeviceTcp]:
    client = AdbDeviceTcp("127.0.0.1", daemon.port, default_transport_timeout_s=20)
    client.connect(auth_timeout_s=5)
    yield client
    client.close()


# ---- Debian's client ----------------------------------------------------------------------------


@pytest.mark.usefixtures("device")
def test_adb_lists_the_device(adb: Adb, daemon: Daemon) -> None:
    lines = adb.run("devices", "-l").stdout.decode().splitlines()
    line = next(line for line in lines if line.startswith(daemon.serial))
    assert "product:halyard" in line
    assert line.split()[1] == "device"


def test_shell_separates_output_error_and_exit_status(device: Run) -> None:
    result = device("shell", "echo out; echo err >&2; exit 7", check=False)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\n", b"err\n")


def test_shell_reports_death_by_signal_as_a_shell_does(device: Run) -> None:
    assert device("shell", "kill -KILL $$", check=False).returncode == 128 + signal.SIGKILL


def test_shell_reads_piped_commands_to_their_end(device: Run) -> None:
    result = device("shell", stdin=b"echo first\nexit 3\n", check=False)
    assert (result.returncode, result.stdout) == (3, b"first\n")


def test_shell_carries_binary_input_and_output(device: Run) -> None:
    content = random.Random(1).randbytes(3_000_000)
    assert device("shell", "cat", stdin=content).stdout == content


def test_terminal_shell_has_a_terminal(device: Run) -> None:
    result = device("shell", "-tt", "test -t 0 && test -t 1 && echo on $TERM", check=False)
    assert result.stdout.startswith(b"on ")


def test_raw_shell_has_no_terminal(device: Run) -> None:
    assert device("shell", "-T", "test -t 0 || test -t 1 || echo none").stdout == b"none\n"


def test_shell_without_packets_merges_errors(device: Run) -> None:
    result = device("shell", "-x", "echo out; echo err >&2; exit 7", check=False)
    assert result.stdout.replace(b"\r", b"") == b"out\nerr\n"


def test_exec_out_leaves_bytes_alone(device: Run, daemon: Daemon) -> None:
    content = random.Random(2).randbytes(200_000) + b"\r\n\n"
    (daemon.root / "bytes").write_bytes(content)
    assert device("exec-out", "cat bytes").stdout == content


def test_a_process_in_the_background_outlives_its_shell(device: Run, daemon: Daemon) -> None:
    device("shell", "(sleep 0.3; echo done > later) >/dev/null 2>&1 </dev/null &")
    wait_until((daemon.root / "later").exists, "the background process wrote its file")


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 50_000_000])
def test_push_and_pull_keep_files_of_any_size(
    device: Run, daemon: Daemon, tmp_path: Path, size: int
) -> None:
    local = tmp_path / "local file"
    local.write_bytes(random.Random(size).randbytes(size))
    device("push", local, "/data/new folder/a file")
    remote = daemon.root / "data/new folder/a file"
    assert remote.read_bytes() == local.read_bytes()
    device("pull", "/data/new folder/a file", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == local.read_bytes()


def test_push_sets_mode_and_time(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    local = tmp_path / "program"
    local.write_text("#!/bin/sh\necho ran\n")
    local.chmod(0o700)
    os.utime(local, (1_000_000_000, 1_234_567_890))
    device("push", local, "/program")
    remote = (daemon.root / "program").stat()
    # What the owner may do, everybody may: adbd's own rule.
    assert stat.S_IMODE(remote.st_mode) == 0o777
    assert int(remote.st_mtime) == 1_234_567_890
    assert device("shell", "./program").stdout == b"ran\n"


def test_push_replaces_a_file(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    local = tmp_path / "file"
    for content in (b"long content", b"short"):
        local.write_bytes(content)
        device("push", local, "/replaced")
        assert (daemon.root / "replaced").read_bytes() == content


def test_folders_go_there_and_back(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "with space/deep").mkdir(parents=True)
    (source / "with space/deep/file").write_text("text")
    (source / "empty file").write_text("")
    (source / "link").symlink_to("empty file")
    device("push", source, "/tree")
    assert (daemon.root / "tree/with space/deep/file").read_text() == "text"
    assert (daemon.root / "tree/link").readlink() == Path("empty file")
    device("pull", "/tree", tmp_path / "back")
    assert (tmp_path / "back/with space/deep/file").read_text() == "text"
    assert (tmp_path / "back/empty file").read_text() == ""


def test_pull_of_a_missing_file_fails(device: Run, tmp_path: Path) -> None:
    result = device("pull", "/no/such/file", tmp_path, check=False)
    assert result.returncode == 1
    assert b"No such file" in result.stderr + result.stdout


def test_push_below_a_file_fails_with_the_reason(
    device: Run, daemon: Daemon, tmp_path: Path
) -> None:
    (daemon.root / "plain").write_text("")
    local = tmp_path / "local"
    local.write_bytes(bytes(1_000_000))
    result = device("push", local, "/plain/below", check=False)
    assert result.returncode == 1
    assert b"Not a directory" in result.stderr + result.stdout


def test_ls_lists_every_entry_of_a_large_folder(device: Run, daemon: Daemon) -> None:
    folder = daemon.root / "large"
    folder.mkdir()
    names = {f"entry with a rather long name {number}" for number in range(3000)}
    for name in names:
        (folder / name).touch()
    lines = device("ls", "/large").stdout.decode().splitlines()
    assert {line.split(" ", 3)[3] for line in lines} == names | {".", ".."}


def test_refuses_what_it_does_not_do(device: Run) -> None:
    assert b"not supported" in device("remount", check=False).stdout
    assert b"not allowed" in device("reboot", check=False).stdout
    assert b"serves only TCP port" in device("tcpip", "5555", check=False).stdout


@pytest.mark.usefixtures("device")
def test_many_shells_at_once(adb: Adb, daemon: Daemon) -> None:
    clients = [
        subprocess.Popen(
            [adb.program, "-s", daemon.serial, "shell", f"read line; echo $line {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=adb.environment,
        )
        for number in range(20)
    ]
    wait_until(lambda: len(daemon.children()) >= 20, "all shells run at the same time")
    for number, client in reversed(list(enumerate(clients))):
        assert client.communicate(b"go\n", timeout=20)[0] == f"go {number}\n".encode()


# ---- adb-shell ----------------------------------------------------------------------------------


def test_adb_shell_runs_commands(adb_shell: AdbDeviceTcp) -> None:
    assert adb_shell.shell("echo one; echo two >&2") == "one\ntwo\n"
    assert adb_shell.exec_out("printf three", decode=False) == b"three"
    assert adb_shell.shell("cat /dev/zero | head -c 1000000", decode=False) == bytes(1_000_000)


def test_adb_shell_transfers_files(adb_shell: AdbDeviceTcp, daemon: Daemon, tmp_path: Path) -> None:
    content = random.Random(3).randbytes(1_000_003)
    local = tmp_path / "local"
    local.write_bytes(content)
    adb_shell.push(str(local), "/from adb-shell", mtime=1_234_567_890)
    assert (daemon.root / "from adb-shell").read_bytes() == content
    adb_shell.pull("/from adb-shell", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == content
    mode, size, modified = adb_shell.stat("/from adb-shell")
    assert (stat.S_IFMT(mode), size, modified) == (stat.S_IFREG, len(content), 1_234_567_890)
    assert adb_shell.stat("/missing") == (0, 0, 0)
    assert b"from adb-shell" in {bytes(entry.filename) for entry in adb_shell.list("/")}


# ---- keys ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Path]]:
    """A daemon that lets in one key, and the path of that key."""
    keys = tmp_path_factory.mktemp("keys")
    for name in ("friend", "stranger"):
        keygen(str(keys / name))
    allowed = keys / "adb_keys"
    allowed.write_text("# who may come in\n\n" + (keys / "friend.pub").read_text() + "\n")
    running = Daemon(tmp_path_factory.mktemp("guarded"), "--auth-keys", str(allowed))
    yield running, keys
    assert running.stop() == 0


def signer(path: Path) -> PythonRSASigner:
    return PythonRSASigner(Path(f"{path}.pub").read_bytes(), path.read_bytes())


def test_a_known_key_is_let_in(guarded: tuple[Daemon, Path]) -> None:
    daemon, keys = guarded
    client = AdbDeviceTcp("127.0.0.1", daemon.port, default_transport_timeout_s=20)
    # The stranger's signature is tried first and must be refused.
    client.connect(rsa_keys=[signer(keys / "stranger"), signer(keys / "friend")], auth_timeout_s=5)
    assert client.shell("echo in") == "in\n"
    client.close()


def test_an_unknown_key_stays_out(guarded: tuple[Daemon, Path]) -> None:
    daemon, keys = guarded
    client = AdbDeviceTcp("127.0.0.1", daemon.port, default_transport_timeout_s=2)
    with pytest.raises(TcpTimeoutException):
        client.connect(rsa_keys=[signer(keys / "stranger")], auth_timeout_s=1)
    assert not client.available
    client.close()


def test_no_key_stays_out(guarded: tuple[Daemon, Path]) -> None:
    daemon, _ = guarded
    client = AdbDeviceTcp("127.0.0.1", daemon.port, default_transport_timeout_s=2)
    with pytest.raises(DeviceAuthError):
        client.connect()
    client.close()


def test_debians_client_signs_with_its_key(guarded: tuple[Daemon, Path], tmp_path: Path) -> None:
    daemon, keys = guarded
    for key, state in (("friend", "device"), ("stranger", "unauthorized")):
        client = Adb(tmp_path / key)
        (tmp_path / key / ".android").mkdir(parents=True)
        shutil.copy(keys / key, tmp_path / key / ".android/adbkey")
        shutil.copy(keys / f"{key}.pub", tmp_path / key / ".android/adbkey.pub")
        client.connect(daemon)
        try:
            lines = client.run("devices").stdout.decode().splitlines()
            assert f"{daemon.serial}\t{state}" in lines
        finally:
            client.run("kill-server")


SHA1_INFO = bytes.fromhex("3021300906052b0e03021a05000414")
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def answer_to_signature(daemon: Daemon, sign: Callable[[bytes], bytes]) -> bytes:
    """The command that answers the signature which `sign` makes of the token."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as client:
        client.sendall(packet(b"CNXN", NEW_VERSION, 65536, b"host::\0"))
        challenge = receive_packet(client)
        assert (challenge[0], challenge[1], len(challenge[3])) == (b"AUTH", 1, 20)
        client.sendall(packet(b"AUTH", 2, 0, sign(challenge[3])))
        return receive_packet(client)[0]


def padded(info: bytes, *, filler: int = 256 - 3 - 35) -> bytes:
    return b"\0\1" + b"\xff" * filler + b"\0" + info


# What a signature opens to, where {token} is what was asked for, and whether it lets the client in.
OPENED: dict[str, tuple[Callable[[bytes], bytes], bytes]] = {
    "right": (lambda token: padded(SHA1_INFO) + token, b"CNXN"),
    "another-token": (lambda token: padded(SHA1_INFO) + token[::-1], b"AUTH"),
    "last-bit": (lambda token: padded(SHA1_INFO) + token[:-1] + bytes([token[-1] ^ 1]), b"AUTH"),
    "one-filler-byte": (
        lambda token: padded(SHA1_INFO).replace(b"\xff", b"\xfe", 1) + token,
        b"AUTH",
    ),
    "last-filler-byte": (
        lambda token: padded(SHA1_INFO).replace(b"\xff\0", b"\xfe\0", 1) + token,
        b"AUTH",
    ),
    "zero-filler": (lambda token: padded(SHA1_INFO).replace(b"\xff", b"\0") + token, b"AUTH"),
    "short-filler-rest-behind": (
        lambda token: padded(SHA1_INFO, filler=8) + token + bytes(210),
        b"AUTH",
    ),
    "short-filler-rest-before": (
        lambda token: bytes(210) + padded(SHA1_INFO, filler=8) + token,
        b"AUTH",
    ),
    "no-separator": (
        lambda token: b"\0\1" + b"\xff" * 219 + SHA1_INFO + token,
        b"AUTH",
    ),
    "block-type-2": (lambda token: b"\0\2" + padded(SHA1_INFO)[2:] + token, b"AUTH"),
    "no-digest-info": (lambda token: padded(b"", filler=233) + token, b"AUTH"),
    "info-of-another-digest": (
        lambda token: padded(SHA256_INFO, filler=214) + token,
        b"AUTH",
    ),
    "only-the-token": (lambda token: bytes(236) + token, b"AUTH"),
}


@pytest.mark.parametrize("case", OPENED)
def test_a_signature_is_checked_to_the_last_byte(guarded: tuple[Daemon, Path], case: str) -> None:
    daemon, keys = guarded
    key = signer(keys / "friend").priv_key
    make, answer = OPENED[case]

    def sign(token: bytes) -> bytes:
        opened = make(token)
        assert len(opened) == 256
        return bytes(pow(int.from_bytes(opened, "big"), key.d, key.n).to_bytes(256, "big"))

    assert answer_to_signature(daemon, sign) == answer


def test_signatures_of_the_wrong_size_or_range_are_refused(
    guarded: tuple[Daemon, Path],
) -> None:
    daemon, keys = guarded
    key = signer(keys / "friend").priv_key

    def right(token: bytes) -> int:
        opened = padded(SHA1_INFO) + token
        return int(pow(int.from_bytes(opened, "big"), key.d, key.n))

    wrong: list[Callable[[bytes], bytes]] = [
        lambda _: b"",
        lambda token: right(token).to_bytes(256, "big")[1:],
        lambda token: right(token).to_bytes(257, "big"),
        lambda token: right(token).to_bytes(256, "big") + b"\0",
        lambda _: bytes(256),
        lambda _: b"\xff" * 256,
        lambda _: int(key.n).to_bytes(256, "big"),
    ]
    for sign in wrong:
        assert answer_to_signature(daemon, sign) == b"AUTH"


@pytest.mark.parametrize("line", ["AAAA name", "not*base64 name", "QAAAAA== name"])
def test_broken_keys_are_refused_at_start(tmp_path: Path, line: str) -> None:
    keys = tmp_path / "keys"
    keys.write_text(line + "\n")
    result = subprocess.run(
        [native.program("adbd"), "--port", "0", "--auth-keys", keys],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert result.returncode == 1
    assert "line 1" in result.stderr


# ---- clients that break the rules ---------------------------------------------------------------


def packet(
    command: bytes, arg0: int, arg1: int, payload: bytes = b"", *, checksum: int | None = None
) -> bytes:
    word = int.from_bytes(command, "little")
    total = sum(payload) if checksum is None else checksum
    return struct.pack("<6I", word, arg0, arg1, len(payload), total, word ^ 0xFFFFFFFF) + payload


def receive_exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def receive_packet(peer: socket.socket) -> tuple[bytes, int, int, bytes]:
    word, arg0, arg1, length, _, magic = struct.unpack("<6I", receive_exactly(peer, 24))
    assert magic == word ^ 0xFFFFFFFF
    return word.to_bytes(4, "little"), arg0, arg1, receive_exactly(peer, length)


class Peer:
    """A client by hand."""

    def __init__(self, daemon: Daemon, version: int = NEW_VERSION, largest: int = 65536) -> None:
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=20)
        self.send(packet(b"CNXN", version, largest, b"host::\0"))
        command, self.version, self.largest, banner = self.read()
        assert command == b"CNXN"
        assert banner.startswith(b"device::ro.product.name=")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self, size: int) -> bytes:
        return receive_exactly(self.socket, size)

    def read(self) -> tuple[bytes, int, int, bytes]:
        word, arg0, arg1, length, checksum, magic = struct.unpack("<6I", self.receive(24))
        assert magic == word ^ 0xFFFFFFFF
        payload = self.receive(length)
        self.last_checksum = checksum
        return word.to_bytes(4, "little"), arg0, arg1, payload

    def open(self, destination: bytes, local: int = 1) -> int:
        self.send(packet(b"OPEN", local, 0, destination + b"\0"))
        command, remote, to, _ = self.read()
        assert (command, to) == (b"OKAY", local)
        return remote


def test_packets_of_old_clients_carry_checksums(daemon: Daemon) -> None:
    with Peer(daemon, version=OLD_VERSION, largest=4096) as peer:
        remote = peer.open(b"exec:cat")
        peer.send(packet(b"WRTE", 1, remote, b"\xff" * 100))
        received = {}
        for _ in range(2):
            command, _, _, payload = peer.read()
            assert peer.last_checksum == sum(payload)
            received[command] = payload
        assert received == {b"OKAY": b"", b"WRTE": b"\xff" * 100}
        peer.send(packet(b"WRTE", 1, remote, b"\xff", checksum=1))
        with pytest.raises((EOFError, ConnectionResetError)):
            peer.read()


def test_payloads_keep_to_the_clients_limit(daemon: Daemon) -> None:
    with Peer(daemon, largest=4096) as peer:
        remote = peer.open(b"exec:head -c 100000 /dev/zero")
        total = 0
        while True:
            command, _, _, payload = peer.read()
            if command == b"CLSE":
                break
            assert len(payload) <= 4096
            total += len(payload)
            peer.send(packet(b"OKAY", 1, remote))
        assert total == 100_000


def test_output_waits_for_acknowledgement(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        remote = peer.open(b"exec:yes")
        assert peer.read()[0] == b"WRTE"
        peer.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            peer.read()
        peer.socket.settimeout(20)
        peer.send(packet(b"OKAY", 1, remote))
        assert peer.read()[0] == b"WRTE"


def test_input_waits_for_the_process(daemon: Daemon) -> None:
    with Peer(daemon, largest=262144) as peer:
        remote = peer.open(b"exec:sleep 1000")
        # More than a pipe holds, and the process reads nothing.
        peer.send(packet(b"WRTE", 1, remote, bytes(262144)))
        assert peer.read()[0] == b"OKAY"
        peer.send(packet(b"WRTE", 1, remote, bytes(262144)))
        peer.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            peer.read()


def test_input_for_a_process_that_reads_no_more_is_dropped(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        remote = peer.open(b"exec:exec 0<&-; echo closed; sleep 1000")
        command, _, _, payload = peer.read()
        assert (command, payload) == (b"WRTE", b"closed\n")
        peer.send(packet(b"WRTE", 1, remote, bytes(100)))
        assert peer.read()[0] == b"OKAY"
    with Peer(daemon) as peer:
        peer.open(b"sync:")


def test_an_unknown_service_is_closed(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        for destination in (b"nonsense:", b"shell,v3:ls", b"", b"jdwp:1", b"sync"):
            peer.send(packet(b"OPEN", 9, 0, destination + b"\0"))
            assert peer.read()[:3] == (b"CLSE", 0, 9)


def shell_packet(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<BI", kind, len(data)) + data


def test_a_terminal_takes_the_clients_window_size(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        remote = peer.open(b"shell,v2,TERM=vt100,pty:read line; stty size; echo $TERM")
        size = shell_packet(5, b"33x101,640x480\0")
        line = shell_packet(0, b"go\n")
        # Packets need not come whole.
        for part in (size[:3], size[3:9], size[9:] + line[:2], line[2:]):
            peer.send(packet(b"WRTE", 1, remote, part))
        output = b""
        while True:
            command, _, _, payload = peer.read()
            if command == b"CLSE":
                break
            if command == b"WRTE":
                output += payload
                peer.send(packet(b"OKAY", 1, remote))
        assert b"33 101" in output
        assert b"vt100" in output
        assert output.endswith(shell_packet(3, b"\0"))


def test_running_out_of_descriptors_turns_clients_away(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "root")
    try:
        limit = daemon.open_files() + 8
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        with contextlib.ExitStack() as stack:
            address = ("127.0.0.1", daemon.port)
            clients = [
                stack.enter_context(socket.create_connection(address, timeout=20))
                for _ in range(12)
            ]
            assert clients[-1].recv(1) == b""
        wait_until(lambda: daemon.open_files() < limit - 4, "the connections were given back")
        with Peer(daemon) as peer:
            peer.open(b"sync:")
    finally:
        assert daemon.stop() == 0


def test_the_end_of_a_connection_ends_its_processes(daemon: Daemon) -> None:
    before = daemon.open_files()
    wait_until(lambda: not daemon.children(), "earlier shells are gone")
    peer = Peer(daemon)
    marker = daemon.root / "pid"
    peer.open(b"shell,v2,raw:sleep 1000 & echo $! > pid; wait")
    wait_until(lambda: marker.exists() and marker.read_text() != "", "the shell has started")
    grandchild = int(marker.read_text())
    peer.socket.close()
    wait_until(lambda: not daemon.children(), "the shell was killed and reaped")
    wait_until(lambda: not is_running(grandchild), "its child was killed")
    wait_until(lambda: daemon.open_files() <= before, "its descriptors were closed")


def is_running(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_close_of_a_stream_ends_its_process_and_is_answered(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        wait_until(lambda: not daemon.children(), "earlier shells are gone")
        remote = peer.open(b"shell:sleep 1000")
        assert len(daemon.children()) == 1
        peer.send(packet(b"CLSE", 1, remote))
        assert peer.read()[:3] == (b"CLSE", remote, 1)
        wait_until(lambda: not daemon.children(), "the process was killed")
        # Packets for a stream that is gone do no harm.
        peer.send(packet(b"OKAY", 1, remote) + packet(b"CLSE", 1, remote))
        peer.send(packet(b"WRTE", 1, remote, b"x"))
        assert peer.read()[:3] == (b"CLSE", 0, 1)


def test_a_transfer_cut_short_leaves_no_file(daemon: Daemon) -> None:
    peer = Peer(daemon)
    remote = peer.open(b"sync:")
    path = b"/half,33188"
    head = b"SEND" + struct.pack("<I", len(path)) + path
    peer.send(packet(b"WRTE", 1, remote, head + b"DATA" + struct.pack("<I", 1000) + bytes(400)))
    assert peer.read()[0] == b"OKAY"
    wait_until((daemon.root / "half").exists, "the file was begun")
    peer.socket.close()
    wait_until(lambda: not (daemon.root / "half").exists(), "the partial file was removed")


def sync_answer(daemon: Daemon, request: bytes) -> bytes:
    """Everything that a sync stream answers until it is closed or silent."""
    with Peer(daemon) as peer:
        remote = peer.open(b"sync:")
        for start in range(0, len(request), 60000):
            peer.send(packet(b"WRTE", 1, remote, request[start : start + 60000]))
        answer = b""
        while True:
            command, _, _, payload = peer.read()
            if command == b"CLSE":
                return answer
            if command == b"WRTE":
                answer += payload
                peer.send(packet(b"OKAY", 1, remote))


def sync_request(name: bytes, argument: bytes) -> bytes:
    return name + struct.pack("<I", len(argument)) + argument


QUIT = sync_request(b"QUIT", b"")


def test_sync_answers_pipelined_requests_in_order(daemon: Daemon) -> None:
    (daemon.root / "pipelined").write_bytes(b"content")
    answer = sync_answer(
        daemon,
        sync_request(b"STAT", b"/pipelined")
        + sync_request(b"RECV", b"/pipelined")
        + sync_request(b"RECV", b"/missing")
        + sync_request(b"LST2", b"/missing")
        + QUIT,
    )
    assert struct.unpack_from("<4sII", answer)[0::2] == (b"STAT", 7)
    message = b"open failed: No such file or directory"
    data = b"DATA" + struct.pack("<I", 7) + b"content" + b"DONE" + bytes(4)
    rest = answer[16:]
    assert rest.startswith(data + sync_request(b"FAIL", message) + b"LST2" + struct.pack("<I", 2))


@pytest.mark.parametrize(
    ("request_bytes", "reason"),
    [
        (sync_request(b"EVIL", b"/x"), b"unknown command"),
        (b"STAT" + struct.pack("<I", 1025), b"path too long"),
        (b"RECV" + struct.pack("<I", 0xFFFFFFFF), b"path too long"),
        (sync_request(b"SEND", b"/no-comma"), b"missing ,"),
        (sync_request(b"SEND", b"/x,12x"), b"missing ,"),
        (
            sync_request(b"SEND", b"/x,33188") + b"DATA" + struct.pack("<I", 65537),
            b"oversize data message",
        ),
        (sync_request(b"SEND", b"/x,33188") + b"EVIL" + bytes(4), b"invalid data message"),
    ],
)
def test_sync_says_why_it_ends(daemon: Daemon, request_bytes: bytes, reason: bytes) -> None:
    answer = sync_answer(daemon, request_bytes)
    assert answer.startswith(b"FAIL")
    assert reason in answer
    assert not (daemon.root / "x").exists()


def test_sync_takes_the_longest_path(daemon: Daemon) -> None:
    assert sync_answer(daemon, sync_request(b"STAT", b"/" * 1024) + QUIT).startswith(b"STAT")


def test_sync_takes_a_refused_file_to_its_end(daemon: Daemon) -> None:
    (daemon.root / "solid").write_text("")
    refused = sync_request(b"SEND", b"/solid/below,33188")
    refused += sync_request(b"DATA", bytes(65536)) * 4 + b"DONE" + bytes(4)
    answer = sync_answer(daemon, refused + sync_request(b"STAT", b"/solid") + QUIT)
    assert answer.startswith(b"FAIL")
    assert answer.count(b"FAIL") == 1
    assert answer[-16:-12] == b"STAT"


def test_paths_stay_below_the_root(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    path = b"/../../../../../../.." + str(tmp_path / "outside").encode()
    assert b"No such file" in sync_answer(daemon, sync_request(b"RECV", path) + QUIT)


def test_a_named_pipe_does_not_stop_the_daemon(daemon: Daemon) -> None:
    os.mkfifo(daemon.root / "fifo")
    answer = sync_answer(
        daemon,
        sync_request(b"SEND", b"/fifo,33188")
        + sync_request(b"DATA", b"x")
        + b"DONE"
        + bytes(4)
        + sync_request(b"RECV", b"/fifo")
        + QUIT,
    )
    assert answer.startswith(b"FAIL")


def test_a_write_that_fails_half_way_leaves_no_file(
    device: Run, daemon: Daemon, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    local.write_bytes(bytes(1_000_000))
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (200_000, unlimited[1]))
    try:
        result = device("push", local, "/too-large", check=False)
    finally:
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    assert result.returncode == 1
    assert b"File too large" in result.stderr + result.stdout
    assert not (daemon.root / "too-large").exists()
    device("push", local, "/too-large")
    assert (daemon.root / "too-large").stat().st_size == 1_000_000


def resident(daemon: Daemon) -> int:
    """Bytes of memory that the daemon takes."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def test_a_client_that_does_not_read_takes_little_memory(daemon: Daemon) -> None:
    (daemon.root / "long").write_bytes(bytes(50_000_000))
    before = resident(daemon)
    with contextlib.ExitStack() as stack:
        # Acknowledgements of what was never read, and requests whose answers nobody reads.
        for request, repeated in (
            (sync_request(b"RECV", b"/long"), b""),
            (b"", sync_request(b"STA2", b"/") * 5000),
        ):
            peer = stack.enter_context(Peer(daemon, largest=262144))
            remote = peer.open(b"sync:")
            peer.send(packet(b"WRTE", 1, remote, request))
            peer.socket.settimeout(1)
            one = packet(b"WRTE", 1, remote, repeated) if repeated else packet(b"OKAY", 1, remote)
            with contextlib.suppress(TimeoutError, ConnectionError):
                for _ in range(100):
                    peer.send(one * (1 if repeated else 2700))
        with Peer(daemon) as honest:
            remote = honest.open(b"exec:echo alive")
            assert honest.read() == (b"WRTE", remote, 1, b"alive\n")
        assert resident(daemon) - before < 30_000_000


def test_an_endless_window_size_takes_little_memory(daemon: Daemon) -> None:
    with Peer(daemon, largest=262144) as peer:
        remote = peer.open(b"shell,v2,pty:cat")
        before = resident(daemon)
        peer.send(packet(b"WRTE", 1, remote, struct.pack("<BI", 5, 0xFFFFFFFF)))
        assert peer.read()[0] == b"OKAY"
        for _ in range(200):
            peer.send(packet(b"WRTE", 1, remote, b"1" * 262144))
            assert peer.read()[0] == b"OKAY"
        assert resident(daemon) - before < 20_000_000


BROKEN_STARTS = [
    pytest.param(b"GET / HTTP/1.1\r\nHost: device\r\n\r\n", id="another-protocol"),
    pytest.param(packet(b"CNXN", 0, 4096, b"host::"), id="version-0"),
    pytest.param(packet(b"CNXN", NEW_VERSION, 0, b"host::", checksum=1), id="wrong-checksum"),
    pytest.param(packet(b"OPEN", 1, 0, b"shell:ls\0"), id="not-connected"),
    pytest.param(packet(b"AUTH", 2, 0, bytes(256)), id="auth-unasked"),
    pytest.param(struct.pack("<6I", 1, 0, 0, 0xFFFFFFFF, 0, 0xFFFFFFFE), id="huge-payload"),
    pytest.param(packet(b"CNXN", NEW_VERSION, 4096) + packet(b"EVIL", 0, 0), id="unknown-command"),
]


@pytest.mark.parametrize("start", BROKEN_STARTS)
def test_a_broken_start_is_hung_up_on(daemon: Daemon, start: bytes) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as client:
        client.sendall(start)
        with contextlib.suppress(ConnectionResetError):
            while client.recv(4096):
                pass
    with Peer(daemon) as peer:
        peer.open(b"shell:true")


def test_streams_and_connections_are_limited(daemon: Daemon) -> None:
    with Peer(daemon) as peer:
        answers = []
        for local in range(1, 300):
            peer.send(packet(b"OPEN", local, 0, b"sync:\0"))
            answers.append(peer.read()[0])
        assert answers.count(b"OKAY") == 256
        assert answers[-1] == b"CLSE"
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port), timeout=20))
            for _ in range(40)
        ]
        # The oldest of those that have not said a word give way.
        assert clients[0].recv(1) == b""
        with Peer(daemon) as peer:
            peer.open(b"sync:")
    wait_until(lambda: daemon.open_files() < 20, "all connections were given back")


def test_random_packets_do_no_harm(daemon: Daemon) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    source = random.Random(seed)
    commands = [b"CNXN", b"OPEN", b"OKAY", b"WRTE", b"CLSE", b"AUTH", b"EVIL"]
    weights = [1, 20, 40, 40, 20, 1, 1]
    destinations = [b"sync:\0", b"shell,v2,raw:cat\0", b"exec:echo x\0", b"shell:\0", b"x\0"]
    for _ in range(60):
        with contextlib.suppress(EOFError, ConnectionError, TimeoutError), Peer(daemon) as peer:
            for _ in range(200):
                command = source.choices(commands, weights)[0]
                payload = source.randbytes(source.choice([0, 1, 5, 8, 60, 3000]))
                if command == b"OPEN":
                    payload = source.choice(destinations)
                elif command == b"WRTE" and source.random() < 0.5:
                    payload = sync_request(
                        source.choice([b"STAT", b"LIST", b"RECV", b"DATA", b"DONE", b"LIS2"]),
                        source.choice([b"/", b"/bytes", b"", b"/nothing"]),
                    )
                peer.send(packet(command, source.randrange(1, 6), source.randrange(6), payload))
                # Take what came, so that the daemon is not merely blocked.
                peer.socket.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    peer.socket.recv(1_000_000)
                peer.socket.settimeout(20)
    wait_until(lambda: not daemon.children(), "all processes were ended")
    with Peer(daemon) as peer:
        remote = peer.open(b"exec:echo alive")
        assert peer.read() == (b"WRTE", remote, 1, b"alive\n")


def test_usage_errors_are_reported() -> None:
    for options in (["--port", "70000"], ["--nonsense"], ["extra"], ["--listen", "nowhere"]):
        result = subprocess.run(
            [native.program("adbd"), *options],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert result.returncode == 1, options
        assert result.stderr, options
