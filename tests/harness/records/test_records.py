# SPDX-License-Identifier: Apache-2.0
"""Documents that commands write: read again they are what they were."""

import importlib
import json
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import get_args, get_type_hints

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from halyard import records
from halyard.errors import HalyardError
from halyard.records import Document
from halyard.records.bench import Bench
from halyard.records.conformance import Case, Conformance
from halyard.records.run import Run
from halyard.timing.machine import Peak
from tests.harness import sample_results as sample

# Of every module in records/.
for _module in pkgutil.iter_modules(records.__path__):
    importlib.import_module(f"{records.__name__}.{_module.name}")
# Other tests have kinds of their own, which may be loaded in the same process.
DOCUMENTS = tuple(
    sorted(
        (kind for kind in Document.__subclasses__() if kind.__module__.startswith("halyard.")),
        key=lambda kind: kind.__name__,
    )
)

_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def values(kind: object) -> st.SearchStrategy[object]:
    """Any value that a field of the type may have."""
    origin, arguments = getattr(kind, "__origin__", None), get_args(kind)
    if kind is int:
        return st.integers(0, 2**63 - 1)
    if kind is float:
        return _NUMBERS
    if kind is str:
        return st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
    if origin is list:
        return st.lists(values(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if arguments and all(isinstance(each, str) for each in arguments):
        return st.sampled_from(arguments)
    if arguments:
        return st.one_of(*map(values, arguments))
    if kind is msgspec.UnsetType:
        return st.just(msgspec.UNSET)
    if isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or kind is Peak):
        hints = get_type_hints(kind)
        hints.pop("schema", None)
        return st.builds(kind, **{name: values(each) for name, each in hints.items()})
    return st.from_type(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", DOCUMENTS, ids=lambda kind: str(kind.__name__))
@hypothesis.settings(
    max_examples=25, deadline=None, suppress_health_check=[*hypothesis.HealthCheck]
)
@hypothesis.given(data=st.data())
def test_what_is_written_is_read(kind: type[Document], data: st.DataObject) -> None:
    document = data.draw(values(kind))
    assert isinstance(document, Document)
    assert records.decode(records.encode(document), kind) == [document]
    assert records.decode(records.encode([document, document]), kind) == [document] * 2


def small() -> Conformance:
    case = Case(
        name="a",
        spec="b",
        status="passed",
        stage="",
        message="",
        max_steps=None,
        max_error=records.error(float("inf")),
        compared=1,
        operations=["ADD"],
        types=[],
        hal="1.2",
        seconds=0.5,
    )
    counts = dict.fromkeys(("passed", "failed", "unsupported", "crashed", "xfailed", "xpassed"), 0)
    return Conformance(
        device="host",
        target="in-process",
        driver="",
        seconds=1.0,
        planned=1,
        left_out=0,
        ended_early="",
        unreadable=[],
        **counts,
        cases=[case],
    )


def test_the_version_stands_first() -> None:
    written = json.loads(records.encode(small()))
    assert next(iter(written)) == "schema"
    assert written["schema"] == records.record.SCHEMA == 2


def test_an_infinite_error_is_a_word() -> None:
    """JSON has no number for it, and other programs do not read Infinity."""

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    written = json.loads(records.encode(small()), parse_constant=refused)
    assert written["cases"][0]["max_error"] == "inf"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 3}, "this file is of schema 3, and this halyard reads schemas 1 to 2"),
        ({"schema": -1}, "this file is of schema -1"),
        ({"schema": None}, "this is no Conformance"),
        ({"passed": "many"}, "this is no Conformance: .*passed"),
        ({"cases": [{"name": "a"}]}, r"this is no Conformance: .*cases\[0\]"),
    ],
)
def test_another_version_and_another_content_are_refused(
    change: dict[str, object], message: str
) -> None:
    content = {**json.loads(records.encode(small())), **change}
    with pytest.raises(HalyardError, match=message):
        records.decode(json.dumps(content).encode(), Conformance)


def test_a_file_of_before_there_were_versions_is_refused() -> None:
    content = json.loads(records.encode(small()))
    del content["schema"]
    with pytest.raises(HalyardError, match="no schema that it names"):
        records.decode(json.dumps(content).encode(), Conformance)
    with pytest.raises(HalyardError, match="this is no Run"):
        records.decode(b"no JSON", Run)


def of_schema_1(document: Document, names: Mapping[str, str]) -> bytes:
    """As it was written before the fields had these names: their names of that time."""
    text = records.encode(document).decode()
    for now, before in {**names, "schema": "schema"}.items():
        assert f'"{now}":' in text, now
        text = text.replace(f'"{now}":', f'"{before}":')
    return text.replace('"schema": 2', '"schema": 1').encode()


def test_a_run_of_schema_1_is_read() -> None:
    # A device may have a property of any name.
    properties = {"piece": "a", "ro.b": "c"}
    device = msgspec.structs.replace(sample.run().device, properties=properties)
    run = msgspec.structs.replace(sample.run(), device=device, partitions=3)
    names = {
        "partition": "piece",
        "partitions": "pieces",
        "bytes_between_partitions": "bytes_between_pieces",
    }
    assert records.decode(of_schema_1(run, names), Run) == [run]


def test_a_benchmark_of_schema_1_is_read() -> None:
    [result] = sample.bench().results
    engine = msgspec.structs.replace(result.engines["halyard"], is_relaxed=True)
    result = msgspec.structs.replace(
        result, benchmark_model=sample.run().model, engines={"halyard": engine}
    )
    now = msgspec.structs.replace(sample.bench(), results=[result])
    before = of_schema_1(now, {"benchmark_model": "subject", "is_relaxed": "is_rough"})
    assert records.decode(before, Bench) == [now]
    assert records.decode(b"[" + before + b"," + records.encode(now) + b"]", Bench) == [now] * 2


def test_a_document_of_schema_1_is_refused_for_what_is_wrong_with_it() -> None:
    content = json.loads(of_schema_1(sample.run(), {"partitions": "pieces"}))
    del content["pieces"]
    with pytest.raises(HalyardError, match=r"this is no Run: .*`partitions`"):
        records.decode(json.dumps(content).encode(), Run)
    deep = b'{"schema": 1, "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(HalyardError, match=r"this is no Run: .*recursion"):
        records.decode(deep, Run)


def test_fields_that_programs_know_keep_their_names() -> None:
    """Listed keys are added to, and not changed."""
    listed = json.loads((Path(__file__).parents[1] / "record_keys.json").read_text())
    for kind in DOCUMENTS:
        names = {field.encode_name for field in msgspec.structs.fields(kind)}
        assert set(listed[kind.__name__]) <= names, kind.__name__
