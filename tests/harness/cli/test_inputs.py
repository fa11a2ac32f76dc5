# SPDX-License-Identifier: Apache-2.0
"""Commands that are given a model's inputs, and that write its outputs."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto
from PIL import Image

from halyard.cli.program import cli
from tests.harness.on_parts import original
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)))


@pytest.fixture
def embedding(tmp_path: Path) -> Path:
    """INT64 and truth values come in, INT64 goes out; an operator in the middle is the host's."""
    g = Graph()
    ids, mask = g.input("ids", (1, 4), TensorProto.INT64), g.input("mask", (1, 4), TensorProto.BOOL)
    rows = g.op("Gather", g.weights(10, 3), ids)
    kept = g.op("Where", g.op("Unsqueeze", mask, g.ints(2)), rows, g.constant([[[0.0]]]))
    path = tmp_path / "embedding.onnx"
    model = g.model(g.op("Relu", kept), g.op("Add", ids, g.ints(1)))
    path.write_bytes(model.SerializeToString())
    return path


IDS = np.array([[9, 0, 3, 7]])
MASK = np.array([[True, True, False, True]])


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    np.savez(tmp_path / "inputs.npz", ids=IDS, mask=MASK)
    return ["--input", str(tmp_path / "inputs.npz")]


def test_run_computes_from_files_and_writes_what_came_out(
    embedding: Path, words: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = invoke(
        "run", embedding, "--device", "host", "--repeat", 1, *words, "--output", out,
        "--json", tmp_path / "run.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    expected = original(embedding, [IDS, MASK])
    with np.load(out / "outputs.npz", allow_pickle=False) as found:
        assert found.files == ["Relu_7", "Add_9"]
        np.testing.assert_array_equal(found["Relu_7"], expected[0])
        assert found["Add_9"].dtype == np.int64
        np.testing.assert_array_equal(found["Add_9"], expected[1])
    with np.load(out / "inputs.npz", allow_pickle=False) as given:
        np.testing.assert_array_equal(given["ids"], IDS)
        assert given["mask"].dtype == np.bool_
    assert json.loads((tmp_path / "run.json").read_text())["model"]["inputs"] == words[1:]


def test_outputs_have_the_types_of_the_file(tmp_path: Path) -> None:
    """The device has INT32, where the file has INT64."""
    g = Graph()
    path = tmp_path / "model.onnx"
    best = g.op("ArgMax", g.input("x", (1, 7)), axis=1, keepdims=0)
    path.write_bytes(g.model(best).SerializeToString())
    np.save(tmp_path / "x.npy", np.array([[0, 3, 1, 9, 2, 0, 0]], np.float32))
    words = ["--input", tmp_path / "x.npy", "--output", tmp_path / "out", "--strict"]
    result = invoke("run", path, "--device", "host", "--repeat", 1, *words)
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "out/outputs.npz") as found:
        values = found[best]
    assert (values.dtype, values.tolist()) == (np.int64, [3])


def test_what_run_wrote_is_an_input_again(embedding: Path, tmp_path: Path) -> None:
    base = ["run", embedding, "--device", "host", "--repeat", 1]
    assert invoke(*base, "--seed", 5, "--output", tmp_path / "a").exit_code == 0
    again = invoke(*base, "--input", tmp_path / "a/inputs.npz", "--output", tmp_path / "b")
    assert again.exit_code == 0, again.output
    for name in ("inputs.npz", "outputs.npz"):
        with np.load(tmp_path / "a" / name) as one, np.load(tmp_path / "b" / name) as other:
            for each in one.files:
                np.testing.assert_array_equal(one[each], other[each])


def test_a_model_of_the_zoo_takes_an_image(tmp_path: Path) -> None:
    Image.new("RGB", (40, 50), (200, 10, 90)).save(tmp_path / "image.jpg")
    result = invoke(
        "run", "mobilenet_v2", "--size", 32, "--width", 0.1, "--device", "host", "--repeat", 1,
        "--input", tmp_path / "image.jpg", "--mean", "127.5", "--scale", "1/127.5",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "out/inputs.npz") as given:
        [values] = [given[name] for name in given.files]
    assert values.shape == (1, 32, 32, 3)
    # JPEG is off by a few.
    expected = (np.array([200, 10, 90]) - 127.5) / 127.5
    np.testing.assert_allclose(values.reshape(-1, 3).mean(0), expected, atol=0.03)


def test_bench_times_all_engines_on_the_files(tmp_path: Path) -> None:
    g = Graph()
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Relu", g.input("x", (1, 3, 4, 4)))).SerializeToString())
    values = np.arange(-20, 28, dtype=np.float32).reshape(1, 3, 4, 4)
    np.save(tmp_path / "x.npy", values)
    result = invoke(
        "bench", path, "--input", f"x={tmp_path / 'x.npy'}", "--peers", "onnxruntime",
        "--threads", 1, "--runs", 2, "--output", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    for engine in ("halyard", "onnxruntime"):
        with np.load(tmp_path / f"out/model.onnx-float32-1-{engine}.npz") as found:
            np.testing.assert_array_equal(found["Relu_1"], np.maximum(values, 0))


def test_compare_takes_inputs_of_parts_by_their_names(tmp_path: Path) -> None:
    result = invoke(
        "compare", "CpuRef", "CpuAcc", "--model", "mobilenet_v2", "--size", 32, "--width", 0.1,
        "--input", "nowhere.npy",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "--input nowhere.npy: there is no such file" in " ".join(result.output.split())


def test_numbers_that_are_none_are_refused(embedding: Path) -> None:
    for text in ("1,x", "1/0", "nan", ""):
        result = invoke("run", embedding, "--input", embedding, "--mean", text)
        assert result.exit_code == 2
        assert "these are no numbers with commas between" in " ".join(result.output.split())
