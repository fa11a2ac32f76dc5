# SPDX-License-Identifier: Apache-2.0
"""Clients of the native adbd cannot take from the others: memory, descriptors, places."""

import contextlib
import random
import resource
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from halyard.programs import native
from tests.harness.adbd.daemon import Daemon, wait_until
from tests.harness.adbd.packets import NEW_VERSION, Peer, packet
from tests.harness.adbd.sync_requests import sync_request


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


def resident(daemon: Daemon) -> int:
    """Bytes of memory that the daemon takes."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def test_a_client_that_does_not_read_takes_little_memory(daemon: Daemon) -> None:
    (daemon.root / "long").write_bytes(bytes(50_000_000))
    before = resident(daemon)
    with contextlib.ExitStack() as stack:
        # Acknowledgements of what was never read, and requests whose answers are not read.
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
    (daemon.root / "bytes").write_bytes(source.randbytes(200_000))
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
