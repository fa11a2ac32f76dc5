# SPDX-License-Identifier: Apache-2.0
"""Whom the native adbd lets in."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from adb_shell.adb_device import AdbDeviceTcp
from adb_shell.auth.keygen import keygen
from adb_shell.auth.sign_pythonrsa import PythonRSASigner
from adb_shell.exceptions import DeviceAuthError, TcpTimeoutException

from halyard.programs import native
from tests.harness.adbd.daemon import Daemon
from tests.harness.adbd.debian_client import Adb
from tests.harness.adbd.packets import NEW_VERSION, packet, receive_packet


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
        (tmp_path / key / ".android").mkdir(parents=True)
        shutil.copy(keys / key, tmp_path / key / ".android/adbkey")
        shutil.copy(keys / f"{key}.pub", tmp_path / key / ".android/adbkey.pub")
        with Adb(tmp_path / key) as client:
            client.connect(daemon)
            lines = client.run("devices").stdout.decode().splitlines()
        assert f"{daemon.serial}\t{state}" in lines


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


# The value that a signature opens to, where {token} is what was asked for, and whether it lets the
# client in.
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
