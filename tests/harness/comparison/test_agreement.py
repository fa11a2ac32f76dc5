# SPDX-License-Identifier: Apache-2.0
"""The driver's results of the zoo's models, against numpy and LiteRT on the very same weights."""

import numpy as np
import pytest

from halyard import reference, zoo
from halyard.comparison.difference import Difference, allowed_error, compare
from halyard.devices.host import HostDevice
from halyard.engines import litert
from halyard.engines.litert import LiteRt
from halyard.errors import ProgramMissing
from halyard.model import Array, DataType, RunnableModel, half
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from halyard.zoo import ZooModel
from tests.harness.on_engine import outputs_of

SEEDS = range(3)

ALL = [(name, data_type) for name in zoo.NAMES for data_type in zoo.data_types(name)]
FLOAT32 = [name for name, data_type in ALL if data_type is DataType.FLOAT32]

# As small as each network still makes sense; 64 for others.
SIZES = {
    "deeplab_v3_mobilenet_v2": 33,
    "lstm_speech": 12,
    "qlstm_speech": 8,
    "transformer_encoder": 16,
}

# Its layer norms are floats between 8-bit operations: a sum in another order decides now and then
# which of two bytes is next, and the layers after it spread that step. Its 8-bit operations alone
# give LiteRT's bytes: test_operation_agreement.py.
FLOATS_BETWEEN = ("transformer_encoder",)
STEPS_BETWEEN = 8
# Float sums, added in another order: of the largest value, or of 1.
FLOAT_SHARE = 2e-5

Results = dict[tuple[str, DataType], tuple[ZooModel, pb.CaseResult]]


@pytest.fixture(scope="module")
def results() -> Results:
    """Every model of the zoo in every data type, as the driver runs it in the runner's process."""
    try:
        native.program(native.RUNNER)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    models = [
        zoo.build(name, data_type, size=SIZES.get(name, 64), width=0.35) for name, data_type in ALL
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


@pytest.mark.parametrize(("name", "data_type"), ALL)
def test_the_driver_claims_and_runs_every_operation(
    results: Results, name: str, data_type: DataType
) -> None:
    model, result = results[name, data_type]
    assert result.failed_stage == pb.STAGE_NONE, result.message
    assert list(result.supported_operations) == [True] * len(model.model.main.operations)
    assert len(result.examples) == len(SEEDS)


@pytest.mark.parametrize("name", FLOAT32)
def test_float_results_are_those_of_numpy(results: Results, name: str) -> None:
    model, result = results[name, DataType.FLOAT32]
    for seed, example in zip(SEEDS, result.examples, strict=True):
        values = reference.trace(model.model, model.input_arrays(seed))
        for info, index, actual in zip(
            model.outputs,
            model.model.main.output_indexes,
            model.output_arrays(example),
            strict=True,
        ):
            difference = compare(info, values[index], actual)
            allowed = FLOAT_SHARE * max(1.0, difference.largest)
            assert difference.max_abs_error < allowed, difference.text()


def expected_outputs(model: RunnableModel, seed: int) -> list[Array]:
    """LiteRT's; of a float16 model those of the same numbers in float32."""
    inputs = model.input_arrays(seed)
    if inputs[0].dtype != np.float16:
        return outputs_of(LiteRt(), model.model, inputs)
    floats = [values.astype(np.float32) for values in inputs]
    outputs = outputs_of(LiteRt(), half.widen(model.model), floats)
    return [values.astype(info.dtype) for info, values in zip(model.outputs, outputs, strict=True)]


@pytest.mark.skipif(not litert.available(), reason="LiteRT (ai-edge-litert) is not installed")
@pytest.mark.parametrize(("name", "data_type"), ALL)
def test_results_are_those_of_litert(results: Results, name: str, data_type: DataType) -> None:
    """Quantised results bit for bit: CpuRef rounds as LiteRT does."""
    model, result = results[name, data_type]
    for seed, example in zip(SEEDS, result.examples, strict=True):
        wanted = expected_outputs(model, seed)
        found = model.output_arrays(example)
        differences = {
            info.name: compare(info, expected, actual)
            for info, expected, actual in zip(model.outputs, wanted, found, strict=True)
        }
        # The compared outputs are not mostly zeros.
        assert any(each.nonzero > 0.9 * each.count for each in differences.values())
        for info in model.outputs:
            difference = differences[info.name]
            if info.quantized:
                allowed_steps = STEPS_BETWEEN if name in FLOATS_BETWEEN else 0
                assert difference.max_steps is not None
                assert difference.max_steps <= allowed_steps, difference.text()
            elif info.name.startswith("detection") and not same_scores(differences):
                # Other boxes may come first where scores are next to each other.
                continue
            else:
                operations = len(model.model.main.operations)
                allowed = FLOAT_SHARE * max(1.0, difference.largest)
                if data_type is DataType.FLOAT16:
                    allowed = allowed_error(difference, operations)
                assert difference.max_abs_error < allowed, difference.text()


def same_scores(differences: dict[str, Difference]) -> bool:
    scores = differences["scores"]
    return scores.max_abs_error < 1e-5 or scores.max_steps == 0
