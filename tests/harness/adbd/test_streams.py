# SPDX-License-Identifier: Apache-2.0
"""Streams of the native adbd, packet by packet: who waits for whom, and what ends what."""

import contextlib
import struct
from pathlib import Path

import pytest

from tests.harness.adbd.daemon import Daemon, wait_until
from tests.harness.adbd.packets import OLD_VERSION, Peer, packet


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


def is_running(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


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
