# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch that its NNAPI serialiser takes, one for each kind of operation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Case:
    """A module and its example inputs.

    `flexible`: extents of input 0 that are 0 in the model, by their axes. `nhwc`: the inputs lie
    with channels innermost. `quanta`: how many steps, of `quantum` each, a result that was
    quantised may differ by.
    """

    name: str
    module: nn.Module
    inputs: tuple[Tensor, ...]
    flexible: tuple[int, ...] = ()
    nhwc: bool = False
    quanta: int = 0
    quantum: float = 0.0
    tolerance: float = field(default=1e-5)


class Function(nn.Module):
    """A module of one function."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs)


class Cat(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.cat([a, b], dim=1)


class Pointwise(nn.Module):
    """Of a tensor and a constant."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor], constant: Tensor) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("constant", constant)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.constant)


def _image(channels: int = 3, size: int = 8) -> Tensor:
    return torch.rand(1, channels, size, size) * 4 - 2


def _convolutions() -> list[Case]:
    image = _image()
    deep = _image(channels=4)
    cases = [
        Case("conv2d", nn.Conv2d(3, 5, 3), (image,)),
        Case("conv2d_padded", nn.Conv2d(3, 5, 3, padding=1), (image,)),
        Case("conv2d_strided", nn.Conv2d(3, 5, 3, stride=2), (image,)),
        Case("conv2d_without_bias", nn.Conv2d(3, 5, (1, 3), bias=False), (image,)),
        Case("conv2d_pointwise", nn.Conv2d(3, 7, 1), (image,)),
        Case("conv2d_depthwise", nn.Conv2d(4, 4, 3, groups=4), (deep,)),
        Case("conv2d_relu", nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()), (image,)),
        Case("conv2d_relu6", nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU6()), (image,)),
        Case("conv_transpose2d", nn.ConvTranspose2d(3, 4, 3), (image,), tolerance=2e-4),
        Case(
            "conv_transpose2d_strided",
            nn.ConvTranspose2d(3, 4, (3, 2), stride=2, padding=1),
            (image,),
            tolerance=2e-4,
        ),
    ]
    return cases + [
        Case(f"{case.name}_nhwc", case.module, case.inputs, nhwc=True, tolerance=case.tolerance)
        for case in cases
    ]


def _functions() -> list[Case]:
    values = torch.rand(2, 5) * 8 - 4
    image = _image()
    return [
        Case("relu", nn.ReLU(), (values,)),
        Case("relu6", nn.ReLU6(), (values,)),
        Case("hardtanh", nn.Hardtanh(), (values,)),
        Case("sigmoid", nn.Sigmoid(), (values,)),
        Case("prelu", nn.PReLU(), (image,)),
        Case("prelu_by_channel", nn.PReLU(num_parameters=3), (image,), nhwc=True),
        Case("softmax", nn.Softmax(dim=-1), (values,)),
        Case("log_softmax", nn.LogSoftmax(dim=-1), (values,), tolerance=1e-4),
        Case("add", Function(torch.add), (values, values + 1)),
        Case("sub", Function(torch.sub), (values, values * 2)),
        Case("mul", Function(torch.mul), (values, values + 1)),
        Case("div", Function(torch.div), (values, values.abs() + 1)),
        Case("add_broadcast", Function(torch.add), (values, torch.rand(1, 5))),
        Case("add_a_constant", Pointwise(torch.add, torch.rand(1, 5)), (values,)),
        Case("mul_a_constant", Pointwise(torch.mul, torch.rand(2, 5)), (values,)),
        Case("div_by_a_constant", Pointwise(torch.div, torch.rand(1, 5) + 1), (values,)),
    ]


def _shapes() -> list[Case]:
    image = _image()
    values = torch.rand(2, 3, 4)
    return [
        Case("reshape", Function(lambda x: x.reshape(2, 12)), (values,)),
        Case("flatten", nn.Flatten(), (image,)),
        Case("unsqueeze", Function(lambda x: x.unsqueeze(1)), (values,)),
        Case("cat", Cat(), (values, values + 1)),
        Case("cat_nhwc", Cat(), (image, image + 1), nhwc=True),
        Case("mean", Function(lambda x: x.mean([2, 3])), (image,)),
        Case("mean_nhwc", Function(lambda x: x.mean([2, 3], keepdim=True)), (image,), nhwc=True),
        Case("slice", Function(lambda x: x[:, 1:, :2]), (values,)),
        Case("upsample", nn.UpsamplingNearest2d(size=(16, 20)), (image,)),
        Case("upsample_nhwc", nn.UpsamplingNearest2d(size=(16, 20)), (image,), nhwc=True),
        Case("avg_pool2d", nn.AvgPool2d(2), (image,)),
        Case("max_pool2d", nn.MaxPool2d(2, stride=1), (image,)),
        Case("max_pool2d_padded", nn.MaxPool2d(3, padding=1), (image,)),
        Case("max_pool2d_nhwc", nn.MaxPool2d(2), (image,), nhwc=True),
        Case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((1, 1)), (image,)),
        Case("linear", nn.Linear(4, 6), (values[0],)),
    ]


def _flexible() -> list[Case]:
    image = _image()
    return [
        Case("flexible_relu", nn.ReLU(), (torch.rand(4, 5),), flexible=(0,)),
        Case("flexible_conv2d", nn.Conv2d(3, 5, 3, padding=1), (image,), flexible=(2, 3)),
        Case("flexible_batch", nn.Conv2d(3, 5, 3), (image,), flexible=(0,)),
        Case("flexible_sigmoid", nn.Sigmoid(), (image,), flexible=(1, 2)),
    ]


def _whole() -> list[Case]:
    """A small network, as people write them."""
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU6(),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.ReLU6(),
        nn.Conv2d(8, 16, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d((1, 1)),
        nn.Flatten(),
        nn.Linear(16, 10),
        nn.Softmax(dim=-1),
    )
    return [
        Case("network", layers, (_image(size=16),)),
        Case("network_nhwc", layers, (_image(size=16),), nhwc=True),
    ]


def _quantised() -> list[Case]:
    torch.backends.quantized.engine = "qnnpack"

    def quantised(module: nn.Module, shape: tuple[int, ...]) -> nn.Module:
        model = nn.Sequential(
            torch.ao.quantization.QuantStub(), module, torch.ao.quantization.DeQuantStub()
        ).eval()
        model.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
        prepared = torch.ao.quantization.prepare(model)
        for _ in range(4):
            prepared(torch.rand(shape) * 4 - 2)
        return torch.ao.quantization.convert(prepared)

    def case(name: str, module: nn.Module, quanta: int = 1) -> Case:
        made = quantised(module, (1, 3, 8, 8))
        # That of the last module which has one.
        scales = [float(each.scale) for each in made.modules() if hasattr(each, "scale")]
        return Case(name, made, (_image(),), nhwc=True, quanta=quanta, quantum=scales[-1])

    return [
        case("quantised_conv2d", nn.Conv2d(3, 5, 3)),
        case(
            "quantised_linear",
            nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3, 4)),
            quanta=2,
        ),
        case("quantised_relu", nn.ReLU()),
        case("quantised_max_pool", nn.MaxPool2d(2)),
        case("quantised_avg_pool", nn.AvgPool2d(2)),
        case(
            "quantised_network",
            nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 1), nn.MaxPool2d(2)),
            quanta=2,
        ),
    ]


def cases() -> list[Case]:
    """All of them, with weights and inputs that are the same each time."""
    torch.manual_seed(20)
    with warnings.catch_warnings():
        # PyTorch warns of its own ways.
        warnings.simplefilter("ignore")
        return _all()


def _all() -> list[Case]:
    return [
        *_convolutions(),
        *_functions(),
        *_shapes(),
        *_flexible(),
        *_whole(),
        *_quantised(),
    ]
