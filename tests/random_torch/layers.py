# SPDX-License-Identifier: Apache-2.0
"""Layers: convolutions, poolings, normalisations, GEMMs, resizing."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.random_torch.sketch import Draft, Held, draws

_RANKS = (3, 4, 4, 4, 5)


def _image(d: Draft) -> tuple[int, int, int]:
    """A value, its channels and the number of its other extents."""
    rank = d.pick(_RANKS)
    value = d.value(rank, rank)
    return value, d.values[value].shape[1], rank - 2


def _each(d: Draft, count: int, low: int, high: int) -> tuple[int, ...]:
    one = d.integer(low, high)
    return tuple(one if d.chance(0.5) else d.integer(low, high) for _ in range(count))


@draws(5)
def convolution(d: Draft) -> None:
    value, channels, count = _image(d)
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[count - 1]
    group = d.pick([each for each in range(1, channels + 1) if channels % each == 0])
    outputs = group * d.integer(1, 3)
    kernel, stride = _each(d, count, 1, 3), _each(d, count, 1, 2)
    padding: Any = tuple(d.integer(0, (span - 1)) for span in kernel)
    if d.chance(0.15) and set(stride) == {1}:
        padding = d.pick(("same", "valid"))
    mode = d.pick(("zeros", "zeros", "zeros", "zeros", "reflect", "replicate", "circular"))
    dilation = _each(d, count, 1, 2) if d.chance(0.3) else 1
    layer = kind(
        channels, outputs, kernel, stride, padding, dilation, group, d.chance(0.7), mode
    )  # fmt: skip
    made = d.apply("conv", layer, value)
    if d.chance(0.3):
        norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[count - 1](outputs)
        made = d.apply("batch_norm", _measured(d, norm), made)
    if d.chance(0.3):
        d.apply("relu", d.pick((torch.relu, nn.ReLU(), nn.ReLU6(), nn.SiLU())), made)


@draws(2)
def transposed_convolution(d: Draft) -> None:
    value, channels, count = _image(d)
    kind = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[count - 1]
    group = d.pick([1, 1, channels])
    kernel, stride = _each(d, count, 1, 3), _each(d, count, 1, 3)
    padding = tuple(d.integer(0, span - 1) for span in kernel)
    added = tuple(d.integer(0, step - 1) for step in stride) if d.chance(0.4) else 0
    dilation = _each(d, count, 1, 2) if d.chance(0.2) else 1
    outputs = group * d.integer(1, 2)
    layer = kind(
        channels, outputs, kernel, stride, padding, added, group, d.chance(0.7), dilation
    )  # fmt: skip
    d.apply("conv_transpose", layer, value)


def _measured(d: Draft, norm: nn.Module) -> nn.Module:
    """With statistics as training leaves them."""
    for name, tensor in [*norm.named_parameters(), *norm.named_buffers()]:
        if name in ("weight", "running_var"):
            nn.init.uniform_(tensor, 0.5, 1.5)
        elif tensor.is_floating_point():
            nn.init.uniform_(tensor, -0.5, 0.5)
    return norm.eval()


@draws(2)
def batch_norm(d: Draft) -> None:
    rank = d.pick((2, 3, 4, 4, 5))
    value = d.value(rank, rank)
    kind = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[rank - 2]
    norm = kind(d.values[value].shape[1], affine=d.chance(0.7), eps=d.pick((1e-5, 1e-2)))
    d.apply("batch_norm", _measured(d, norm), value)


@draws(3)
def norm(d: Draft) -> None:
    how = d.pick(("layer", "layer", "group", "instance", "rms", "response", "normalize"))
    value = d.value(1 if how in ("layer", "rms") else 3, 5)
    shape = d.values[value].shape
    if how == "layer":
        inner = tuple(shape[d.integer(0, len(shape) - 1) :])
        if torch.Size(inner).numel() < 2:
            raise ValueError
        layer: Any = _measured(d, nn.LayerNorm(inner, elementwise_affine=d.chance(0.7)))
    elif how == "rms":
        layer = nn.RMSNorm(shape[-1:], eps=1e-5)
    elif how == "group":
        groups = d.pick([each for each in range(1, shape[1] + 1) if shape[1] % each == 0])
        layer = _measured(d, nn.GroupNorm(groups, shape[1], affine=d.chance(0.7)))
    elif how == "instance":
        if shape[2:].numel() < 4:
            raise ValueError
        kind = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)[len(shape) - 3]
        layer = _measured(d, kind(shape[1], affine=d.chance(0.6)))
    elif how == "response":
        layer = nn.LocalResponseNorm(d.pick((1, 3, 5, 2)), alpha=d.pick((1e-4, 0.5)))
    else:
        axis = d.axis(value)
        layer = lambda x: F.normalize(x, p=d_p, dim=axis)  # noqa: E731
        d_p = d.pick((2.0, 1.0))
    d.apply(f"{how}_norm", layer, value)


@draws(4)
def pooling(d: Draft) -> None:
    value, _, count = _image(d)
    extents = d.values[value].shape[2:]
    kernel = tuple(d.integer(1, min(3, extent)) for extent in extents)
    padding = tuple(d.integer(0, span // 2) for span in kernel)
    stride = _each(d, count, 1, 3) if d.chance(0.7) else None
    ceil = d.chance(0.3)
    if d.chance(0.5):
        kind = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[count - 1]
        dilation = _each(d, count, 1, 2) if d.chance(0.15) else 1
        d.apply("max_pool", kind(kernel, stride, padding, dilation, ceil_mode=ceil), value)
        return
    averages = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[count - 1]
    # The exporters leave out a divisor of one's own.
    layer = averages(kernel, stride, padding, ceil_mode=ceil, count_include_pad=d.chance(0.5))
    d.apply("avg_pool", layer, value)


@draws(2)
def adaptive_pooling(d: Draft) -> None:
    value, _, count = _image(d)
    extents = d.values[value].shape[2:]
    sizes = tuple(
        d.pick([1, *(each for each in range(1, extent + 1) if extent % each == 0)])
        for extent in extents
    )
    words = ("AdaptiveAvgPool", "AdaptiveMaxPool")
    d.apply("adaptive_pool", getattr(nn, f"{d.pick(words)}{count}d")(sizes), value)


@draws(2)
def resizing(d: Draft) -> None:
    value, _, count = _image(d)
    linear = ("linear", "bilinear", "trilinear")[count - 1]
    mode = d.pick(("nearest", "nearest", linear, linear, "bicubic" if count == 2 else "nearest"))
    corners = None if mode == "nearest" else d.chance(0.3)
    more: dict[str, Any] = {"mode": mode, "align_corners": corners}
    if d.chance(0.5):
        more["scale_factor"] = d.pick((2.0, 2.0, 3.0, 1.5, 0.5))
    else:
        more["size"] = tuple(d.integer(1, 9) for _ in range(count))
    d.apply("interpolate", lambda x: F.interpolate(x, **more), value)


@draws(2)
def padded(d: Draft) -> None:
    value, _, count = _image(d)
    mode = d.pick(("constant", "constant", "reflect", "replicate", "circular"))
    amounts = [d.integer(-1 if mode == "constant" else 0, 2) for _ in range(2 * count)]
    filled = d.pick((0.0, 0.0, 1.5)) if mode == "constant" else None
    d.apply("pad", lambda x: F.pad(x, amounts, mode, filled), value)


@draws(1)
def shuffled(d: Draft) -> None:
    value, channels, _ = _image(d)
    size = d.integer(2, 3)
    how = d.pick(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"))
    if how == "channel_shuffle":
        groups = d.pick([each for each in range(2, channels + 1) if channels % each == 0])
        d.apply(how, nn.ChannelShuffle(groups), value)
    else:
        kind = nn.PixelShuffle if how == "pixel_shuffle" else nn.PixelUnshuffle
        d.apply(how, kind(size), value)


@draws(5)
def linear(d: Draft) -> None:
    value = d.value(1, 5)
    inner = d.values[value].shape[-1]
    made = d.apply("linear", nn.Linear(inner, d.integer(1, 6), bias=d.chance(0.75)), value)
    if d.chance(0.3):
        d.apply("activation", d.pick((torch.relu, F.gelu, torch.tanh)), made)


@draws(2)
def product(d: Draft) -> None:
    """Of two computed matrices."""
    value = d.value(2, 4)
    shape = d.values[value].shape
    if d.chance(0.5):
        other = d.alike(value)
        d.apply("matmul", lambda x, y: torch.matmul(x, y.transpose(-1, -2)), value, other)
    elif d.chance(0.5):
        right = torch.randn(*shape[: d.integer(0, len(shape) - 2)], shape[-1], d.integer(1, 4))
        d.apply("matmul", Held(torch.matmul, right), value)
    else:
        letters = "abcd"[: len(shape)]
        out = "".join(d.random.permutation(list(letters[:-1]))) + "z"
        right = torch.randn(shape[-1], d.integer(1, 4))
        equation = f"{letters},{letters[-1]}z->{out}"
        d.apply("einsum", Held(lambda x, y: torch.einsum(equation, x, y), right), value)
