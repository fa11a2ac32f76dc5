# SPDX-License-Identifier: Apache-2.0
"""Models of the zoo as .tflite files that are read again: LiteRT and the driver agree on them."""

from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import conversion, tflite, zoo
from halyard.comparison.difference import allowed_steps, compare_all
from halyard.engines.halyard import HalyardProcess
from halyard.engines.litert import LiteRt
from halyard.engines.original import original_inputs, run_file
from halyard.engines.workload import Workload
from halyard.model import DataType, RunnableModel
from halyard.programs.driver_options import DriverOptions
from halyard.transport import hal_version
from tests.harness.agreement import disagreements

# Steps of a sequence are operations of their own, or rows.
_SIZES = {"qlstm_speech": 8, "lstm_speech": 12, "transformer_encoder": 12}
# Those that have the most operators that others have not.
_MODELS = [
    ("mobilenet_v3_large", DataType.QUANT8_SIGNED),
    ("ssd_mobilenet_v2", DataType.QUANT8),
    ("deeplab_v3_mobilenet_v2", DataType.FLOAT32),
    ("lstm_speech", DataType.FLOAT32),
    ("qlstm_speech", DataType.QUANT8_SIGNED),
    ("transformer_encoder", DataType.QUANT8_SIGNED),
]


@pytest.mark.parametrize(("name", "data_type"), _MODELS)
def test_a_model_that_is_written_and_read_is_the_same(
    name: str, data_type: DataType, tmp_path: Path
) -> None:
    model = zoo.build(name, data_type, size=_SIZES.get(name, 32), width=0.25)
    path = tmp_path / "model.tflite"
    path.write_bytes(tflite.write(model.model))
    found = conversion.convert(path)
    read = RunnableModel.of(found.whole.model)
    assert [info.name for info in read.inputs] == [info.name for info in model.inputs]
    assert hal_version.lowest_version(read.model) == hal_version.lowest_version(model.model)
    inputs = read.input_arrays(1)
    with Workload(read, inputs) as work, HalyardProcess(DriverOptions()).prepare(work) as ours:
        actual = ours.run()
    expected, _ = run_file(LiteRt(), path, original_inputs(found, inputs), 1, 0)
    differences = compare_all(read, expected, actual)
    operations = len(read.model.main.operations)
    assert disagreements(differences, operations, allowed_steps(read.model)) == []
