# SPDX-License-Identifier: Apache-2.0
"""The library's connection, against servers that do not behave."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from halyard.devices.adb_link import LinkBroken, LinkTimeout, signer, tcp_link


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
