# SPDX-License-Identifier: Apache-2.0
"""PyTorch's NNAPI modules, run by PyTorch itself on libneuralnetworks.so: it computes what they
compute without it."""

import ctypes
import os

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import torch
from torch.backends._nnapi.prepare import convert_model_to_nnapi

from halyard.programs import native
from tests.nnapi.torch_modules import Case, cases

# PyTorch warns of its own ways.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    """Loaded once in the process, before PyTorch asks for it by its name."""
    path = native.folder() / "libneuralnetworks.so"
    if not path.exists():
        pytest.skip(f"there is no {path}: sanitizer and static builds have none")
    os.environ.pop("HALYARD_NNAPI_DEVICES", None)
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def laid_out(case: Case, tensor: torch.Tensor) -> torch.Tensor:
    is_nhwc = case.nhwc and tensor.dim() == 4
    if is_nhwc:
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    tensor.nnapi_nhwc = is_nhwc
    return tensor


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_computes_what_pytorch_computes(case: Case) -> None:
    module = case.module.eval()
    inputs = [laid_out(case, tensor) for tensor in case.inputs]
    examples = list(inputs)
    if case.flexible:
        shape = [0 if axis in case.flexible else n for axis, n in enumerate(inputs[0].shape)]
        examples[0] = torch.zeros(shape)
        examples[0].nnapi_nhwc = inputs[0].nnapi_nhwc
    with torch.no_grad():
        wanted = module(*inputs)
        converted = convert_model_to_nnapi(torch.jit.trace(module, inputs), examples)
        got = converted(*inputs)
        again = converted(*inputs)
    assert got.shape == wanted.shape
    assert torch.equal(got, again)
    if case.quantum:
        assert (got - wanted).abs().max().item() <= case.quanta * case.quantum * 1.001
    else:
        torch.testing.assert_close(got, wanted, atol=case.tolerance, rtol=case.tolerance)
