# SPDX-License-Identifier: Apache-2.0
"""The adb-shell library, mended. All that is used of it and is not public is used here.

The library has no public way to any of that: to its packets, to the answers that it drops while it
sends a file, and to its socket. PRIVATE lists what is relied on, for a test that says which name a
new version of the library lacks.
"""

import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any

from adb_shell import constants
from adb_shell import exceptions as adb
from adb_shell.adb_device import AdbDevice as LibraryDevice
from adb_shell.adb_device import _AdbIOManager
from adb_shell.adb_message import AdbMessage
from adb_shell.hidden_helpers import _AdbPacketStore
from adb_shell.transport.tcp_transport import TcpTransport

from halyard.devices.link_errors import LinkOverflow, in_words

# By the library's class, its attributes.
PRIVATE: Mapping[type, tuple[str, ...]] = {
    TcpTransport: ("_connection",),
    _AdbPacketStore: ("put",),
    _AdbIOManager: ("_packet_store", "_read_bytes_from_device", "send"),
    LibraryDevice: (
        "_clse",
        "_filesync_flush",
        "_filesync_read_buffered",
        "_io_manager",
        "_open",
        "_pull",
        "_read_until",
        "_streaming_service",
    ),
}

# Bytes that a device may send unasked on one connection.
_MOST_STRAY = 16 * 2**20


class Tcp(TcpTransport):  # type: ignore[misc]
    """The library's TCP transport with a deadline, whole writes and an end at end of file."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.deadline: float | None = None

    def connect(self, transport_timeout_s: float | None) -> None:
        super().connect(transport_timeout_s)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        return int(self._connection.fileno())

    def bulk_read(self, numbytes: int, transport_timeout_s: float | None) -> bytes:
        left = self._left(transport_timeout_s)
        readable, _, _ = select.select([self._connection], [], [], left)
        if not readable:
            raise adb.TcpTimeoutException(f"nothing came in {left or 0:.1f} s")
        data: bytes = self._connection.recv(numbytes)
        if not data:
            raise ConnectionResetError("the device closed the connection")
        return data

    def bulk_write(self, data: bytes, transport_timeout_s: float | None) -> int:
        view = memoryview(data)
        while view:
            left = self._left(transport_timeout_s)
            _, writable, _ = select.select([], [self._connection], [], left)
            if not writable:
                raise adb.TcpTimeoutException(f"nothing could be sent in {left or 0:.1f} s")
            view = view[self._connection.send(view) :]
        return len(data)

    def _left(self, timeout: float | None) -> float | None:
        if self.deadline is None:
            return timeout
        left = max(self.deadline - time.monotonic(), 0.0)
        return left if timeout is None else min(left, timeout)


class _Store(_AdbPacketStore):  # type: ignore[misc]
    """The packets of other streams than the one that is read. There is one at a time, so that an
    honest device sends hardly any."""

    def __init__(self) -> None:
        super().__init__()
        self._taken = 0

    def put(self, arg0: int, arg1: int, cmd: bytes, data: bytes) -> None:
        self._taken += len(data) + 24
        if self._taken > _MOST_STRAY:
            raise adb.InvalidResponseError("it keeps sending what was not asked for")
        super().put(arg0, arg1, cmd, data)


class _IoManager(_AdbIOManager):  # type: ignore[misc]
    """The library's, which believes no size that adb does not have."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self._packet_store = _Store()

    def _read_bytes_from_device(self, length: int, adb_info: Any) -> bytes:
        if length > constants.MAX_ADB_DATA:
            raise adb.InvalidResponseError(
                f"a packet of {length} bytes, where adb's have up to {constants.MAX_ADB_DATA}"
            )
        data: bytes = super()._read_bytes_from_device(length, adb_info)
        return data


class _Limited:
    """A file that takes so many bytes."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = self._left = limit

    def write(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise LinkOverflow(f"the file is larger than {in_words(self._limit)}")
        self._stream.write(data)


class Library(LibraryDevice):  # type: ignore[misc]
    """The library's device, which hears what the device says while it is sent a file, and takes no
    more than it wants.

    adbd answers a write that fails (a full disk, above all) at once. The library drops the answer,
    as it waits for another packet then, and waits in vain for one at the end of the file.
    """

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self._io_manager = _IoManager(transport)
        self.limit = 0  # of the file that is pulled next
        self._is_spoilt = False

    def stream(self, service: bytes, command: bytes, timeout: float) -> Iterator[bytes]:
        """The service's output for a command, as it comes. The library's public exec_out joins the
        parts itself, and loses them all on a timeout."""
        parts: Iterator[bytes] = self._streaming_service(
            service,
            command,
            transport_timeout_s=timeout,
            read_timeout_s=timeout,
            decode=False,
        )
        return parts

    def open_service(self, service: bytes, timeout: float) -> Any:
        """A stream to it; what the library knows of that."""
        return self._open(service, timeout, timeout, None)

    def read_packet(self, wanted: list[bytes], stream: Any) -> tuple[bytes, bytes]:
        """The next of the wanted commands, and its data."""
        command, data = self._read_until(wanted, stream)
        return command, data

    def send_packet(self, command: bytes, stream: Any, data: bytes = b"") -> None:
        message = AdbMessage(command, stream.local_id, stream.remote_id, data)
        self._io_manager.send(message, stream)

    def _pull(self, device_path: str, stream: Any, *others: Any) -> None:
        try:
            super()._pull(device_path, _Limited(stream, self.limit), *others)
        except adb.AdbCommandFailureException:
            raise
        except BaseException:
            self._is_spoilt = True
            raise

    def _clse(self, adb_info: Any) -> None:
        # The library waits for the device to close the stream, too, whatever else that sends.
        if not self._is_spoilt:
            super()._clse(adb_info)

    def _filesync_read_buffered(self, size: int, adb_info: Any, filesync_info: Any) -> Any:
        if size > constants.MAX_ADB_DATA:
            raise adb.InvalidResponseError(
                f"{size} bytes of a file at once, where adb sends up to {constants.MAX_CHUNK_SIZE}"
            )
        return super()._filesync_read_buffered(size, adb_info, filesync_info)

    def _filesync_flush(self, adb_info: Any, filesync_info: Any) -> None:
        data = filesync_info.send_buffer[: filesync_info.send_idx]
        self.send_packet(constants.WRTE, adb_info, data)
        filesync_info.send_idx = 0
        command = None
        while command != constants.OKAY:
            command, data = self.read_packet(
                [constants.OKAY, constants.WRTE, constants.CLSE], adb_info
            )
            if command == constants.WRTE:
                filesync_info.recv_buffer += data
            elif command == constants.CLSE:
                raise adb.AdbConnectionError("the device closed the transfer")
        reason = refusal(filesync_info.recv_buffer)
        if reason is not None:
            # The connection stays good for others.
            self._clse(adb_info)
            raise adb.PushFailedError(reason)


def refusal(received: bytes | bytearray) -> bytes | None:
    """The reason in a whole FAIL message of the sync service; None unless it is one."""
    head = struct.Struct("<4sI")
    if len(received) < head.size:
        return None
    name, length = head.unpack_from(received)
    if name != b"FAIL" or len(received) < head.size + length:
        return None
    return bytes(received[head.size : head.size + length])
