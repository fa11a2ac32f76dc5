# SPDX-License-Identifier: Apache-2.0
"""The packets of the protocol, and a client made by hand of them."""

import socket
import struct
from typing import Self

from tests.harness.adbd.daemon import Daemon

OLD_VERSION = 0x01000000  # packets carry checksums
NEW_VERSION = 0x01000001


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
