# SPDX-License-Identifier: Apache-2.0
"""The file of results: what is added stays while others write, and other files are refused."""

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import pytest

from halyard.errors import ConfigError, HalyardError
from halyard.records import Document
from halyard.records.conformance import Share
from halyard.records.run import Model, Node, Run
from halyard.store import Origin, Store, check, schema
from tests.harness import sample_results as sample


class Odd(Document, frozen=True, kw_only=True):
    """A kind of which the store knows nothing."""

    device: str
    ok: bool
    anything: list[int]


class Profile(Document, frozen=True, kw_only=True):
    model: Model
    nodes: list[Node]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def added(path: Path, *documents: Document, device: str = "") -> None:
    with Store.open(path) as store:
        store.add(*documents, origin=Origin("run", device))


def rows(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    "document",
    [
        sample.run(),
        sample.bench(),
        sample.compare(),
        sample.conformance(),
        sample.vts(),
        sample.doctor(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_keeps_a_document_whole(path: Path, document: Document) -> None:
    added(path, document)
    [[kind, text]] = rows(path, "SELECT kind, json FROM documents")
    assert kind == type(document).__name__.lower()
    assert msgspec.json.decode(text, type=type(document)) == document


def test_keeps_a_kind_that_it_does_not_know(path: Path) -> None:
    added(path, Odd(device="S1", ok=False, anything=[1, 2]))
    [[kind, ok, text, name]] = rows(
        path,
        "SELECT kind, ok, json, name FROM documents JOIN devices ON device = devices.id",
    )
    assert (kind, ok, name) == ("odd", 0, "S1")
    assert json.loads(text)["anything"] == [1, 2]


def test_a_run_has_its_times_agreement_placement_and_nodes(path: Path) -> None:
    added(path, sample.run(median=2.5), device="vm")
    assert rows(path, "SELECT name, serial, emulated FROM devices") == [("vm", "S1", 1)]
    assert rows(path, "SELECT name, type, size FROM models") == [("mobilenet_v2", "quant8", 224)]
    assert rows(path, "SELECT engine, span, median, low, high, prepare FROM timings") == [
        ("halyard", "wall", 2.5, 2.375, 2.75, 30.0),
        ("litert", "wall", 5.0, 4.75, 5.5, None),
    ]
    assert rows(path, "SELECT reference, max_abs_error FROM agreements") == [
        ("LiteRT", float("inf"))
    ]
    [[label, refusals]] = rows(path, "SELECT label, refusals FROM placement")
    assert (label, json.loads(refusals)) == ("operation 0 (CONV_2D)", {"GpuAcc": "is not there"})
    assert rows(path, "SELECT label, median FROM nodes") == [("operation 0 (CONV_2D)", 1.5)]


def test_what_the_host_took_is_a_span(path: Path) -> None:
    host = sample.timings(1.0)
    bench = sample.bench()
    [result] = bench.results
    ours = msgspec.structs.replace(
        result.engines["halyard"], timings_ms=sample.timings(10.0), host_timings_ms=host
    )
    result = msgspec.structs.replace(result, engines={"halyard": ours})
    added(
        path,
        msgspec.structs.replace(sample.run(median=2.5), host_timings_ms=host),
        msgspec.structs.replace(bench, results=[result]),
    )
    assert rows(
        path,
        "SELECT document, engine, span, median, threads FROM timings "
        "WHERE engine = 'halyard' ORDER BY 1, 3",
    ) == [
        (1, "halyard", "host", 1.0, None),
        (1, "halyard", "wall", 2.5, None),
        (2, "halyard", "host", 1.0, 2),
        (2, "halyard", "wall", 10.0, 2),
    ]


def of_file(path: str, name: str = "main_graph") -> Run:
    return msgspec.structs.replace(sample.run(), model=Model(name=name, file=path, seed=0))


def test_a_model_of_a_file_is_named_as_the_file_is(path: Path) -> None:
    """The name inside a file is often the same in all."""
    added(path, of_file("here/one.onnx"), of_file("two.onnx"))
    assert rows(path, "SELECT name, file FROM models ORDER BY 1") == [
        ("one.onnx", "here/one.onnx"),
        ("two.onnx", "two.onnx"),
    ]


def test_the_peer_is_the_one_that_took_its_time(path: Path) -> None:
    for peer in ("ONNX Runtime", "LiteRT in float32"):
        added(path, msgspec.structs.replace(sample.run(), peer=peer))
    # As documents without that name told it.
    agreement = sample.run().agreement
    assert agreement is not None
    agreement = msgspec.structs.replace(agreement, with_="ONNX Runtime")
    added(path, msgspec.structs.replace(sample.run(), agreement=agreement))
    assert rows(path, "SELECT engine FROM timings WHERE median = 5.0 ORDER BY document") == [
        ("onnxruntime",),
        ("litert",),
        ("onnxruntime",),
    ]


def test_a_run_has_the_memory_and_the_state_of_the_device(path: Path) -> None:
    added(path, msgspec.structs.replace(sample.run(), conditions=sample.conditions()))
    assert rows(
        path,
        "SELECT engine, peak_memory, temperature, throttling, governor, mhz, cpus, load, power "
        "FROM conditions",
    ) == [
        (
            "halyard",
            2**25,
            41.5,
            "light",
            "schedutil+performance",
            2800.0,
            "4-7",
            0.5,
            "Battery discharging 80 %",
        )
    ]
    added(path, sample.bench())
    assert rows(path, "SELECT engine, threads, peak_memory FROM conditions WHERE document = 2") == [
        ("halyard", 2, 2**26),
        ("litert", 2, 2**26),
    ]


def test_two_that_took_turns_have_a_row_each_and_the_verdict_with_b(path: Path) -> None:
    added(path, sample.pair(ratio=1.5), device="vm")
    assert rows(
        path,
        "SELECT side, words, name, median, ratio, ratio_low, p, significant, peak_memory, "
        "temperature FROM pairs "
        "JOIN devices ON devices.id = device ORDER BY side",
    ) == [
        ("A", "backends=CpuAcc", "vm", 10.0, None, None, None, None, 2**26, 41.5),
        ("B", "backends=CpuRef device=phone.yaml", "phone", 15.0, 1.5, 1.4, 0.001, 1, 2**26, 41.5),
    ]
    assert rows(path, "SELECT * FROM timings") == [], "they are no times of one variant"


def test_a_benchmark_has_every_engines_times(path: Path) -> None:
    added(path, sample.bench())
    assert rows(path, "SELECT engine, threads, p25, median, p75 FROM timings ORDER BY engine") == [
        ("halyard", 2, 9.0, 10.0, 11.0),
        ("litert", 2, 19.0, 20.0, 21.0),
    ]
    assert rows(path, "SELECT name FROM devices") == [("host",)]


def test_a_comparison_has_its_agreement(path: Path) -> None:
    added(path, sample.compare())
    assert rows(path, "SELECT engine, reference, output, max_abs_error FROM agreements") == [
        ("CpuAcc", "CpuRef", "probabilities", 0.5)
    ]


def test_a_profile_of_any_kind_has_its_nodes(path: Path) -> None:
    added(path, Profile(model=Model(name="m", seed=0), nodes=[sample.node("operation 7 (ADD)")]))
    assert rows(path, "SELECT name, label FROM nodes JOIN models ON models.id = model") == [
        ("m", "operation 7 (ADD)")
    ]


def test_the_doctor_does_not_say_what_a_serial_is(path: Path) -> None:
    added(path, sample.run(device="S1"), device="vm")
    added(path, sample.doctor(device="vm"), device="vm")
    assert rows(path, "SELECT name, serial FROM devices") == [("vm", "S1")]
    added(path, sample.doctor(device="other"))
    assert rows(path, "SELECT name FROM devices ORDER BY 1") == [("other",), ("vm",)]


def test_what_ran_on_one_of_several_devices_leaves_its_serial(path: Path) -> None:
    added(path, sample.run(device="127.0.0.1:4001"), device="vm:1")
    share = Share(
        device="vm:1",
        serial="127.0.0.1:4002",
        target="",
        driver="",
        cases=1,
        busy=1.0,
        lost="",
        turns=[],
    )
    one = msgspec.structs.replace(sample.conformance(device="vm:1"), shares=[share])
    added(path, one, device="vm:1")
    assert rows(path, "SELECT name, serial FROM devices") == [("vm:1", "127.0.0.1:4002")]


def test_conformance_and_vts_have_their_cases(path: Path) -> None:
    added(path, sample.conformance(failed=2), sample.vts())
    assert rows(path, "SELECT status, count(*) FROM cases GROUP BY 1 ORDER BY 1") == [
        ("failed", 3),
        ("passed", 2),
    ]
    assert rows(path, "SELECT kind, ok FROM documents ORDER BY 1") == [
        ("conformance", 0),
        ("vts", 0),
    ]


def test_a_device_is_known_again_by_the_name_that_the_user_gives_it(path: Path) -> None:
    for serial in ("127.0.0.1:4001", "127.0.0.1:4002"):
        added(path, sample.conformance(device=serial), device="vm")
    assert rows(path, "SELECT name, serial FROM devices") == [("vm", "127.0.0.1:4002")]
    assert rows(path, "SELECT count(DISTINCT device), count(*) FROM documents") == [(1, 2)]


def test_what_is_known_of_a_device_stays_when_less_is_said(path: Path) -> None:
    added(path, sample.run(), device="vm")
    added(path, sample.conformance(device="S1"), device="vm")
    [[emulated, properties]] = rows(path, "SELECT emulated, properties FROM devices")
    assert emulated == 1
    assert json.loads(properties) == {"ro.product.cpu.abi": "x86_64"}


def test_all_documents_of_a_command_are_kept_or_none(path: Path) -> None:
    added(path, sample.run())
    with pytest.raises(HalyardError, match="no UTF-8"):
        added(path, sample.run(), sample.run(message="\udcff"))
    assert rows(path, "SELECT count(*) FROM documents") == [(1,)]
    assert rows(path, "SELECT count(*) FROM sessions") == [(1,)]


def test_keeps_a_number_of_64_bits_that_a_device_says(path: Path) -> None:
    document = sample.run(max_steps=2**64 - 1)
    added(path, document)
    assert rows(path, "SELECT max_steps FROM agreements") == [(2**63 - 1,)]
    [[text]] = rows(path, "SELECT json FROM documents")
    assert msgspec.json.decode(text, type=Run) == document


# ---- several writers ----------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from halyard.store import Origin, Store
from tests.harness import sample_results as sample
for number in range(8):
    with Store.open(Path(sys.argv[1])) as store:
        store.add(sample.conformance(failed=50), origin=Origin("conformance", sys.argv[2]))
"""


def test_several_devices_write_at_once(path: Path) -> None:
    """And make the file at once, too."""

    def write(device: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WRITER, str(path), device]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=Path(__file__).parents[3]
        )

    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(write, ["a", "b", "c", "d"]))
    assert [(each.returncode, each.stderr) for each in ended] == [(0, "")] * 4
    assert rows(path, "SELECT count(*) FROM documents") == [(32,)]
    assert rows(path, "SELECT count(*) FROM cases WHERE status = 'failed'") == [(1600,)]
    assert rows(path, "SELECT count(*) FROM devices") == [(4,)]


def test_several_make_the_file_at_once(tmp_path: Path) -> None:
    """One that looked before another one wrote waits for it, too."""
    together = Barrier(4)

    def make(path: Path) -> None:
        together.wait()
        Store.open(path).close()

    with ThreadPoolExecutor(4) as pool:
        for number in range(25):
            path = tmp_path / f"{number}.db"
            for each in [pool.submit(make, path) for _ in range(4)]:
                each.result()


def test_is_one_file_once_it_is_written(path: Path) -> None:
    added(path, sample.run())
    assert [each.name for each in path.parent.iterdir()] == [path.name]


# ---- other files --------------------------------------------------------------------------------


def test_refuses_a_file_that_is_not_of_sqlite(path: Path) -> None:
    path.write_text('{"schema": 1}' * 100)
    with pytest.raises(HalyardError, match=r"results\.db: this is no SQLite file"):
        check(path)
    with pytest.raises(HalyardError, match="this is no SQLite file"):
        added(path, sample.run())
    assert path.read_text() == '{"schema": 1}' * 100


def test_refuses_an_sqlite_file_of_something_else(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    for use in (check, lambda path: Store.open(path, read_only=True)):
        with pytest.raises(HalyardError, match="holds something else than results"):
            use(path)
    assert path.read_bytes() == before


def made_by_version_2(path: Path, *documents: Document) -> None:
    """With documents of the schema of that time, in which `partition` was `piece`."""
    added(path, *documents)
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "ALTER TABLE placement RENAME COLUMN partition TO piece; PRAGMA user_version = 2;"
            "UPDATE documents SET json = replace(replace(replace(json, 'partition', 'piece'), "
            "'benchmark_model', 'subject'), '\"schema\":2', '\"schema\":1')"
        )


def made_by_version_1(path: Path, *documents: Document) -> None:
    made_by_version_2(path, *documents)
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "DROP TABLE conditions; DROP TABLE pairs; PRAGMA user_version = 1;"
            "UPDATE documents SET json = '{' WHERE id = 3"
        )


def test_an_earlier_file_gets_what_its_documents_say(path: Path) -> None:
    made_by_version_1(
        path, sample.run(), sample.pair(), sample.bench(), Odd(device="S1", ok=True, anything=[])
    )
    before = path.read_bytes()
    with Store.open(path, read_only=True) as store:
        [[memory]] = store.connection.execute("SELECT peak_memory FROM conditions")
        assert memory == 2**25
    assert path.read_bytes() == before, "who only reads it leaves it as it is"
    added(path, sample.run())
    assert rows(path, "SELECT document, peak_memory FROM conditions") == [(1, 2**25), (5, 2**25)]
    assert rows(path, "SELECT document, side FROM pairs") == [(2, "A"), (2, "B")]
    assert rows(path, "PRAGMA user_version") == [(schema.VERSION,)]
    check(path)


def test_pieces_of_an_earlier_file_are_partitions(path: Path) -> None:
    placed = msgspec.structs.replace(sample.run().placement[0], partition=7)
    made_by_version_2(path, msgspec.structs.replace(sample.run(), placement=[placed]))
    before = path.read_bytes()
    with Store.open(path, read_only=True) as store:
        assert store.connection.execute("SELECT partition FROM placement").fetchall() == [(7,)]
    assert path.read_bytes() == before
    added(path, sample.run())
    assert rows(path, "SELECT document, partition FROM placement WHERE document = 1") == [(1, 7)]
    assert rows(path, "PRAGMA user_version") == [(schema.VERSION,)]
    check(path)


def test_refuses_another_version_of_the_tables(path: Path) -> None:
    added(path, sample.run())
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(HalyardError, match="version 4, and this halyard has version 3"):
        added(path, sample.run())


def test_refuses_a_damaged_file(path: Path) -> None:
    added(path, *[sample.conformance(failed=100)] * 3)
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(HalyardError, match=r"results\.db: this file of results is damaged"):
        added(path, sample.run())


def test_refuses_a_folder_and_what_lies_in_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        check(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder"):
        check(tmp_path / "none" / "results.db")


def test_makes_no_file_to_read_from(path: Path) -> None:
    with pytest.raises(HalyardError, match="there is no such file"):
        Store.open(path, read_only=True)
    check(path)
    assert not path.exists()


def test_every_table_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "results.md").read_text()
    connection = sqlite3.connect(":memory:")
    connection.executescript(schema.TABLES)
    listed = "SELECT name FROM sqlite_master WHERE type = 'table'"
    for [table] in connection.execute(listed).fetchall():
        [_, _, rest] = text.partition(f"\n## `{table}`\n")
        section = rest.partition("\n## ")[0]
        for [column] in connection.execute(f"SELECT name FROM pragma_table_info('{table}')"):
            assert f"`{column}`" in section, f"{table}.{column}"
    assert f"version {schema.VERSION}" in text
