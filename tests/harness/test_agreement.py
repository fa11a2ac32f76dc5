# SPDX-License-Identifier: Apache-2.0
"""The driver's results of the zoo's models, against numpy and LiteRT on the very same weights."""

import numpy as np
import pytest

from halyard import litert, native, tflite, zoo
from halyard.compare import compare
from halyard.devices.host import HostDevice
from halyard.errors import ProgramMissing
from halyard.litert import LiteRt
from halyard.measurement import allowed_error
from halyard.model import Array
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target, run_cases
from halyard.zoo import DataType, RunnableModel, ZooModel, forward, half

SEEDS = range(3)

Results = dict[tuple[str, DataType], tuple[ZooModel, pb.CaseResult]]


@pytest.fixture(scope="module")
def results() -> Results:
    """Every model of the zoo in every data type, as the driver runs it in the runner's process."""
    try:
        native.program(native.RUNNER)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    models = [
        zoo.build(name, data_type, size=64, width=0.35)
        for name in zoo.NAMES
        for data_type in DataType
    ]
    cases = [
        pb.TestCase(
            name=f"{model.name} {model.data_type}",
            model=model.model,
            examples=[model.example(seed) for seed in SEEDS],
        )
        for model in models
    ]
    with HostDevice() as device:
        ran = run_cases(device, cases, pb.RunOptions(timeout_s=120), Target.in_process())
    return {
        (model.name, model.data_type): (model, result)
        for model, result in zip(models, ran, strict=True)
    }


@pytest.mark.parametrize("data_type", DataType)
@pytest.mark.parametrize("name", zoo.NAMES)
def test_the_driver_claims_and_runs_every_operation(
    results: Results, name: str, data_type: DataType
) -> None:
    model, result = results[name, data_type]
    assert result.failed_stage == pb.STAGE_NONE, result.message
    assert list(result.supported_operations) == [True] * len(model.model.main.operations)
    assert len(result.examples) == len(SEEDS)


@pytest.mark.parametrize("name", zoo.NAMES)
def test_float_results_are_those_of_numpy(results: Results, name: str) -> None:
    model, result = results[name, DataType.FLOAT32]
    output = model.model.main.output_indexes[0]
    for seed, example in zip(SEEDS, result.examples, strict=True):
        expected = forward.run(model.model, model.input_arrays(seed))[output]
        difference = compare(model.outputs[0], expected, model.output_arrays(example)[0])
        assert difference.max_abs_error < 5e-5, difference.text()


def expected_outputs(model: RunnableModel, seed: int) -> list[Array]:
    """LiteRT's; of a float16 model those of the same numbers in float32."""
    inputs = model.input_arrays(seed)
    if inputs[0].dtype != np.float16:
        return LiteRt(tflite.write(model.model)).run(inputs)
    runtime = LiteRt(tflite.write(half.widen(model.model)))
    outputs = runtime.run([values.astype(np.float32) for values in inputs])
    return [values.astype(np.float16) for values in outputs]


@pytest.mark.skipif(not litert.available(), reason="LiteRT (ai-edge-litert) is not installed")
@pytest.mark.parametrize("data_type", DataType)
@pytest.mark.parametrize("name", zoo.NAMES)
def test_results_are_those_of_litert(results: Results, name: str, data_type: DataType) -> None:
    """Quantised results bit for bit: CpuRef rescales and averages as XNNPACK does."""
    model, result = results[name, data_type]
    for seed, example in zip(SEEDS, result.examples, strict=True):
        wanted = expected_outputs(model, seed)
        for info, expected, actual in zip(
            model.outputs, wanted, model.output_arrays(example), strict=True
        ):
            difference = compare(info, expected, actual)
            # What is compared says something.
            assert difference.nonzero > (900 if info.name == "logits" else 40), difference.text()
            if info.quantized:
                assert difference.max_steps == 0, difference.text()
            else:
                operations = len(model.model.main.operations)
                allowed = (
                    5e-5 if data_type is DataType.FLOAT32 else allowed_error(difference, operations)
                )
                assert difference.max_abs_error < allowed, difference.text()
