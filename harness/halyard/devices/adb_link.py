# SPDX-License-Identifier: Apache-2.0
"""One adb connection, over TCP or USB, on the adb-shell library.

Turns the library's many exceptions into five. What it leaves to its user is mended in
adb_shell_library: a closed socket, a write that goes out in parts, an end in time for a command
that keeps talking, a device that refuses the rest of a file while it is sent, and one that sends
without end or claims to.
"""

import contextlib
import errno
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from adb_shell import constants
from adb_shell import exceptions as adb
from adb_shell.auth.keygen import keygen, write_public_keyfile
from adb_shell.auth.sign_pythonrsa import PythonRSASigner

from halyard.devices.adb_shell_library import Library, Tcp
from halyard.devices.device import Progress
from halyard.devices.link_errors import (
    LinkBroken,
    LinkError,
    LinkOverflow,
    LinkTimeout,
    LocalFileError,
    in_words,
)
from halyard.devices.shell_session import Sink, converse, destination

DEFAULT_KEY = Path("~/.android/adbkey")
# Seconds that the person at a phone has to accept this machine's key.
AUTHORIZATION_TIMEOUT = 30.0
# Seconds that a look at USB waits while a shell has nothing to say.
_USB_LOOK = 0.05


class AdbLink(Protocol):
    """The connection that AdbDevice needs. It must be closed after LinkBroken, LinkTimeout,
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
            self._device = Library(self._transport)
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
                parts = self._device.stream(b"exec", command.encode(), timeout)
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
        if isinstance(self._transport, Tcp):
            self._transport.deadline = time.monotonic() + timeout
        try:
            yield
        finally:
            if isinstance(self._transport, Tcp):
                self._transport.deadline = None


class _LibraryStream:
    """A stream to a service, of which the library has only one half: reading to the end."""

    def __init__(self, device: Library, transport: Any, service: str, timeout: float) -> None:
        self._device = device
        self._transport = transport
        self._info = device.open_service(service.encode(), timeout)

    def fileno(self) -> int | None:
        return self._transport.fileno() if isinstance(self._transport, Tcp) else None

    def write(self, data: bytes) -> None:
        self._send(constants.WRTE, data)

    def read(self) -> tuple[bool, bytes] | None:
        wanted = [constants.OKAY, constants.WRTE, constants.CLSE]
        if not isinstance(self._transport, Tcp):
            self._info.transport_timeout_s = _USB_LOOK
        try:
            command, data = self._device.read_packet(wanted, self._info)
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
        self._device.send_packet(command, self._info, data)


def tcp_link(host: str, port: int, key: Path | None = None) -> LibraryLink:
    return LibraryLink(lambda: Tcp(host, port), key)


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


# Errors of files alone, not of sockets.
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
        # The library's exception for a malformed answer.
        raise LinkBroken(f"the device's answer makes no sense: {error!r}") from error
