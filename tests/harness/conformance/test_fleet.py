# SPDX-License-Identifier: Apache-2.0
"""Cases on several devices: who runs which, and what becomes of those of one that drops out."""

import json
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from halyard import records
from halyard.cli import fleet as cli_fleet
from halyard.cli import program
from halyard.cli.fleet import parse_targets
from halyard.conformance import dask_workers, device_worker
from halyard.conformance.device_worker import Place, Post
from halyard.conformance.fleet import Fleet, Mode, differences
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.plan import Planned
from halyard.conformance.pool import Pool
from halyard.devices.config import DeviceConfig
from halyard.errors import ConfigError, DeviceUnreachable, HalyardError
from halyard.proto import halyard_pb2 as pb
from halyard.records.conformance import Conformance
from tests.harness.cases.test_golden_cases import addition
from tests.harness.cases.test_golden_suite import WRONG, write

PATIENCE = 30


def plan(count: int) -> list[Planned]:
    case = SimpleNamespace(spec="", operations=(), types=(), forms=(), test_case=None)
    return [Planned(f"case{n}", cast(Any, case), pb.HAL_VERSION_1_2) for n in range(count)]


def outcome(name: str, status: Status = Status.PASSED) -> Outcome:
    return Outcome(name, "", status, "", "", None, None, 1, (), (), (), "1.2", 0.0)


class FakeWorker:
    """One that takes some time for a case, and is gone where it is told to be."""

    version = "fake"

    def __init__(
        self,
        name: str,
        *,
        seconds: float = 0.0,
        opens: bool = True,
        dies_of: Sequence[str] = (),
        dies_after: int = 10**9,
        fails: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.seconds, self.opens = seconds, opens
        self.dies_of, self.dies_after, self.fails = dies_of, dies_after, fails
        self.began: list[str] = []
        self.closed = 0

    def open(self) -> Place:
        if not self.opens:
            raise DeviceUnreachable("no device answers", serial=self.name)
        return Place(self.name, "hidl:x")

    def run(self, cases: Sequence[Planned]) -> Generator[tuple[Planned, Outcome], None, None]:
        for each in cases:
            self.began.append(each.name)
            time.sleep(self.seconds)
            if each.name in self.dies_of or len(self.began) > self.dies_after:
                raise DeviceUnreachable("the cable is out", serial=self.name)
            yield (
                each,
                outcome(each.name, Status.FAILED if each.name in self.fails else Status.PASSED),
            )

    def close(self) -> None:
        self.closed += 1


def fleet_of(
    *fakes: FakeWorker, mode: Mode = "shard", cases: int = 100
) -> tuple[Fleet, list[object]]:
    fleet = Fleet(fakes, mode)
    return fleet, [event for _, event in fleet.run(plan(cases))]


def merged(fleet: Fleet) -> Counter[str]:
    return Counter(name for share in fleet.shares for name in share.outcomes)


# ---- dividing -----------------------------------------------------------------------------------


def test_every_case_runs_once_on_one_of_the_devices() -> None:
    fakes = [FakeWorker(f"d{n}", seconds=0.001) for n in range(3)]
    fleet, events = fleet_of(*fakes, cases=300)
    assert merged(fleet) == Counter(f"case{n}" for n in range(300))
    assert len(events) == 300
    assert all(share.outcomes for share in fleet.shares)
    assert [fake.closed for fake in fakes] == [1, 1, 1]
    assert sum(turn.cases for share in fleet.shares for turn in share.turns) == 300


def test_a_fast_device_runs_more_of_them() -> None:
    slow, fast = FakeWorker("slow", seconds=0.01), FakeWorker("fast")
    fleet, _ = fleet_of(slow, fast, cases=400)
    assert len(slow.began) < len(fast.began)
    assert merged(fleet).total() == 400


def test_turns_grow_smaller_so_that_all_end_together() -> None:
    pool = Pool(plan(2000), 2)
    sizes = []
    while taken := pool.take():
        sizes.append(len(taken))
        pool.done()
    # Those that take long may lie together at the beginning.
    assert sizes[:5] == [250] * 5
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2] == 32
    assert sum(sizes) == 2000


def test_each_device_runs_all_where_nothing_is_divided() -> None:
    fakes = [FakeWorker("a"), FakeWorker("b", fails=["case7"])]
    fleet, events = fleet_of(*fakes, mode="all", cases=50)
    assert len(events) == 100
    assert all(fake.began == [f"case{n}" for n in range(50)] for fake in fakes)
    [(name, there)] = differences(fleet.shares)
    assert name == "case7"
    assert [there["a"].status, there["b"].status] == [Status.PASSED, Status.FAILED]


# ---- dropping out -------------------------------------------------------------------------------


def test_the_cases_of_a_device_that_drops_out_run_on_the_others() -> None:
    dying, other = FakeWorker("dying", dies_after=10), FakeWorker("other", seconds=0.001)
    fleet, events = fleet_of(dying, other, cases=200)
    assert merged(fleet) == Counter(f"case{n}" for n in range(200))
    assert "dying: the cable is out" in [event for event in events if isinstance(event, str)]
    assert fleet.shares[0].lost == "dying: the cable is out"
    assert len(fleet.shares[0].outcomes) == 10
    assert fleet.shares[1].lost == ""
    assert dying.closed == 1


def test_a_device_that_is_idle_takes_over_from_one_that_drops_out_last() -> None:
    dying, quick = FakeWorker("dying", seconds=0.02, dies_after=20), FakeWorker("quick")
    fleet, _ = fleet_of(dying, quick, cases=64)
    assert merged(fleet).total() == 64


def test_a_device_that_does_not_open_leaves_all_to_the_others() -> None:
    fleet, events = fleet_of(FakeWorker("gone", opens=False), FakeWorker("there"), cases=40)
    assert merged(fleet).total() == 40
    assert "gone: no device answers" in events


def test_a_case_that_brings_down_two_devices_is_not_given_to_a_third() -> None:
    fakes = [FakeWorker(f"d{n}", dies_of=["case3"]) for n in range(3)]
    fleet, events = fleet_of(*fakes, cases=60)
    bad = [each for each in events if isinstance(each, Outcome) and not each.status.is_good]
    assert [(each.name, each.status) for each in bad] == [("case3", Status.CRASHED)]
    assert "two devices were lost while this ran" in bad[0].message
    assert sum("case3" in fake.began for fake in fakes) == 2
    assert merged(fleet) == Counter(f"case{n}" for n in range(60))


def test_where_all_drop_out_what_did_not_run_is_missing() -> None:
    fleet, _ = fleet_of(FakeWorker("a", dies_after=5), FakeWorker("b", dies_after=5), cases=100)
    assert merged(fleet).total() == 10
    assert all(share.lost for share in fleet.shares)


def test_where_none_opens_the_first_reason_is_told() -> None:
    with pytest.raises(DeviceUnreachable, match="no device answers"):
        fleet_of(FakeWorker("a", opens=False), FakeWorker("b", opens=False))


def test_each_runs_on_where_nothing_is_divided_and_another_drops_out() -> None:
    fleet, _ = fleet_of(FakeWorker("a", dies_after=5), FakeWorker("b"), mode="all", cases=50)
    assert [len(share.outcomes) for share in fleet.shares] == [5, 50]


def test_a_defect_of_ours_ends_the_run_instead_of_hanging_it() -> None:
    class Broken(FakeWorker):
        def run(self, cases: Sequence[Planned]) -> Generator[tuple[Planned, Outcome], None, None]:
            yield cases[0], outcome(cases[0].name)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fleet_of(Broken("broken"), FakeWorker("other", seconds=0.001), cases=500)


def test_what_is_interrupted_ends_its_cases_and_closes_all() -> None:
    fakes = [FakeWorker(f"d{n}", seconds=0.005) for n in range(2)]
    running = Fleet(fakes, "shard").run(plan(10_000))
    for _ in range(5):
        next(running)
    threads = threading.active_count()
    running.close()
    assert threading.active_count() == threads - 2
    assert [fake.closed for fake in fakes] == [1, 1]
    assert sum(len(fake.began) for fake in fakes) < 1000


# ---- names --------------------------------------------------------------------------------------


def test_devices_are_named_with_commas_and_workers_behind_them() -> None:
    targets = parse_targets("vm:1, vm:2@lab,0A1B@10.0.0.7")
    assert [(each.name, each.worker) for each in targets] == [
        ("vm:1", ""),
        ("vm:2", "lab"),
        ("0A1B", "10.0.0.7"),
    ]
    for wrong, words in (("vm,vm", "vm:1 and vm:2"), ("vm,", "no device"), ("vm@", "no worker")):
        with pytest.raises(ConfigError, match=words):
            parse_targets(wrong)


# ---- the command --------------------------------------------------------------------------------

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # The host has one name; a configuration gives it another.
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("kind: host\n")
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, ["conformance", *map(str, words)])


@pytest.fixture
def goldens(tmp_path: Path) -> Path:
    (tmp_path / "goldens").mkdir()
    good = [addition(name=f"add{n}") for n in range(40)]
    return write(tmp_path / "goldens", {"add": [*good, addition(WRONG, name="wrong")]})


PLAIN = ("--derived", "none", "--hal", "1.3", "--device", "one.yaml,two.yaml")


def test_the_divided_run_is_one_document_with_each_cases_device(
    invoke: Invoke, goldens: Path, tmp_path: Path
) -> None:
    files = ("--json", tmp_path / "out.json", "--junit", tmp_path / "out.xml")
    result = invoke("--goldens", goldens, *PLAIN, "--shard", *files)
    assert result.exit_code == 1, result.output
    [document] = records.decode((tmp_path / "out.json").read_bytes(), Conformance)
    assert (document.passed, document.failed, document.planned) == (40, 1, 41)
    assert document.device == "one.yaml, two.yaml"
    shares = cast(Any, document.shares)
    by_device = Counter(case.device for case in document.cases)
    assert {share.device: share.cases for share in shares if share.cases} == dict(by_device)
    assert sum(turn.cases for share in shares for turn in share.turns) == 41
    assert "schedule, " in result.output
    # In the order of the plan, whichever device ran them.
    assert [case.name for case in document.cases][:2] == ["add0", "add1"]
    assert (tmp_path / "out.xml").read_text().count("<testcase") == 41


def test_each_device_keeps_what_it_ran_of_the_divided_run(
    invoke: Invoke, goldens: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.db"
    result = invoke("--goldens", goldens, *PLAIN, "--shard", "--results", path)
    assert result.exit_code == 1, result.output
    with sqlite3.connect(path) as connection:
        kept = connection.execute(
            "SELECT v.name, v.serial, count(*), sum(c.status = 'failed'), d.ok FROM cases c "
            "JOIN documents d ON d.id = c.document JOIN devices v ON v.id = d.device "
            "GROUP BY d.id ORDER BY v.name"
        ).fetchall()
    assert {name for name, *_ in kept} <= {"one", "two"}
    assert {serial for _, serial, *_ in kept} == {"host"}
    assert sum(count for *_, count, _, _ in kept) == 41
    assert max(failed for *_, failed, _ in kept) == 1
    assert all(ok == (not failed) for *_, failed, ok in kept)


def test_what_runs_on_each_is_a_document_for_each(
    invoke: Invoke, goldens: Path, tmp_path: Path
) -> None:
    result = invoke("--goldens", goldens, *PLAIN, "--json", tmp_path / "out.json")
    assert result.exit_code == 1, result.output
    documents = records.decode((tmp_path / "out.json").read_bytes(), Conformance)
    assert [document.device for document in documents] == ["one.yaml", "two.yaml"]
    assert [len(document.cases) for document in documents] == [41, 41]
    assert "different on the devices\nno case" in result.output


def test_a_device_that_drops_out_is_told_and_all_is_run(
    invoke: Invoke, goldens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = device_worker.DeviceWorker.run

    def run(self: device_worker.DeviceWorker, cases: Sequence[Planned]) -> Any:
        for number, each in enumerate(whole(self, cases)):
            if self.name == "one.yaml" and number == 3:
                raise DeviceUnreachable("the cable is out", serial="one")
            yield each

    monkeypatch.setattr(cli_fleet.DeviceWorker, "run", run)
    result = invoke("--goldens", goldens, *PLAIN, "--shard", "--json", tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert len(document["cases"]) == 41
    assert document["ended_early"] == ""
    lost = {share["device"]: share["lost"] for share in document["shares"]}
    assert lost == {"one.yaml": "one: the cable is out", "two.yaml": ""}
    assert "one.yaml has dropped out: one: the cable is out" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("--device", "one.yaml", "--shard"),
        ("--device", "one.yaml,one.yaml"),
        ("--device", "one.yaml@there"),
        ("--device", "vm:1,vm:a b"),
        ("--device", "host", "--dask-plain"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_with_2(
    invoke: Invoke, goldens: Path, words: tuple[str, ...]
) -> None:
    assert invoke("--goldens", goldens, *words).exit_code == 2


# ---- Dask ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Any:
    """Two workers in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore")
def test_devices_of_a_dask_cluster_run_the_same_command(
    invoke: Invoke, goldens: Path, tmp_path: Path, cluster: Any
) -> None:
    words = (*PLAIN, "--shard", "--dask", cluster.scheduler_address)
    result = invoke("--goldens", goldens, *words, "--json", tmp_path / "out.json")
    assert result.exit_code == 1, result.output
    assert "dropped out" not in result.output, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["passed"], document["failed"]) == (40, 1)
    assert all(share["cases"] > 0 and not share["lost"] for share in document["shares"])


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_gone_is_a_device_that_is_lost(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "_LOOK", 0.2)
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster.scheduler_address) as client:
        post = Post("vm:1", DeviceConfig(kind="host"))
        worker = dask_workers.StationWorker(client, post, "tcp://127.0.0.1:1")
        with pytest.raises(DeviceUnreachable, match=r"its worker tcp://127.0.0.1:1 is gone"):
            worker.open()


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_there_is_not_is_named(invoke: Invoke, goldens: Path, cluster: Any) -> None:
    words = ("--device", "one.yaml@nowhere", "--dask", cluster.scheduler_address)
    result = invoke("--goldens", goldens, "--hal", "1.3", *words)
    assert result.exit_code == 1
    assert "there is no worker nowhere; there are 0, 1" in result.output


@pytest.mark.parametrize(
    ("address", "exposed"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("localhost:8786", False),
        ("tcp://[::1]:8786", False),
        ("inproc://192.168.1.5/77/1", False),
        ("tls://10.0.0.5:8786", False),
        ("wss://lab.example:443", False),
        ("tcp://10.0.0.5:8786", True),
        ("lab:8786", True),
        ("ws://lab.example:80", True),
        ("ucx://10.0.0.5:8786", True),
        ("tcp://localhost.example:8786", True),
        ("tcp://127.0.0.1.example:8786", True),
        ("tcp://127.0.0.1@10.0.0.5:8786", True),
        ("tcp://[", True),
    ],
)
def test_what_a_network_can_read_is_known(address: str, exposed: bool) -> None:
    assert dask_workers.is_exposed(address) == exposed


def test_a_scheduler_elsewhere_without_tls_is_refused(
    invoke: Invoke, goldens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Distributed:
        @staticmethod
        def Client(address: str, timeout: float) -> None:  # noqa: N802
            asked.append(address)
            raise OSError("no host is there")

    monkeypatch.setitem(sys.modules, "distributed", Distributed)
    words = ("--goldens", goldens, "--hal", "1.3", "--dask", "tcp://192.0.2.1:8786")
    result = invoke(*words)
    assert result.exit_code == 1
    assert "the Dask scheduler tcp://192.0.2.1:8786 is on another machine" in result.output
    assert "--dask-plain" in result.output
    assert asked == []
    result = invoke(*words, "--dask-plain")
    assert "no Dask scheduler answers at tcp://192.0.2.1:8786 (no host is there)" in result.output
    assert asked == ["tcp://192.0.2.1:8786"]


def test_a_worker_elsewhere_without_tls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distributed:
        class Client:
            def __init__(self, address: str, timeout: float) -> None: ...

            def scheduler_info(self, n_workers: int) -> dict[str, Any]:
                return {"workers": {"tcp://127.0.0.1:1": {}, "tcp://192.0.2.7:2": {}}}

            def close(self) -> None: ...

    monkeypatch.setitem(sys.modules, "distributed", Distributed)
    posts = [Post("host", DeviceConfig(kind="host"))]
    with (
        dask_workers.Cluster("localhost:8786") as cluster,
        pytest.raises(HalyardError, match=r"the Dask worker tcp://192.0.2.7:2 is on another mach"),
    ):
        list(cluster.device_workers(posts, [""]))
    with dask_workers.Cluster("localhost:8786", plain=True) as cluster:
        assert len(list(cluster.device_workers(posts, [""]))) == 1


def test_tls_without_certificates_is_an_error_and_no_traceback(
    invoke: Invoke, goldens: Path
) -> None:
    pytest.importorskip("distributed")
    result = invoke("--goldens", goldens, "--hal", "1.3", "--dask", "tls://127.0.0.1:1")
    assert result.exit_code == 1
    assert "no Dask scheduler answers at tls://127.0.0.1:1" in result.output


def test_without_the_package_dask_says_what_to_install(
    invoke: Invoke, goldens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = invoke("--goldens", goldens, "--hal", "1.3", "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 1
    assert "pip install 'halyard[cluster]'" in result.output
