# SPDX-License-Identifier: Apache-2.0
"""Models that LiteRT compiles with Halyard's plugin, and runs with its dispatch library: the
engine's own results, and nothing copied, packed again or left behind."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

from ai_edge_litert.compiled_model import CompiledModel

import halyard.litert
from halyard import tflite, zoo
from halyard.errors import NotExpressible
from halyard.model import Array, DataType
from tests.harness import tflite_models
from tests.harness.tflite_file import GraphFile
from tests.litert.compiling import new_environment, run
from tests.litert.engine_library import EngineError, EngineLibrary
from tests.litert.interpreting import inputs_of, interpreter
from tests.litert.operator_files import CASES, Case, build
from tests.litert.runtime_library import ModelRefused, Runtime, RuntimeRefused

_SMALL = [tflite_models.conv_net, tflite_models.per_channel, tflite_models.half_weights]
_ZOO = [
    (name, kind)
    for name in zoo.NAMES
    for kind in zoo.data_types(name)
    if kind in (DataType.FLOAT32, DataType.QUANT8_SIGNED)
]


@pytest.fixture(scope="module")
def engine() -> EngineLibrary:
    return EngineLibrary()


@functools.cache
def _conv_net() -> bytes:
    """The same each time: its weights are not, where it is built again."""
    graph, outputs = tflite_models.conv_net()
    return graph.content(*outputs)


def _own(engine: EngineLibrary, content: bytes, inputs: Sequence[Array]) -> list[Array]:
    with engine.program(content) as program:
        return [np.array(each) for each in program.run(inputs, [])]


def _check(found: Sequence[Array], expected: Sequence[Array]) -> None:
    for left, right in zip(found, expected, strict=True):
        assert (left.shape, left.dtype) == (right.shape, right.dtype)
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("make", _SMALL)
def test_small_models_give_the_engine_s_own_results(
    make: Callable[[], tuple[GraphFile, list[int]]], engine: EngineLibrary
) -> None:
    graph, outputs = make()
    content = graph.content(*outputs)
    inputs = inputs_of(interpreter(content), 1)
    expected = _own(engine, content, inputs)
    with new_environment() as npu:
        found = npu.compile(content, whole=True)
        before = halyard.litert.counts()
        for _ in range(3):
            _check(run(found.model, inputs), expected)
    ran = halyard.litert.counts().since(before)
    assert (ran.runs, ran.copied_bytes) == (3, 0)


@pytest.mark.parametrize(("name", "kind"), _ZOO)
def test_the_zoo_s_models(name: str, kind: DataType, engine: EngineLibrary) -> None:
    sizes = {"qlstm_speech": 8, "lstm_speech": 12, "transformer_encoder": 12}
    model = zoo.build(name, kind, size=sizes.get(name, 32), width=0.35, classes=20)
    try:
        content = tflite.write(model.model)
    except NotExpressible as error:
        pytest.skip(f"no .tflite file: {error}")
    inputs = inputs_of(interpreter(content), 5)
    with new_environment() as npu:
        try:
            CompiledModel.from_buffer(content)
        except RuntimeError as error:
            pytest.skip(f"LiteRT does not load it for any processor: {error}")
        found = npu.compile(content)
        assert found.left is not None
        # What has variables, and what LiteRT has no functions to ask about.
        reasons = ("nothing gives it its elements", "LiteRT does not tell", "reads its result")
        assert all(any(each in left.reason for each in reasons) for left in found.left), found.left
        before = halyard.litert.counts()
        results = run(found.model, inputs)
        ran = halyard.litert.counts().since(before)
    assert (ran.runs, ran.copied_bytes) == (found.islands, 0)
    if not found.left:
        _check(results, _own(engine, content, inputs))


@pytest.mark.parametrize("case", [each for each in CASES if each.runs][::7], ids=str)
def test_operators_are_read_as_files_have_them(
    case: Case, engine: EngineLibrary, tmp_path: Path
) -> None:
    """Every seventh file of test_operators.py: what the importer reads of LiteRT is the file's."""
    file = build(case)
    report = tmp_path / "report.json"
    with Runtime() as runtime:
        try:
            program = engine.program(file.content)
            model = runtime.compile(file.content, f"threads=1,report={report}")
        except (EngineError, ModelRefused) as error:
            pytest.skip(f"the importer or LiteRT leaves it: {error}")
        with program, model:
            said = [json.loads(line) for line in report.read_text().splitlines()]
            if not sum(each["taken"] for each in said):
                assert all(left["reason"] for each in said for left in each["left"])
                return
            for feed, expected in zip(file.feeds, file.expected, strict=True):
                own = program.run(feed, [each.nbytes for each in expected])
                for left, right in zip(model.run(feed), own, strict=True):
                    assert left.tobytes() == right.tobytes()


def test_what_is_compiled_ahead_takes_no_plugin(tmp_path: Path, engine: EngineLibrary) -> None:
    source, target = tmp_path / "model.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(_conv_net())
    inputs = inputs_of(interpreter(_conv_net()), 2)
    with new_environment() as npu:
        npu.compile_ahead(source, target)
        for model in (target, target.read_bytes()):
            found = npu.compile(model)
            assert (found.islands, found.operators, found.left) == (1, 8, None)
            assert (found.loaded.packed_constants, found.loaded.compiled_when_loaded) == (0, 0)
            _check(run(found.model, inputs), _own(engine, _conv_net(), inputs))
    with (
        Runtime(plugins=tmp_path) as runtime,
        runtime.compile(target.read_bytes(), cpu=False) as host,
    ):
        _check(host.run(inputs), _own(engine, _conv_net(), inputs))


def test_nothing_is_written_ahead_where_nothing_is_taken(tmp_path: Path) -> None:
    graph = GraphFile()
    given, last = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("ATAN2", [given, given], [last])
    source, target = tmp_path / "model.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(graph.content(last))
    with new_environment() as npu:
        with pytest.raises(halyard.litert.NotAccelerated, match=r"\(ATAN2\)"):
            npu.compile_ahead(source, target)
        with pytest.raises(halyard.litert.NotAccelerated, match="z80"):
            npu.compile_ahead(source, target, processor="z80")
    assert not target.exists()


_PROCESSORS = [
    "host",
    "x86_64-sse4",
    "x86_64-avx2",
    "x86_64-avx512",
    "x86_64-avx512vnni",
    "x86_64-amx",
    "arm64-cortex-a53",
    "arm64-cortex-a76",
    "arm64-neoverse-v1",
]


@pytest.mark.parametrize("processor", _PROCESSORS)
def test_models_for_other_processors(
    processor: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Packed for it where this one can, or a graph, which the log says."""
    source, target = tmp_path / "model.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(_conv_net())
    inputs = inputs_of(interpreter(_conv_net()), 3)
    with new_environment() as npu:
        npu.compile_ahead(source, target, processor=processor)
        capfd.readouterr()
        found = npu.compile(target)
        said = capfd.readouterr().err
        results = run(found.model, inputs)
        expected = run(npu.compile(source).model, inputs)
    content = target.read_bytes()
    assert processor.encode() in content
    is_graph = found.loaded.compiled_when_loaded == 1
    assert is_graph == ("a model is compiled as it is loaded" in said)
    assert is_graph == (f"constants for {processor} can't be packed here".encode() in content)
    assert is_graph or found.loaded.packed_constants == 0
    if processor == "host":
        assert not is_graph
    for left, right in zip(results, expected, strict=True):
        assert np.allclose(left, right, rtol=1e-4, atol=1e-5)


def test_a_model_runs_with_other_threads_than_it_was_compiled_for(tmp_path: Path) -> None:
    source, target = tmp_path / "model.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(_conv_net())
    inputs = inputs_of(interpreter(_conv_net()), 3)
    with new_environment(threads=2) as npu:
        npu.compile_ahead(source, target)
    results = []
    for threads in (1, 2, 3):
        with new_environment(threads=threads) as npu:
            found = npu.compile(target)
            assert found.loaded.packed_constants == 0
            results.append(run(found.model, inputs))
    for each in results[1:]:
        for left, right in zip(results[0], each, strict=True):
            assert np.allclose(left, right, rtol=1e-5, atol=1e-6)


def test_the_cache_spares_the_compiler(tmp_path: Path, engine: EngineLibrary) -> None:
    """The second time LiteRT asks no plugin, and nothing is packed."""
    report = tmp_path / "report.json"
    cache = tmp_path / "cache"
    cache.mkdir()
    inputs = inputs_of(interpreter(_conv_net()), 4)
    expected = _own(engine, _conv_net(), inputs)
    for _ in range(2):
        before = halyard.litert.counts()
        with (
            Runtime(cache=cache) as runtime,
            runtime.compile(_conv_net(), f"threads=1,report={report}") as model,
        ):
            _check(model.run(inputs), expected)
        used = halyard.litert.counts().since(before)
        assert (used.contexts, used.runs, used.packed_constants) == (1, 1, 0)
        assert (used.live_contexts, used.compiled_when_loaded) == (0, 0)
        assert len(report.read_text().splitlines()) == 1, "the plugin was asked again"
    with (
        Runtime(cache=cache) as runtime,
        runtime.compile(_conv_net(), f"threads=1,fast_math=on,report={report}") as model,
    ):
        model.run(inputs)
    assert len(report.read_text().splitlines()) == 2, "other options are another program"


def test_a_damaged_cache_is_a_refusal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """LiteRT checks nothing of it. It has no graph to fall back to."""
    cache = tmp_path / "cache"
    cache.mkdir()
    with Runtime(cache=cache) as runtime:
        runtime.compile(_conv_net(), "threads=1").close()
        [file] = [each for each in cache.rglob("*") if each.is_file()]
        whole = file.read_bytes()
        begin = whole.find(b"HLYDNPU\n")
        assert begin > 0
        for place in (0, 8, 60, 64, 200, 700, len(whole) - begin - 1):
            damaged = bytearray(whole)
            damaged[begin + place] ^= 1
            file.write_bytes(damaged)
            with pytest.raises(RuntimeRefused):
                runtime.compile(_conv_net(), "threads=1")
        file.write_bytes(whole)
        runtime.compile(_conv_net(), "threads=1").close()
    said = capfd.readouterr().err
    for reason in ("is not Halyard's", "is of version", "more than is known", "checksum differs"):
        assert reason in said


def test_runs_are_asynchronous_with_events(engine: EngineLibrary) -> None:
    graph, outputs = tflite_models.conv_net()
    content = graph.content(*outputs)
    first, second = (inputs_of(interpreter(content), seed) for seed in (6, 7))
    with Runtime() as runtime, runtime.compile(content, "threads=1") as model:
        for inputs in (first, second):
            assert model.start(inputs)
            assert all(model.event(each) is not None for each in model.outputs)
            _check(model.read(), _own(engine, content, inputs))
        # Behind synchronous runs too, on the same buffers.
        _check(model.run(first), _own(engine, content, first))


def test_a_run_waits_for_the_events_of_its_inputs(engine: EngineLibrary) -> None:
    content = _conv_net()
    inputs = inputs_of(interpreter(content), 8)
    with Runtime() as runtime, runtime.compile(content, "threads=1") as model:
        before = halyard.litert.counts()
        ours = os.eventfd(0)
        try:
            model.write(inputs)
            model.wait_for_descriptor(0, os.dup(ours))
            assert model.start()
            assert not model.is_done(0.2)
            assert halyard.litert.counts().since(before).runs == 0
            os.eventfd_write(ours, 1)
            found = model.read()
        finally:
            os.close(ours)
        assert halyard.litert.counts().since(before).runs == 1
        _check(found, _own(engine, content, inputs))


def test_metrics_count_what_was_run_between(engine: EngineLibrary) -> None:
    content = _conv_net()
    inputs = inputs_of(interpreter(content), 9)
    with Runtime() as runtime, runtime.compile(content, "threads=1") as model:
        model.run(inputs)
        model.start_metrics()
        for _ in range(3):
            model.run(inputs)
        model.start(inputs)
        model.read()
        found = model.stop_metrics()
    assert found["halyard.runs"] == 4
    assert found["halyard.operators"] == 8
    assert found["halyard.nanoseconds"] > 0
    for nothing in ("failed_runs", "bytes_copied", "constants_packed", "compiled_when_loaded"):
        assert found[f"halyard.{nothing}"] == 0


def _identity_turned() -> tuple[bytes, Array]:
    graph = GraphFile()
    source, last = graph.input((2, 4)), graph.tensor((2, 4))
    weights = np.eye(4, dtype=np.float32)[::-1].copy()
    graph.add(
        "FULLY_CONNECTED", [source, graph.constant(weights), -1], [last], "FullyConnectedOptions"
    )
    return graph.content(last), weights


def test_inputs_of_other_shapes_are_refused_with_the_option_s_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    content, _ = _identity_turned()
    with Runtime() as runtime, runtime.compile(content, "threads=1") as model:
        model.resize(0, (3, 4), [(3, 4)])
        with pytest.raises(RuntimeRefused):
            model.run([np.ones((3, 4), np.float32)])
    assert "resizable=on has it take others" in capfd.readouterr().err


def test_resizable_models_are_compiled_for_each_shape() -> None:
    content, weights = _identity_turned()
    with Runtime() as runtime, runtime.compile(content, "threads=1,resizable=on") as model:
        for rows in (2, 3, 7, 1, 3, *range(1, 24), 2):
            model.resize(0, (rows, 4), [(rows, 4)])
            values = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            [found] = model.run([values])
            assert found.shape == (rows, 4)
            assert np.array_equal(found, values @ weights.T)


def test_extents_that_are_not_known_are_those_of_the_buffers() -> None:
    """As of models that are exported with any number of rows."""
    graph = GraphFile()
    source, last = graph.input((1, 4)), graph.tensor((1, 4))
    for tensor in (source, last):
        graph.tensors[tensor].shapeSignature = [-1, 4]
        graph.tensors[tensor].hasRank = True
    graph.add("ADD", [source, source], [last], "AddOptions")
    before = halyard.litert.counts()
    with Runtime() as runtime, runtime.compile(graph.content(last), "threads=1") as model:
        for rows in (1, 5, 1):
            model.resize(0, (rows, 4), [(rows, 4)])
            values = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            assert np.array_equal(model.run([values])[0], 2 * values)
    used = halyard.litert.counts().since(before)
    assert (used.compiled_when_loaded, used.runs) == (1, 3)


def test_constants_that_only_the_rest_reads_are_left_to_it() -> None:
    """Its kernels may want them as the file has them."""
    graph = GraphFile()
    source, doubled, wide = graph.input((1, 4)), graph.tensor((1, 4)), graph.tensor((1, 4))
    graph.add("ADD", [source, source], [doubled], "AddOptions")
    half = graph.constant(np.ones((1, 4), np.float16), "float16")
    graph.add("DEQUANTIZE", [half], [wide], "DequantizeOptions")
    last = graph.tensor((1, 4))
    graph.add("ATAN2", [doubled, wide], [last])
    content = graph.content(last)
    with new_environment() as npu:
        found = npu.compile(content)
        assert found.left is not None
        reasons = {each.operator: each.reason for each in found.left}
        assert "nothing that is taken reads its result" in reasons["operator 1 (DEQUANTIZE)"]
        values = np.array([[1, 2, 3, 4]], np.float32)
        assert np.allclose(run(found.model, [values])[0], np.arctan2(2 * values, 1))


def test_models_of_several_threads_run_beside_each_other(engine: EngineLibrary) -> None:
    content = _conv_net()
    failures: list[Any] = []

    def work(seed: int) -> None:
        try:
            inputs = inputs_of(interpreter(content), seed)
            expected = _own(engine, content, inputs)
            with runtime.compile(content, "threads=2") as model:
                for _ in range(20):
                    _check(model.run(inputs), expected)
        except (AssertionError, RuntimeRefused) as error:
            failures.append(error)
        else:
            failures.append(None)

    with Runtime() as runtime:
        # LiteRT creates one after the other; runs are beside each other.
        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert failures == [None] * 3
    assert halyard.litert.counts().live_contexts == 0


def test_axes_that_constants_follow_from_keep_their_extents(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The second part of a SPLIT_V is what the first leaves of the axis: of another one it is
    another."""
    graph = GraphFile()
    source = graph.input((2, 4))
    sizes, axis = (graph.constant(np.array(each), "int32") for each in ([2, -1], 1))
    parts = [graph.tensor((2, 2)) for _ in range(2)]
    graph.add("SPLIT_V", [source, sizes, axis], parts, "SplitVOptions", numSplits=2)
    last = graph.tensor((2, 1))
    keep = graph.constant(np.array([1]), "int32")
    graph.add("SUM", [parts[1], keep], [last], "ReducerOptions", keepDims=True)
    content = graph.content(last)
    before = halyard.litert.counts()
    with Runtime() as runtime, runtime.compile(content, "threads=1,resizable=on") as model:
        values = np.arange(8, dtype=np.float32).reshape(2, 4)
        assert np.array_equal(model.run([values])[0], values[:, 2:].sum(1, keepdims=True))
        assert halyard.litert.counts().since(before).runs == 1
        model.resize(0, (2, 6), [(2, 1)])
        with pytest.raises(RuntimeRefused):
            model.run([np.ones((2, 6), np.float32)])
    assert "from which no node or constant follows" in capfd.readouterr().err
