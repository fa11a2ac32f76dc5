# SPDX-License-Identifier: Apache-2.0
"""Files that let LiteRT compute in half precision."""

import numpy as np
import pytest

from halyard import tflite
from halyard.benchmark_model import BenchmarkModel
from halyard.engines.litert import LiteRt
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import DataType

MODEL = BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.25)


def test_the_metadata_say_so_and_the_model_is_the_same() -> None:
    with Workload.of_model(MODEL) as work:
        content = work.tflite().read_bytes()
        half = work.file("half.tflite", lambda: tflite.in_half_precision(content))
        model = tflite.read(half.read_bytes())
        [entry] = model.metadata
        assert entry.name == b"reduced_precision_support"
        assert bytes(model.buffers[entry.buffer].data) == b"fp16accfp16"
        # In the reference's kernels, which know of no half precision.
        outputs = []
        for path in (work.tflite(), half):
            loaded = LiteRt().otherwise().load(path)
            loaded.bind([array.tobytes() for array in work.inputs])
            outputs.append(loaded.run())
    for exact, other in zip(*outputs, strict=True):
        np.testing.assert_array_equal(exact, other)


def test_refuses_a_file_that_is_no_tflite_file() -> None:
    with pytest.raises(HalyardError, match=r"this is no \.tflite file"):
        tflite.in_half_precision(b"something else")
