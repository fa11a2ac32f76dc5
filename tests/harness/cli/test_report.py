# SPDX-License-Identifier: Apache-2.0
"""The command report: what it writes from which file, and what it refuses."""

import html.parser
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from halyard.cli import program
from halyard.html.conformance import CASES
from halyard.proto import halyard_pb2 as pb
from halyard.records import Document
from halyard.records.bench import OutputAgreement
from halyard.records.run import Model, Run
from halyard.records.sustained import Sustained, Window
from halyard.store import Origin, Store
from halyard.transport import hal_version
from tests.harness import sample_results as sample

Report = Callable[..., Result]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


@pytest.fixture
def report(path: Path) -> Report:
    return lambda *words: CliRunner().invoke(program.cli, ["report", str(path), *map(str, words)])


class Odd(Document, frozen=True, kw_only=True):
    """A kind that the report knows nothing of."""

    device: str
    ok: bool
    remark: str


def add(path: Path, *documents: Document, device: str = "vm") -> None:
    with Store.open(path) as store:
        store.add(*documents, origin=Origin("run", device))


def age(path: Path, *times: str) -> None:
    """When each document is to have been found out."""
    with sqlite3.connect(path) as connection:
        for number, at in enumerate(times, 1):
            connection.execute("UPDATE documents SET at = ? WHERE id = ?", [at, number])


class Tables(html.parser.HTMLParser):
    """The cells of all tables by their captions."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._text: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th", "caption"):
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "caption"):
            text = "".join(self._text or []).strip()
            self._text = None
            if tag == "caption":
                self.tables[text] = self._rows
            else:
                self._rows[-1].append(text)

    def column(self, caption: str, title: str) -> list[str]:
        head, *rows = self.tables[caption]
        return [row[head.index(title)] for row in rows]


def tables(path: Path) -> Tables:
    return Tables(path.with_suffix(".html").read_text())


TIMES = "Last times of each model"


def test_needs_no_other_file_and_no_network(path: Path, report: Report) -> None:
    add(path, sample.run(), sample.bench(), sample.conformance(failed=3), sample.vts())
    assert report().exit_code == 0
    text = path.with_suffix(".html").read_text()
    outside = re.findall(r"(?:https?:)?//[\w.]+", text)
    assert set(outside) <= {"//www.w3.org"}, "but for the names of XML's dialects"
    assert not re.findall(r"<(?:link|img|iframe|base)\b|\bsrc=|@import|url\((?!#)", text)


def test_the_same_results_give_the_same_bytes(path: Path, report: Report, tmp_path: Path) -> None:
    add(path, sample.run(), sample.bench(), sample.conformance(failed=3))
    add(path, sample.run(median=3.0))
    written = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        assert report("-o", folder / "page.html", "--png", folder).exit_code == 0
        written.append({each.name: each.read_bytes() for each in sorted(folder.iterdir())})
    assert written[0] == written[1]
    assert {"page.html", "peers.png", "history-1.png", "profile-1.png"} <= set(written[0])
    for name, content in written[0].items():
        assert name == "page.html" or content.startswith(b"\x89PNG")


def test_a_case_counts_as_it_last_ran(path: Path, report: Report) -> None:
    """On each device, whichever other cases a run left out."""
    failing = sample.conformance(passed=5, failed=2, name="add")
    mended = sample.conformance(passed=1, failed=0, name="mul")
    add(path, failing)
    add(path, mended)
    add(path, failing, device="phone")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE cases SET name = 'add_bad_0' WHERE name = 'mul_good_0'")
    assert report().exit_code == 0
    found = tables(path)
    caption = "What each case came to when it last ran"
    assert found.column(caption, "Device") == ["phone", "vm"]
    assert found.column(caption, "Cases") == ["7", "7"]
    assert found.column(caption, "failed") == ["2", "1"]
    assert found.column("Failed cases", "Case") == ["add_bad_0", "add_bad_1", "add_bad_1"]


def test_thousands_of_failed_cases_make_no_huge_page(path: Path, report: Report) -> None:
    add(path, sample.conformance(passed=5000, failed=4000, message="x" * 3000))
    assert report().exit_code == 0
    page = path.with_suffix(".html")
    assert page.stat().st_size < 3 * 2**20
    assert len(tables(path).tables["Failed cases"]) == 1 + CASES
    assert f"{4000 - CASES} more rows are left out here" in page.read_text()
    assert "add_good_" not in page.read_text()


def test_tells_what_got_slower(path: Path, report: Report) -> None:
    add(path, sample.run(model="same"), sample.run(model="slow"), sample.run(model="fast"))
    add(
        path,
        sample.run(model="same", median=2.6),
        sample.run(model="slow", median=3.0),
        sample.run(model="fast", median=1.0),
    )
    assert report().exit_code == 0
    found = tables(path)
    assert found.column("Slower than the time before", "Model") == ["slow quant8 224"]
    assert found.column("Slower than the time before", "Change") == ["+20 %"]
    changes = dict(zip(found.column(TIMES, "Model"), found.column(TIMES, "Change"), strict=True))
    assert changes["fast quant8 224"] == "-60 %"


def test_tells_what_the_host_took_of_a_model_in_parts(path: Path, report: Report) -> None:
    """Of the last run, and no column where no model has parts."""
    add(path, sample.run(model="parts", median=2.0), sample.run(model="whole"))
    assert report().exit_code == 0
    assert "On the host" not in tables(path).tables[TIMES][0]
    early, late = (
        msgspec.structs.replace(
            sample.run(model="parts", median=2.0), host_timings_ms=sample.timings(ms)
        )
        for ms in (1.0, 0.5)
    )
    add(path, early)
    add(path, late)
    assert report().exit_code == 0
    found = tables(path)
    shares = dict(
        zip(
            zip(found.column(TIMES, "Model"), found.column(TIMES, "Engine"), strict=True),
            found.column(TIMES, "On the host"),
            strict=True,
        )
    )
    assert shares.pop(("parts quant8 224", "halyard")) == "25 %"
    assert set(shares.values()) == {"\N{EN DASH}"}


RUNS = "Models as they last ran"


def test_models_of_files_are_told_apart_by_their_files(path: Path, report: Report) -> None:
    """Also in files of results that have what all of them call themselves."""
    for file in ("a/one.onnx", "b/two.onnx", "three.onnx"):
        model = Model(name="main_graph", file=file, seed=0)
        add(path, msgspec.structs.replace(sample.run(), model=model))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE models SET name = 'main_graph'")
    assert report().exit_code == 0
    assert sorted(tables(path).column(RUNS, "Model")) == ["one.onnx", "three.onnx", "two.onnx"]


def failed_early(hal: str = "1.3") -> Run:
    """Before anything was placed, as where the service lacks an operation."""
    return msgspec.structs.replace(
        sample.run(ok=False, message="ADD is not supported"),
        hal=hal,
        placement=[],
        agreement=None,
        timings_ms=None,
    )


def on_backend(backend: str, *, ok: bool = True) -> Run:
    [placed] = sample.run().placement
    placed = msgspec.structs.replace(placed, backend=backend)
    return msgspec.structs.replace(sample.run(ok=ok), placement=[placed])


@pytest.mark.parametrize("hal", ["1.3", hal_version.format(pb.HAL_VERSION_UNSPECIFIED)])
def test_a_failure_counts_until_the_model_runs_there_again(
    path: Path, report: Report, hal: str
) -> None:
    """Where no service was there, the version is not known."""
    add(path, on_backend("CpuAcc"), failed_early(hal))
    assert report().exit_code == 0
    assert tables(path).column(RUNS, "Result") == ["failed", "passed"]
    assert "1 failed" in path.with_suffix(".html").read_text()
    add(path, on_backend("CpuRef"))
    assert report().exit_code == 0
    assert tables(path).column(RUNS, "Result") == ["passed", "passed"]
    assert "none failed" in path.with_suffix(".html").read_text()


def test_a_failure_of_a_backend_stays_where_another_one_runs(path: Path, report: Report) -> None:
    add(path, on_backend("GpuAcc", ok=False), on_backend("CpuAcc"))
    assert report().exit_code == 0
    assert tables(path).column(RUNS, "Backends") == ["GpuAcc", "CpuAcc"]
    assert tables(path).column(RUNS, "Result") == ["failed", "passed"]


def test_every_two_sides_that_were_compared_are_shown(path: Path, report: Report) -> None:
    for b in ("CpuAcc", "litert", "litert"):
        add(path, sample.compare(b=b), device="")
    assert report().exit_code == 0
    assert tables(path).column("The same model on two sides", "B") == ["CpuAcc", "litert"]


def test_a_peers_time_is_of_this_machine(path: Path, report: Report) -> None:
    """Whatever device ours ran on."""
    add(path, msgspec.structs.replace(sample.run(), peer="ONNX Runtime"), device="phone")
    assert report().exit_code == 0
    found = tables(path)
    assert found.column(TIMES, "Engine") == ["onnxruntime", "halyard"]
    assert found.column(TIMES, "Device") == ["host", "phone"]
    assert found.column(TIMES, "Backends") == ["", "CpuAcc"]


def test_a_reference_is_not_compared_with_itself(path: Path, report: Report) -> None:
    bench = sample.bench()
    [result] = bench.results
    output = OutputAgreement(output="o", max_abs_error=0.0, max_steps=None, exact_share=1.0, nan=0)
    engines = {
        name: msgspec.structs.replace(result.engines["litert"], agreement=[output])
        for name in ("halyard", "litert", "onnxruntime")
    }
    result = msgspec.structs.replace(result, reference="ONNX Runtime", engines=engines)
    add(path, msgspec.structs.replace(bench, results=[result]))
    assert report().exit_code == 0
    found = tables(path)
    assert found.column("Outputs beside the reference's", "Engine") == ["halyard", "litert"]


def test_tells_what_a_device_was_like_and_what_memory_was_taken(path: Path, report: Report) -> None:
    add(path, msgspec.structs.replace(sample.run(), conditions=sample.conditions(30.0)))
    add(path, msgspec.structs.replace(sample.run(), conditions=sample.conditions(41.5)))
    add(path, sample.bench(), device="host")
    assert report().exit_code == 0
    found = tables(path)
    caption = "As models were last measured"
    assert found.column(caption, "Engine") == ["halyard", "litert", "halyard"]
    assert found.column(caption, "Peak MiB") == ["64.0", "64.0", "32.0"]
    assert found.column(caption, "Hottest °C")[-1] == "41.5"
    assert found.column(caption, "Throttling")[-1] == "light"
    assert found.column(caption, "Governor")[-1] == "schedutil+performance"
    assert found.column(caption, "Power")[-1] == "Battery discharging 80 %"


@pytest.mark.parametrize(
    ("ratio", "significant", "verdict"),
    [(1.5, True, "B is slower"), (0.5, True, "B is faster"), (1.02, False, "same")],
)
def test_shows_two_that_took_turns_with_the_verdict(
    path: Path, report: Report, ratio: float, *, significant: bool, verdict: str
) -> None:
    add(path, sample.pair(ratio=7.0))
    add(path, sample.pair(ratio=ratio, significant=significant))
    assert report().exit_code == 0
    found = tables(path)
    caption = "Two that took turns"
    assert found.column(caption, "With") == [
        "backends=CpuAcc",
        "backends=CpuRef device=phone.yaml",
    ]
    assert found.column(caption, "Device") == ["vm", "phone"]
    assert found.column(caption, "Verdict") == ["", verdict]
    assert found.column(caption, "Peak MiB") == ["64.0", "64.0"]
    assert found.column(caption, "Hottest °C") == ["41.5", "41.5"]
    assert found.column(caption, "B / A") == ["–", f"{ratio:.3f}"]


def from_host(
    monkeypatch: pytest.MonkeyPatch, machine: str, path: Path, **documents: Document
) -> None:
    """A command on that machine keeps its results, by the names of devices."""
    monkeypatch.setattr("halyard.store.store.platform.node", lambda: machine)
    for device, document in documents.items():
        add(path, document, device=device)


def test_several_files_make_one_page(
    path: Path, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what each machine calls its own told apart; a phone is the same everywhere."""
    phone = sample.conformance(device="0A1B2C3D", failed=1)
    from_host(monkeypatch, "lab1", path, host=sample.run(), pixel=phone)
    other = tmp_path / "other.db"
    mended = sample.conformance(device="0A1B2C3D", passed=3)
    from_host(
        monkeypatch, "lab2", other, host=sample.run(median=9.0), pixel=mended, vm=sample.bench()
    )
    contents = [each.read_bytes() for each in (path, other)]
    assert report(other).exit_code == 0
    found = tables(path)
    assert found.column("Devices and their drivers", "Device") == [
        "host at lab1",
        "host at lab2",
        "pixel",
        "vm at lab2",
    ]
    assert found.column("What each case came to when it last ran", "Cases") == ["4"]
    assert "Slower than the time before" not in found.tables, "they are two machines"
    assert set(found.column(TIMES, "Device")) == {"host at lab1", "host at lab2", "vm at lab2"}
    assert "5 results of" in path.with_suffix(".html").read_text()
    assert "results.db, other.db" in path.with_suffix(".html").read_text()
    assert report(other, "--device", "vm at lab2").exit_code == 0
    assert tables(path).column("Devices and their drivers", "Device") == ["vm at lab2"]
    assert [each.read_bytes() for each in (path, other)] == contents


def test_several_files_of_one_machine_have_its_devices_once(
    path: Path, report: Report, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    add(path, sample.run(median=2.0), device="vm")
    add(other, sample.run(median=9.0), device="vm")
    age(other, "2999-01-01T00:00:00+00:00")
    assert report(other).exit_code == 0
    assert tables(path).column("Devices and their drivers", "Device") == ["vm"]
    assert tables(path).column("Slower than the time before", "Change") == ["+350 %"]


def test_refuses_several_files_where_one_is_none(
    path: Path, report: Report, tmp_path: Path
) -> None:
    add(path, sample.run())
    assert "none.db: there is no such file" in report(tmp_path / "none.db").output
    result = report(tmp_path / "." / path.name)
    assert result.exit_code == 2
    assert "is there twice" in result.output
    other = tmp_path / "other.db"
    add(other, sample.run())
    with sqlite3.connect(other) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE timings SET model = 7")
    assert "other.db: a row of timings has no model" in report(other).output
    assert report(other, "-o", other).exit_code == 2


def test_claims_no_more_than_there_is(path: Path, report: Report) -> None:
    """Of a first time there is no slower, and what is skipped has not passed."""
    run = sample.run()
    add(path, msgspec.structs.replace(run, agreement=None))
    skipped = msgspec.structs.replace(sample.case("skipped"), status="unsupported")
    add(path, msgspec.structs.replace(sample.conformance(passed=2), cases=[skipped]))
    assert report().exit_code == 0
    text = path.with_suffix(".html").read_text()
    assert "nothing before to compare with" in text
    assert "0 of 1 compared with a reference" in text
    assert "0 of 1 cases passed" in text
    assert "none slower" not in text
    add(path, run)
    assert report().exit_code == 0
    text = path.with_suffix(".html").read_text()
    assert "none slower" in text
    assert "1 of 1 compared with a reference" in text


def test_what_may_be_chance_is_not_slower(path: Path, report: Report) -> None:
    """The medians' confidence intervals touch."""
    slow = sample.run(median=3.0)
    assert slow.timings_ms is not None
    unsure = msgspec.structs.replace(slow.timings_ms, median_interval=(2.6, 3.4))
    add(path, sample.run())
    add(path, msgspec.structs.replace(slow, timings_ms=unsure))
    assert report().exit_code == 0
    assert tables(path).column(TIMES, "Change")[0] == "+20 %"
    assert "Slower than the time before" not in tables(path).tables


def test_a_device_is_compared_with_none_but_itself(path: Path, report: Report) -> None:
    add(path, sample.run(median=2.0), device="phone")
    add(path, sample.run(median=9.0), device="vm")
    assert report().exit_code == 0
    assert "Slower than the time before" not in tables(path).tables


def test_shows_what_a_load_that_goes_on_does(path: Path, report: Report) -> None:
    bench = sample.bench()
    windows = [
        Window(
            begin_s=10.0 * number,
            seconds=10.0,
            runs=5,
            throughput_per_s=0.5,
            median_ms=2.0 + number,
            p90_ms=3.0,
            temperature_c=30.0 + number,
            mhz=[],
        )
        for number in range(3)
    ]
    load = Sustained(
        seconds=30.0,
        runs=15,
        throughput_per_s=0.5,
        slowdown=2.0,
        joules=None,
        joules_per_run=None,
        reason="",
        windows=windows,
        samples=[],
    )
    [result] = bench.results
    result = msgspec.structs.replace(result, sustained=load)
    add(path, msgspec.structs.replace(bench, results=[result]))
    add(path, msgspec.structs.replace(sample.run(), sustained=load), device="phone")
    assert report().exit_code == 0
    page = path.with_suffix(".html").read_text()
    for device in ("vm", "phone"):
        said = rf", {device}[^<>]* under load\. 2 ms at first, 4 ms in the end; 30 °C, then 32 °C"
        assert re.search(said, page), device


def test_shows_the_devices_and_the_time_that_are_asked_for(path: Path, report: Report) -> None:
    for device in ("vm", "phone", "other"):
        add(path, sample.run(), device=device)
    age(path, "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00")
    for words, expected in (
        ([], ["other", "phone", "vm"]),
        (["--device", "vm"], ["vm"]),
        (["--device", "vm", "--device", "phone"], ["phone", "vm"]),
        (["--since", "2026-02-01"], ["other", "phone"]),
        (["--since", "2026-02-01T01:00+01:00"], ["other", "phone"]),
        (["--since", "2026-02-01T00:00:01"], ["other"]),
        (["--since", "99999d"], ["other", "phone", "vm"]),
    ):
        result = report(*words)
        assert result.exit_code == 0, result.output
        assert tables(path).column("Devices and their drivers", "Device") == expected


def test_a_document_of_any_kind_is_shown(path: Path, report: Report) -> None:
    add(path, Odd(device="S1", ok=False, remark="<b>of another version</b>"))
    assert report().exit_code == 0
    assert tables(path).column("The last ones of each kind", "Kind") == ["odd"]
    assert "&lt;b&gt;of another version&lt;/b&gt;" in path.with_suffix(".html").read_text()


def test_makes_a_page_without_plots(
    path: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, sample.run())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = report()
    assert result.exit_code == 1
    assert "pip install 'halyard[report]'" in result.output
    assert "--no-plots" in result.output
    assert report("--no-plots").exit_code == 0
    assert "<svg" not in path.with_suffix(".html").read_text()
    assert report("--no-plots", "--png", path.parent).exit_code == 2


def test_a_device_without_a_processors_name_has_no_empty_place(path: Path, report: Report) -> None:
    run = sample.run()
    for number, properties in enumerate(({"ro.product.model": "Virtual device"}, {})):
        known = msgspec.structs.replace(run.device, properties=properties)
        add(path, msgspec.structs.replace(run, device=known), device=f"vm:{number}")
    assert report("--no-plots").exit_code == 0
    processors = tables(path).column("Devices and their drivers", "Processor")
    assert processors == ["Virtual device, emulated", "emulated"]


def test_refuses_what_it_can_not_report_of(path: Path, report: Report, tmp_path: Path) -> None:
    assert "there is no such file" in report().output
    path.write_bytes(b"")
    assert "it has no results" in report().output
    path.write_text("text\n" * 100)
    assert "this is no SQLite file" in report().output
    path.unlink()
    Store.open(path).close()
    assert "it has no results" in report().output
    add(path, sample.run())
    assert report("--since", "2999-01-01").exit_code == 1
    assert report("--device", "none").exit_code == 2
    assert "--device none: " in report("--device", "none").output
    assert report("--since", "yesterday").exit_code == 2
    assert report("-o", path).exit_code == 2
    assert report("-o", tmp_path / "none" / "page.html").exit_code == 2
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE cases",
        "DROP TABLE devices; CREATE TABLE devices (id, name, serial, emulated, properties);"
        "INSERT INTO devices VALUES (1, 'vm', x'00ff', 'yes', 7)",
        "DROP TABLE nodes; CREATE VIEW nodes AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM n) SELECT i AS document FROM n",
    ],
    ids=["none", "of other types", "without an end"],
)
def test_refuses_a_file_with_other_tables(path: Path, report: Report, change: str) -> None:
    """Somebody else's file may have the version, and anything in it."""
    add(path, sample.run())
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    result = report()
    assert result.exit_code == 1
    assert "its tables are not those of version 3" in result.output


def test_refuses_a_row_that_is_not_as_it_should_be(path: Path, report: Report) -> None:
    add(path, sample.run())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE devices SET name = CAST(x'ff41' AS TEXT)")
    result = report()
    assert result.exit_code == 1
    assert "this file of results can't be used" in result.output


def test_shows_a_document_that_can_not_be_read_without_what_it_says(
    path: Path, report: Report
) -> None:
    add(
        path,
        sample.run(ok=False),
        sample.conformance(failed=1),
        Odd(device="a", ok=True, remark=""),
    )
    with sqlite3.connect(path) as connection:
        connection.execute('UPDATE documents SET json = \'{"cases": 7, "problems": \'')
    assert report().exit_code == 0
    assert "this document can&#39;t be read" in path.with_suffix(".html").read_text()
    assert tables(path).column("Failed cases", "Case") == ["add_bad_0"]


def test_reads_a_file_that_it_may_not_write(path: Path, report: Report, tmp_path: Path) -> None:
    add(path, sample.run())
    before = path.read_bytes()
    path.chmod(0o400)
    assert report("-o", tmp_path / "page.html").exit_code == 0
    assert path.read_bytes() == before
