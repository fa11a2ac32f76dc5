# SPDX-License-Identifier: Apache-2.0
"""The native adbd's sync service, request by request."""

import os
import resource
import struct
from pathlib import Path

import pytest

from tests.harness.adbd.daemon import Daemon, wait_until
from tests.harness.adbd.debian_client import Run
from tests.harness.adbd.packets import Peer, packet
from tests.harness.adbd.sync_requests import QUIT, sync_answer, sync_request


def test_a_transfer_cut_short_leaves_no_file(daemon: Daemon) -> None:
    peer = Peer(daemon)
    remote = peer.open(b"sync:")
    path = b"/half,33188"
    head = b"SEND" + struct.pack("<I", len(path)) + path
    peer.send(packet(b"WRTE", 1, remote, head + b"DATA" + struct.pack("<I", 1000) + bytes(400)))
    assert peer.read()[0] == b"OKAY"
    wait_until((daemon.root / "half").exists, "the file was begun")
    peer.socket.close()
    wait_until(lambda: not (daemon.root / "half").exists(), "the partial file was removed")


def test_sync_answers_pipelined_requests_in_order(daemon: Daemon) -> None:
    (daemon.root / "pipelined").write_bytes(b"content")
    answer = sync_answer(
        daemon,
        sync_request(b"STAT", b"/pipelined")
        + sync_request(b"RECV", b"/pipelined")
        + sync_request(b"RECV", b"/missing")
        + sync_request(b"LST2", b"/missing")
        + QUIT,
    )
    assert struct.unpack_from("<4sII", answer)[0::2] == (b"STAT", 7)
    message = b"open failed: No such file or directory"
    data = b"DATA" + struct.pack("<I", 7) + b"content" + b"DONE" + bytes(4)
    rest = answer[16:]
    assert rest.startswith(data + sync_request(b"FAIL", message) + b"LST2" + struct.pack("<I", 2))


@pytest.mark.parametrize(
    ("request_bytes", "reason"),
    [
        (sync_request(b"EVIL", b"/x"), b"unknown command"),
        (b"STAT" + struct.pack("<I", 1025), b"path too long"),
        (b"RECV" + struct.pack("<I", 0xFFFFFFFF), b"path too long"),
        (sync_request(b"SEND", b"/no-comma"), b"missing ,"),
        (sync_request(b"SEND", b"/x,12x"), b"missing ,"),
        (
            sync_request(b"SEND", b"/x,33188") + b"DATA" + struct.pack("<I", 65537),
            b"oversize data message",
        ),
        (sync_request(b"SEND", b"/x,33188") + b"EVIL" + bytes(4), b"invalid data message"),
    ],
)
def test_sync_says_why_it_ends(daemon: Daemon, request_bytes: bytes, reason: bytes) -> None:
    answer = sync_answer(daemon, request_bytes)
    assert answer.startswith(b"FAIL")
    assert reason in answer
    assert not (daemon.root / "x").exists()


def test_sync_takes_the_longest_path(daemon: Daemon) -> None:
    assert sync_answer(daemon, sync_request(b"STAT", b"/" * 1024) + QUIT).startswith(b"STAT")


def test_sync_takes_a_refused_file_to_its_end(daemon: Daemon) -> None:
    (daemon.root / "solid").write_text("")
    refused = sync_request(b"SEND", b"/solid/below,33188")
    refused += sync_request(b"DATA", bytes(65536)) * 4 + b"DONE" + bytes(4)
    answer = sync_answer(daemon, refused + sync_request(b"STAT", b"/solid") + QUIT)
    assert answer.startswith(b"FAIL")
    assert answer.count(b"FAIL") == 1
    assert answer[-16:-12] == b"STAT"


def test_paths_stay_below_the_root(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    path = b"/../../../../../../.." + str(tmp_path / "outside").encode()
    assert b"No such file" in sync_answer(daemon, sync_request(b"RECV", path) + QUIT)


def test_a_named_pipe_does_not_stop_the_daemon(daemon: Daemon) -> None:
    os.mkfifo(daemon.root / "fifo")
    answer = sync_answer(
        daemon,
        sync_request(b"SEND", b"/fifo,33188")
        + sync_request(b"DATA", b"x")
        + b"DONE"
        + bytes(4)
        + sync_request(b"RECV", b"/fifo")
        + QUIT,
    )
    assert answer.startswith(b"FAIL")


def test_a_write_that_fails_half_way_leaves_no_file(
    device: Run, daemon: Daemon, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    local.write_bytes(bytes(1_000_000))
    unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (200_000, unlimited[1]))
    try:
        result = device("push", local, "/too-large", check=False)
    finally:
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
    assert result.returncode == 1
    assert b"File too large" in result.stderr + result.stdout
    assert not (daemon.root / "too-large").exists()
    device("push", local, "/too-large")
    assert (daemon.root / "too-large").stat().st_size == 1_000_000
