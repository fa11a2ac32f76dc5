# SPDX-License-Identifier: Apache-2.0
"""Requests to the sync service, and what it answers."""

import struct

from tests.harness.adbd.daemon import Daemon
from tests.harness.adbd.packets import Peer, packet


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
