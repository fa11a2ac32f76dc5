# SPDX-License-Identifier: Apache-2.0
"""The library's connection, against servers that do not behave."""

import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from halyard.devices import adb_shell_library
from halyard.devices.adb_link import LibraryLink, signer, tcp_link
from halyard.devices.link_errors import LinkBroken, LinkError, LinkTimeout, LocalFileError
from halyard.errors import ProgramMissing
from halyard.programs import native

# More than anything that is asked for here.
LIMIT = 64 * 2**20


@contextmanager
def server(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """Accepts one connection and hands it to `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join()


def test_nothing_listening_is_broken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(LinkBroken):
        tcp_link("127.0.0.1", port).connect(5)


def test_a_silent_server_times_out() -> None:
    done = threading.Event()
    with server(lambda _: done.wait(20)) as port:
        link = tcp_link("127.0.0.1", port)
        with pytest.raises(LinkTimeout):
            link.connect(0.2)
        link.close()
        done.set()


def test_a_server_that_hangs_up_is_noticed_at_once() -> None:
    with server(lambda connection: connection.recv(1000)) as port:
        link = tcp_link("127.0.0.1", port)
        start = time.monotonic()
        with pytest.raises(LinkBroken):
            link.connect(30)
        link.close()
    # Not after the 30 s that the library would read an empty socket for.
    assert time.monotonic() - start < 20


def test_garbage_is_broken() -> None:
    with server(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        link = tcp_link("127.0.0.1", port)
        with pytest.raises(LinkBroken):
            link.connect(5)
        link.close()


def test_what_one_send_leaves_over_is_sent_by_the_next() -> None:
    sent = random.Random(7).randbytes(8 * 2**20)  # more than the kernel takes at once
    received = bytearray()

    def read_slowly(connection: socket.socket) -> None:
        time.sleep(0.2)
        while part := connection.recv(2**20):
            received.extend(part)

    with server(read_slowly) as port:
        transport = adb_shell_library.Tcp("127.0.0.1", port)
        transport.connect(5)
        assert transport.bulk_write(sent, 20) == len(sent)
        transport.close()
    assert received == sent


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[tuple[LibraryLink, Path]]:
    """A connection to an adbd of our own, and its root."""
    root = tmp_path / "root"
    root.mkdir()
    try:
        program = native.program(native.ADBD)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    with subprocess.Popen(
        [program, "--port", "0", "--root", root, "--shell", "/bin/sh"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        link = tcp_link("127.0.0.1", int(process.stdout.readline().rpartition(":")[2]))
        link.connect(10)
        yield link, root
        link.close()
        process.terminate()


@pytest.mark.parametrize(
    "command", ["echo begun; sleep 60", "while :; do echo begun; sleep 0.05; done"]
)
def test_a_command_that_does_not_end_gives_what_it_wrote_until_then(
    daemon: tuple[LibraryLink, Path], command: str
) -> None:
    link, _ = daemon
    start = time.monotonic()
    with pytest.raises(LinkTimeout) as caught:
        link.execute(command, 1.0, LIMIT)
    assert 0.9 < time.monotonic() - start < 15
    assert caught.value.output.startswith(b"begun\n")
    link.close()
    link.connect(10)
    assert link.execute("echo again", 10, LIMIT) == b"again\n"


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (b"", None),
        (b"FAIL\x03\0\0", None),
        (b"FAIL\x03\0\0\0no", None),
        (b"FAIL\x03\0\0\0no!", b"no!"),
        (b"FAIL\x03\0\0\0no! and more", b"no!"),
        (b"FAIL\0\0\0\0", b""),
        (b"OKAY\0\0\0\0", None),
    ],
)
def test_a_refusal_is_read_when_it_is_whole(received: bytes, reason: bytes | None) -> None:
    assert adb_shell_library.refusal(received) == reason


FullDisk = Callable[[Path], Callable[[], None]]


def test_a_full_device_is_told_at_once_and_the_link_stays_good(
    daemon: tuple[LibraryLink, Path], tmp_path: Path, full_disk: FullDisk
) -> None:
    link, root = daemon
    full_disk(root / "small")
    local = tmp_path / "large"
    local.write_bytes(bytes(32 * 2**20))
    done: list[int] = []
    start = time.monotonic()
    with pytest.raises(LinkError, match="No space left on device") as caught:
        link.push(local, "/small/large", 30, lambda count, _: done.append(count))
    assert not isinstance(caught.value, LinkBroken | LinkTimeout)
    assert time.monotonic() - start < 10
    # Most of the file was not sent in vain.
    assert done[-1] < 4 * 2**20
    assert not (root / "small/large").exists()
    link.push(tmp_path / "large", "/large", 30, None)
    assert (root / "large").stat().st_size == 32 * 2**20
    assert link.execute("echo there", 10, LIMIT) == b"there\n"


def test_a_full_folder_on_this_machine_is_no_broken_link(
    daemon: tuple[LibraryLink, Path], tmp_path: Path, full_disk: FullDisk
) -> None:
    link, root = daemon
    (root / "large").write_bytes(bytes(4 * 2**20))
    full_disk(tmp_path / "small")
    with pytest.raises(LocalFileError, match=r"on this machine: .*No space left on device"):
        link.pull("/large", tmp_path / "small/large", 30, None, LIMIT)
    link.close()
    link.connect(10)
    with pytest.raises(LocalFileError, match="/no/such/folder"):
        link.pull("/large", Path("/no/such/folder/large"), 30, None, LIMIT)


def test_a_missing_key_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys/adbkey"
    first = signer(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert signer(path).Sign(b"0" * 20) == first.Sign(b"0" * 20)


def test_a_missing_public_key_is_derived(tmp_path: Path) -> None:
    path = tmp_path / "adbkey"
    public = signer(path).GetPublicKey().split()[0]
    path.with_name("adbkey.pub").unlink()
    assert signer(path).GetPublicKey().split()[0] == public
