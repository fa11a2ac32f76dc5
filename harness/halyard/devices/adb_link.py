# SPDX-License-Identifier: Apache-2.0
"""One adb connection, over TCP or USB, on the adb-shell library.

Turns the library's many exceptions into five, and mends what it leaves to its user: a closed
socket, a write that goes out in parts, an end in time for a command that keeps talking, a device
that refuses the rest of a file while it is sent, and one that sends without end or claims to.
"""

import contextlib
import errno
import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from adb_shell import constants
from adb_shell import exceptions as adb
from adb_shell.adb_device import AdbDevice as LibraryDevice
from adb_shell.adb_device import _AdbIOManager
from adb_shell.adb_message import AdbMessage
from adb_shell.auth.keygen import keygen, write_public_keyfile
from adb_shell.auth.sign_pythonrsa import PythonRSASigner
from adb_shell.hidden_helpers import _AdbPacketStore
from adb_shell.transport.tcp_transport import TcpTransport

from halyard.devices.device import Progress
from halyard.devices.shell_session import Sink, converse, destination
from halyard.errors import HalyardError

DEFAULT_KEY = Path("~/.android/adbkey")
# Seconds that the person at a phone has to accept this machine's key.
AUTHORIZATION_TIMEOUT = 30.0
# Seconds that a look at USB waits while a shell has nothing to say.
_USB_LOOK = 0.05
# Bytes that a device may send unasked on one connection.
_MOST_STRAY = 16 * 2**20


class LinkError(HalyardError):
    """The device answered, and refused; the text is its reason."""


class LinkBroken(LinkError):
    """There is no connection, or it broke."""


class LocalFileError(LinkError):
    """This machine's side of a transfer failed: its disk is full, or the file may not be read."""


class LinkTimeout(LinkError):
    """No end in the time given. `output` is what came until then."""

    def __init__(self, message: str, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


class LinkOverflow(LinkError):
    """The device sends more than is taken."""


class AdbLink(Protocol):
    """What AdbDevice needs of a connection. It must be closed after LinkBroken, LinkTimeout,
    LinkOverflow and LocalFileError. `limit`: as many bytes as are taken from the device."""

    def connect(self, timeout: float) -> None: ...

    def close(self) -> None: ...

    def execute(self, command: str, timeout: float, limit: int) -> bytes:
        """Runs a shell command by adb's exec service: all that it writes, until it ends."""
        ...

    def push(self, local: Path, remote: str, timeout: float, progress: Progress | None) -> None: ...

    def pull(
        self, remote: str, local: Path, timeout: float, progress: Progress | None, limit: int
    ) -> None: ...

    def converse(self, source: int, sink: Sink, timeout: float) -> int:
        """A shell with the input from a descriptor (shell_session.converse); its exit code.
        `timeout`: for each packet."""
        ...


class _Tcp(TcpTransport):  # type: ignore[misc]
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
            raise adb.InvalidResponseError("it keeps sending what nobody asked for")
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


class _Library(LibraryDevice):  # type: ignore[misc]
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
        message = AdbMessage(
            constants.WRTE,
            adb_info.local_id,
            adb_info.remote_id,
            filesync_info.send_buffer[: filesync_info.send_idx],
        )
        self._io_manager.send(message, adb_info)
        filesync_info.send_idx = 0
        command = None
        while command != constants.OKAY:
            command, data = self._read_until(
                [constants.OKAY, constants.WRTE, constants.CLSE], adb_info
            )
            if command == constants.WRTE:
                filesync_info.recv_buffer += data
            elif command == constants.CLSE:
                raise adb.AdbConnectionError("the device closed the transfer")
        reason = _refusal(filesync_info.recv_buffer)
        if reason is not None:
            # The connection stays good for others.
            self._clse(adb_info)
            raise adb.PushFailedError(reason)


def _refusal(received: bytes | bytearray) -> bytes | None:
    """The reason in a whole FAIL message of the sync service; None unless it is one."""
    head = struct.Struct("<4sI")
    if len(received) < head.size:
        return None
    name, length = head.unpack_from(received)
    if name != b"FAIL" or len(received) < head.size + length:
        return None
    return bytes(received[head.size : head.size + length])


def in_words(size: int) -> str:
    return f"{size / 2**20:g} MiB"


class LibraryLink:
    """An AdbLink on the library. `make_transport` is called once per connection."""

    def __init__(self, make_transport: Callable[[], Any], key: Path | None) -> None:
        self._make_transport = make_transport
        self._key = key
        self._transport: Any = None
        self._device: Any = None

    def connect(self, timeout: float) -> None:
        with _translated():
            self._transport = self._make_transport()
            self._device = _Library(self._transport)
            try:
                self._connect([], timeout)
            except adb.DeviceAuthError:
                # The device wants to know who asks: only then is a key read, or made.
                self._connect([signer(self._key)], timeout)

    def _connect(self, signers: list[PythonRSASigner], timeout: float) -> None:
        self._device.connect(
            rsa_keys=signers,
            transport_timeout_s=timeout,
            auth_timeout_s=AUTHORIZATION_TIMEOUT,
            read_timeout_s=timeout,
        )

    def close(self) -> None:
        if self._device is not None:
            with contextlib.suppress(OSError, adb.UsbWriteFailedError, adb.UsbReadFailedError):
                self._device.close()
            self._device = None

    def execute(self, command: str, timeout: float, limit: int) -> bytes:
        output = bytearray()
        try:
            with _translated(), self._deadline(timeout):
                # The public exec_out joins the parts itself, and loses them all on a timeout.
                parts = self._device._streaming_service(  # noqa: SLF001
                    b"exec",
                    command.encode(),
                    transport_timeout_s=timeout,
                    read_timeout_s=timeout,
                    decode=False,
                )
                end = time.monotonic() + timeout
                for part in parts:
                    output += part
                    if len(output) > limit:
                        raise LinkOverflow(f"its output is larger than {in_words(limit)}")
                    if time.monotonic() > end:
                        raise adb.AdbTimeoutError("it kept writing")
        except LinkTimeout as error:
            raise LinkTimeout(str(error), bytes(output)) from error
        return bytes(output)

    def push(self, local: Path, remote: str, timeout: float, progress: Progress | None) -> None:
        with _translated():
            mode = stat.S_IFREG | stat.S_IMODE(local.stat().st_mode)
            self._device.push(
                str(local),
                remote,
                st_mode=mode,
                mtime=int(local.stat().st_mtime),
                progress_callback=_adding_up(progress),
                transport_timeout_s=timeout,
                read_timeout_s=timeout,
            )

    def pull(
        self, remote: str, local: Path, timeout: float, progress: Progress | None, limit: int
    ) -> None:
        with _translated():
            self._device.limit = limit
            self._device.pull(
                remote,
                str(local),
                progress_callback=_adding_up(progress),
                transport_timeout_s=timeout,
                read_timeout_s=timeout,
            )

    def converse(self, source: int, sink: Sink, timeout: float) -> int:
        with _translated():
            stream = _LibraryStream(self._device, self._transport, destination(source), timeout)
            return converse(stream, source, sink)

    @contextlib.contextmanager
    def _deadline(self, timeout: float) -> Iterator[None]:
        if isinstance(self._transport, _Tcp):
            self._transport.deadline = time.monotonic() + timeout
        try:
            yield
        finally:
            if isinstance(self._transport, _Tcp):
                self._transport.deadline = None


class _LibraryStream:
    """A stream to a service, of which the library has only one half: reading to the end."""

    def __init__(self, device: _Library, transport: Any, service: str, timeout: float) -> None:
        self._device = device
        self._transport = transport
        self._info = device._open(service.encode(), timeout, timeout, None)  # noqa: SLF001

    def fileno(self) -> int | None:
        return self._transport.fileno() if isinstance(self._transport, _Tcp) else None

    def write(self, data: bytes) -> None:
        self._send(constants.WRTE, data)

    def read(self) -> tuple[bool, bytes] | None:
        wanted = [constants.OKAY, constants.WRTE, constants.CLSE]
        if not isinstance(self._transport, _Tcp):
            self._info.transport_timeout_s = _USB_LOOK
        try:
            command, data = self._device._read_until(wanted, self._info)  # noqa: SLF001
        except adb.UsbReadFailedError as error:
            # USB can only be asked: libusb ends a look with this.
            if "TIMEOUT" in str(error):
                return False, b""
            raise
        if command == constants.CLSE:
            self._send(constants.CLSE)
            return None
        return command == constants.OKAY, data

    def _send(self, command: bytes, data: bytes = b"") -> None:
        message = AdbMessage(command, self._info.local_id, self._info.remote_id, data)
        self._device._io_manager.send(message, self._info)  # noqa: SLF001


def tcp_link(host: str, port: int, key: Path | None = None) -> LibraryLink:
    return LibraryLink(lambda: _Tcp(host, port), key)


def usb_link(serial: str | None, key: Path | None = None) -> LibraryLink:
    """The phone with that serial; the only one where it is None."""

    def find() -> Any:
        # Importing it loads libusb.
        from adb_shell.transport.usb_transport import UsbTransport

        return UsbTransport.find_adb(serial)

    return LibraryLink(find, key)


def usb_serials() -> list[str]:
    """The serials of the phones on USB whose adb interface can be opened."""
    try:
        from adb_shell.transport.usb_transport import UsbTransport

        return [str(found.serial_number) for found in UsbTransport.find_all_adb_devices()]
    except Exception as error:
        # libusb's own exceptions have no common base, and its absence is an OSError.
        raise LinkBroken(f"USB can't be searched: {error}") from error


def signer(key: Path | None) -> PythonRSASigner:
    """The key adb itself uses, or the one given; made if there is none."""
    path = (key or DEFAULT_KEY).expanduser()
    public = path.with_name(f"{path.name}.pub")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        before = os.umask(0o077)
        try:
            keygen(str(path))
        finally:
            os.umask(before)
    elif not public.exists():
        write_public_keyfile(str(path), str(public))
    return PythonRSASigner(public.read_text(), path.read_text())


def _adding_up(progress: Progress | None) -> Callable[[str, int, int], None] | None:
    if progress is None:
        return None
    done = 0

    def add(_path: str, count: int, total: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    return add


# What only a file gives, not a socket.
_FILE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except LinkError:
        raise
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise LinkTimeout(str(error)) from error
        if error.filename is not None or error.errno in _FILE_ERRORS:
            raise LocalFileError(f"on this machine: {error}") from error
        raise LinkBroken(str(error) or type(error).__name__) from error
    except (adb.AdbTimeoutError, adb.TcpTimeoutException) as error:
        raise LinkTimeout(str(error)) from error
    except (adb.AdbCommandFailureException, adb.PushFailedError) as error:
        reason = error.args[0] if error.args else error
        raise LinkError(
            reason.decode(errors="replace")
            if isinstance(reason, bytes | bytearray)
            else str(reason)
        ) from error
    except (
        adb.AdbConnectionError,
        adb.DeviceAuthError,
        adb.InvalidChecksumError,
        adb.InvalidCommandError,
        adb.InvalidResponseError,
        adb.UsbDeviceNotFoundError,
        adb.UsbReadFailedError,
        adb.UsbWriteFailedError,
    ) as error:
        raise LinkBroken(str(error) or type(error).__name__) from error
    except (KeyError, IndexError, struct.error, UnicodeError) as error:
        # What the library makes of an answer that is none.
        raise LinkBroken(f"the device's answer makes no sense: {error!r}") from error
