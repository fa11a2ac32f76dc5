# SPDX-License-Identifier: Apache-2.0
"""Modules of what PyTorch serialises for NNAPI: one image whose channels lie last, or vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.random_torch.sketch import Draft, Draw, RandomNet

_MOST_STEPS = 4


def drawn(random: np.random.Generator) -> RandomNet:
    """ValueError where there is nothing in it."""
    draft = Draft(random)
    is_image = draft.chance(0.6)
    shape = (draft.integer(1, 2), draft.integer(2, 4), *draft.shape(2, 8))
    if not is_image:
        shape = draft.shape(2, 6)
    tensor = torch.from_numpy(random.normal(0, 1.2, shape).astype("f4"))
    draft.add_input(nhwc(tensor) if is_image else tensor)
    if draft.chance(0.2):
        # A second of the same shape.
        other = torch.from_numpy(random.normal(0, 1.2, shape).astype("f4"))
        draft.add_input(nhwc(other) if is_image else other)
    choices = _IMAGES if is_image else _VECTORS
    for _ in range(draft.integer(1, _MOST_STEPS)):
        try:
            draft.pick(choices)(draft)
        except ValueError:
            continue
    if is_image and draft.steps and draft.chance(0.4):
        _head(draft)
    return draft.finished()


def nhwc(tensor: Any) -> Any:
    """Tells PyTorch's serialiser of the layout."""
    laid = tensor.contiguous(memory_format=torch.channels_last)
    laid.nnapi_nhwc = True
    return laid


def _last(d: Draft) -> int:
    return len(d.values) - 1 if d.steps else d.integer(0, len(d.values) - 1)


def _conv(d: Draft) -> None:
    value = _last(d)
    channels = d.values[value].shape[1]
    group = d.pick((1, 1, channels))
    outputs = channels if group > 1 else d.integer(2, 4)
    kernel = (d.integer(1, 3), d.integer(1, 3))
    padding = (d.integer(0, kernel[0] - 1), d.integer(0, kernel[1] - 1))
    stride = d.pick((1, 1, 2, (2, 1)))
    layer = nn.Conv2d(channels, outputs, kernel, stride, padding, 1, group, d.chance(0.8))
    made = d.apply("conv", layer, value)
    if d.chance(0.4):
        d.apply("relu", torch.relu, made)


def _pool(d: Draft) -> None:
    kernel = d.integer(1, 3)
    stride, padding = d.integer(1, 2), d.integer(0, kernel // 2)
    if d.chance(0.5):
        d.apply("max_pool", lambda x: F.max_pool2d(x, kernel, stride, padding), _last(d))
    else:
        # NNAPI counts no padding.
        d.apply("avg_pool", lambda x: F.avg_pool2d(x, kernel, stride, 0), _last(d))


def _upsample(d: Draft) -> None:
    factor = d.integer(2, 3)
    if d.chance(0.5):
        d.apply("upsample", lambda x: F.interpolate(x, scale_factor=factor), _last(d))
    else:
        size = (d.integer(1, 9), d.integer(1, 9))
        d.apply("upsample", lambda x: F.interpolate(x, size=size), _last(d))


def _unary(d: Draft) -> None:
    ways = (
        torch.relu,
        torch.sigmoid,
        lambda x: F.hardtanh(x, -1.0, 1.0),
        lambda x: F.hardtanh(x, 0.0, 6.0),
    )
    d.apply("unary", d.pick(ways), _last(d))


def _binary(d: Draft) -> None:
    one = d.pick((torch.add, torch.sub, torch.mul))
    value = _last(d)
    d.apply("binary", one, value, d.alike(value))


def _division(d: Draft) -> None:
    value = _last(d)
    d.apply("div", lambda x, y: x / (torch.sigmoid(y) + torch.sigmoid(y)), value, d.alike(value))


def _prelu(d: Draft) -> None:
    value = _last(d)
    d.apply("prelu", nn.PReLU(d.pick((1, d.values[value].shape[1]))), value)


def _joined(d: Draft) -> None:
    value = _last(d)
    d.apply("cat", lambda x, y: torch.cat([x, y], 1), value, d.alike(value))


def _head(d: Draft) -> None:
    pooled = d.apply("mean", lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), _last(d))
    made = d.apply("linear", nn.Linear(d.values[pooled].shape[1], d.integer(2, 5)), pooled)
    if d.chance(0.5):
        d.apply("softmax", lambda x: torch.softmax(x, 1), made)


def _linear(d: Draft) -> None:
    value = _last(d)
    d.apply("linear", nn.Linear(d.values[value].shape[-1], d.integer(1, 5)), value)


def _along(d: Draft) -> None:
    one = d.pick((torch.softmax, torch.log_softmax))
    d.apply(one.__name__, lambda x: one(x, 1), _last(d))


def _part(d: Draft) -> None:
    value, axis = _last(d), d.integer(0, 1)
    extent = d.values[value].shape[axis]
    begin = d.integer(0, extent - 1)
    end = d.integer(begin + 1, extent)
    # The serialiser forgets the last element where a step does not go into the length.
    step = d.pick([each for each in (1, 2) if (end - begin) % each == 0])
    d.apply("slice", lambda x: x[begin:end:step] if axis == 0 else x[:, begin:end:step], value)


def _shape(d: Draft) -> None:
    value = _last(d)
    first, second = d.values[value].shape
    if d.chance(0.5):
        d.apply("reshape", lambda x: x.reshape(second, first), value)
    else:
        d.apply("unsqueeze", lambda x: x.unsqueeze(1).flatten(1), value)


_BOTH: tuple[Draw, ...] = (_unary, _unary, _binary, _binary, _division, _prelu, _joined)
_IMAGES: tuple[Draw, ...] = (*_BOTH, _conv, _conv, _conv, _conv, _pool, _pool, _upsample)
_VECTORS: tuple[Draw, ...] = (*_BOTH, _linear, _linear, _linear, _along, _part, _shape)


# ---- 8 bits -------------------------------------------------------------------------------------


class Quantized(nn.Module):
    """Convolutions and what is between, between the stubs of PyTorch's quantiser."""

    def __init__(self, d: Draft, channels: int) -> None:
        super().__init__()
        self.quantize = torch.ao.quantization.QuantStub()
        self.sum = torch.ao.nn.quantized.FloatFunctional()
        outputs = d.integer(2, 4)
        kernel = d.integer(1, 3)
        stride = d.integer(1, 2)
        self.first = nn.Conv2d(channels, outputs, kernel, stride, d.integer(0, kernel - 1))
        self.relu = nn.ReLU()
        group = d.pick((1, outputs))
        self.second = nn.Conv2d(outputs, outputs, 1, groups=group)
        self.linear = nn.Linear(outputs, d.integer(2, 5))
        self.adds, self.has_head = d.chance(0.5), d.chance(0.5)

    def forward(self, image: Any) -> Any:
        """The outputs of each layer."""
        values: list[Any] = []
        for _ in range(self.count):
            values.append(self.next(image, values))
        return tuple(values)

    @property
    def count(self) -> int:
        return 2 + self.adds + 2 * self.has_head

    def next(self, image: Any, values: Sequence[Any]) -> Any:
        at = len(values)
        if at == 0:
            return self.relu(self.first(self.quantize(image)))
        if at == 1:
            return self.second(values[0])
        if at == 2 and self.adds:
            return self.sum.add(values[0], values[1])
        if at == 2 + self.adds:
            return F.adaptive_avg_pool2d(values[-1], 1)
        return self.linear(values[-1].flatten(1))


def quantized(random: np.random.Generator) -> RandomNet:
    draft = Draft(random)
    shape = (draft.integer(1, 2), draft.integer(1, 4), *draft.shape(2, 8))
    image = nhwc(torch.from_numpy(random.normal(0, 1, shape).astype("f4")))
    torch.backends.quantized.engine = "qnnpack"
    net = Quantized(draft, shape[1]).eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    net = torch.ao.quantization.fuse_modules(net, [["first", "relu"]])
    net = torch.ao.quantization.prepare(net)
    try:
        for scale in (0.3, 1.0):
            net(image * scale)
        net = torch.ao.quantization.convert(net)
        net(image)
    except RuntimeError as error:
        # The image is smaller than a window, or QNNPACK has no sum of such scales.
        raise ValueError from error
    return RandomNet(net, (image,), ("quantized",), net.next)
