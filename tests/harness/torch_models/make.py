# SPDX-License-Identifier: Apache-2.0
"""Makes the models of this folder, and beside each what PyTorch computes of an input before the
model is converted. It takes PyTorch (they were made with torch 2.13.0), which the tests do not:

    python tests/harness/torch_models/make.py
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.backends._nnapi.prepare import convert_model_to_nnapi

FOLDER = Path(__file__).parent


class ConvNet(nn.Module):
    """An image's channels go to the back."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.linear = nn.Linear(4, 5)

    def forward(self, image: Any) -> Any:
        x = torch.relu(self.first(image))
        x = nn.functional.hardtanh(self.depthwise(x), 0.0, 6.0)
        x = nn.functional.max_pool2d(x, 2, 2)
        x = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return torch.softmax(self.linear(x), 1)


class QuantizedNet(nn.Module):
    """8 bits from its first operation on; its output is of 8 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.quantize = torch.ao.quantization.QuantStub()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.relu = nn.ReLU()
        self.second = nn.Conv2d(4, 4, 1)
        self.sum = torch.ao.nn.quantized.FloatFunctional()
        self.linear = nn.Linear(4, 5)

    def forward(self, image: Any) -> Any:
        x = self.relu(self.first(self.quantize(image)))
        x = self.sum.add(x, self.second(x))
        return self.linear(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class PointwiseNet(nn.Module):
    """Two inputs as they are, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.prelu = nn.PReLU(init=0.3)

    def forward(self, a: Any, b: Any) -> Any:
        x = torch.sigmoid(a) * b - a
        y = torch.cat([x, b * b], 1)
        return torch.log_softmax(y, 1), torch.relu(x + b)


def image(channels_last: bool = True) -> Any:
    values = torch.rand(1, 3, 16, 16) * 2 - 1
    if channels_last:
        values = values.contiguous(memory_format=torch.channels_last)
        # The attribute that tells PyTorch's serialiser.
        values.nnapi_nhwc = True
    return values


def quantized() -> nn.Module:
    torch.backends.quantized.engine = "qnnpack"
    net = QuantizedNet().eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    net = torch.ao.quantization.fuse_modules(net, [["first", "relu"]])
    net = torch.ao.quantization.prepare(net)
    for _ in range(8):
        net(image())
    return torch.ao.quantization.convert(net)


def save(name: str, net: nn.Module, inputs: list[Any], **options: Any) -> None:
    expected = net(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    traced = torch.jit.trace(net, inputs)
    convert_model_to_nnapi(traced, inputs, **options).save(str(FOLDER / f"{name}.pt"))
    arrays = {}
    for side, tensors in (("input", inputs), ("output", expected)):
        for number, tensor in enumerate(tensors):
            plain = tensor.detach()
            plain = plain.int_repr() if plain.is_quantized else plain
            # As NNAPI has them.
            nhwc = getattr(tensor, "nnapi_nhwc", False)
            plain = plain.permute(0, 2, 3, 1) if nhwc else plain
            arrays[f"{side}_{number}"] = np.ascontiguousarray(plain.numpy())
    np.savez_compressed(FOLDER / f"{name}.npz", **arrays)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    save("conv_net", ConvNet().eval(), [image()])
    save("quantized_net", quantized(), [image()])
    pair = [torch.rand(2, 6) * 2 - 1, torch.rand(2, 6) * 2 - 1]
    save("pointwise_net", PointwiseNet().eval(), pair, relax_f32_to_f16=True)


if __name__ == "__main__":
    main()
