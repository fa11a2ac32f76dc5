# SPDX-License-Identifier: Apache-2.0
"""Devices of other machines, through Dask: a station on a worker holds each device; the cases go
there and their outcomes come back. Needs the extra `cluster`, here and on the workers."""

from __future__ import annotations

import io
import ipaddress
import pickle
import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from itertools import cycle
from typing import Any, Self
from urllib.parse import urlsplit

from google.protobuf.message import Message

from halyard.conformance.device_worker import DeviceWorker, Place, Post
from halyard.conformance.outcome import Outcome
from halyard.conformance.plan import Planned
from halyard.devices.adb_link import usb_serials
from halyard.devices.link_errors import LinkBroken
from halyard.errors import DeviceUnreachable, HalyardError, PackageMissing
from halyard.proto import halyard_pb2 as pb

# Seconds until the scheduler, and then a worker, answers.
_TIMEOUT = 30.0
# Seconds between two looks whether a worker is still there.
_LOOK = 5.0
# Cases at a time: outcomes come back when all of them are there.
_AT_ONCE = 64
# Dask's protocols that know who is at the other end, and the one that leaves no process.
_SAFE = frozenset({"tls", "wss", "inproc"})


def is_exposed(address: str) -> bool:
    """Whether others on a network can read what goes to a scheduler or a worker, and answer in its
    place: Dask's messages are pickles, so that a process that answers runs code here."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if parts.scheme in _SAFE or parts.hostname == "localhost":
            return False
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        # A name, or nothing that there is.
        return True


def _refusal(what: str) -> HalyardError:
    return HalyardError(
        f"{what} is on another machine and speaks without TLS: anyone on the network between "
        "could read and change what is sent, and run code on both ends. Start the cluster with "
        "tls:// (dask scheduler --protocol tls --tls-ca-file ...; Dask's configuration names the "
        "certificates here), or say --dask-plain where that network is trusted"
    )


class Station:
    """Lives on a worker. What is raised there may not be understood here, so it comes as text."""

    def __init__(self, post: Post) -> None:
        self._worker = DeviceWorker(post)

    def open(self) -> Place | str:
        try:
            return self._worker.open()
        except HalyardError as error:
            return str(error)

    def run(self, cases: Sequence[Planned]) -> tuple[list[tuple[str, Outcome]], str, str]:
        """Their outcomes, the driver's version, and why it ended before its end."""
        outcomes: list[tuple[str, Outcome]] = []
        try:
            for planned, outcome in self._worker.run(cases):
                outcomes.append((planned.name, outcome))
        except HalyardError as error:
            return outcomes, self._worker.version, str(error)
        return outcomes, self._worker.version, ""

    def close(self) -> None:
        self._worker.close()


class Cluster:
    """A scheduler with its workers. HalyardError where none answers, and where it or a worker is
    exposed to a network, unless `plain` says that this is meant."""

    def __init__(self, address: str, *, plain: bool = False) -> None:
        if is_exposed(address) and not plain:
            raise _refusal(f"the Dask scheduler {address}")
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise PackageMissing(
                "--dask needs the package distributed: pip install 'halyard[cluster]', here and "
                "where the workers are"
            ) from error
        try:
            self._client: Any = distributed.Client(address, timeout=_TIMEOUT)
        # A TypeError where there are no certificates for TLS.
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise HalyardError(
                f"no Dask scheduler answers at {address} ({error}): start one (dask scheduler), "
                "and on each machine with devices a worker (dask worker ADDRESS --nthreads 1)"
            ) from error
        self._address = address
        self._plain = plain

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def device_workers(
        self, posts: Sequence[Post], wanted: Sequence[str]
    ) -> Iterator[StationWorker]:
        """`wanted`: of each device the name, address or machine of its worker; empty: the worker
        that has the phone on USB, or the next one."""
        there: dict[str, dict[str, Any]] = self._client.scheduler_info(n_workers=-1)["workers"]
        if not there:
            raise HalyardError(f"the Dask scheduler at {self._address} has no workers")
        exposed = [each for each in there if is_exposed(each)]
        if exposed and not self._plain:
            raise _refusal(f"the Dask worker {exposed[0]}")
        serials = self._client.run(_serials) if any(map(_is_usb, posts)) else {}
        turns = cycle(there)
        for post, name in zip(posts, wanted, strict=True):
            serial = post.config.serial or ""
            if name:
                worker = _named(there, name)
            elif _is_usb(post):
                found = [each for each, known in serials.items() if serial in known]
                if not found:
                    raise HalyardError(f"no worker's machine has the phone {serial} on USB")
                worker = found[0]
            else:
                worker = next(turns)
            yield StationWorker(self._client, post, worker)


def _is_usb(post: Post) -> bool:
    return post.config.kind == "adb" and post.config.transport == "usb"


def _serials() -> list[str]:
    """On the worker that runs it."""
    try:
        return usb_serials()
    except LinkBroken:
        return []


def _named(there: dict[str, dict[str, Any]], name: str) -> str:
    for address, known in there.items():
        if name in (address, str(known.get("name")), known.get("host")):
            return address
    names = ", ".join(sorted(str(known.get("name")) for known in there.values()))
    raise HalyardError(f"there is no worker {name}; there are {names}")


class _Packer(pickle.Pickler):
    """Messages are pickled as what they are serialised to: pickle can't import their module."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Message):
            return _message, (value.DESCRIPTOR.name, value.SerializeToString())
        return NotImplemented


def _message(name: str, content: bytes) -> Any:
    return getattr(pb, name).FromString(content)


def packed(cases: Sequence[Planned]) -> bytes:
    """For pickle.loads."""
    stream = io.BytesIO()
    _Packer(stream).dump(list(cases))
    return stream.getvalue()


class StationWorker:
    """A Worker to a station."""

    def __init__(self, client: Any, post: Post, worker: str) -> None:
        self.name = post.name
        self.version = ""
        self._client = client
        self._post = post
        self._worker = worker
        self._key = f"halyard-{secrets.token_hex(8)}"
        self._is_open = False

    def open(self) -> Place:
        place = self._call(_open, self._post)
        if isinstance(place, str):
            raise DeviceUnreachable(place, serial=self.name)
        assert isinstance(place, Place)
        self._is_open = True
        return place

    def run(self, cases: Sequence[Planned]) -> Generator[tuple[Planned, Outcome], None, None]:
        for at in range(0, len(cases), _AT_ONCE):
            some = cases[at : at + _AT_ONCE]
            planned = {each.name: each for each in some}
            outcomes, self.version, failure = self._call(_run, packed(some))
            for name, outcome in outcomes:
                yield planned[name], outcome
            if failure:
                raise DeviceUnreachable(failure, serial=self.name)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._call(_close, None)

    def _call(self, task: Callable[[str, Any], Any], argument: object) -> Any:
        """The task's result on the worker. Dask would wait for ever for a worker that is gone."""
        try:
            future = self._client.submit(
                task, self._key, argument, workers=[self._worker], pure=False, retries=0
            )
            while True:
                try:
                    return future.result(timeout=_LOOK)
                except TimeoutError:
                    known = self._client.scheduler_info(n_workers=-1)["workers"]
                    if self._worker not in known:
                        future.cancel()
                        raise
        except Exception as error:
            # Whatever Dask makes of it.
            text = str(error) or type(error).__name__
            raise DeviceUnreachable(
                f"its worker {self._worker} is gone or can't run it: {text}", serial=self.name
            ) from error


# ---- on the worker ------------------------------------------------------------------------------


def _stations() -> dict[str, Station]:
    """Those of the worker that runs this."""
    worker: Any = import_module("distributed").get_worker()
    if not hasattr(worker, "halyard_stations"):
        worker.halyard_stations = {}
    found: dict[str, Station] = worker.halyard_stations
    return found


def _open(key: str, post: Post) -> Place | str:
    station = Station(post)
    place = station.open()
    if isinstance(place, Place):
        _stations()[key] = station
    return place


def _run(key: str, cases: bytes) -> tuple[list[tuple[str, Outcome]], str, str]:
    return _stations()[key].run(pickle.loads(cases))


def _close(key: str, _: None) -> None:
    _stations().pop(key).close()
