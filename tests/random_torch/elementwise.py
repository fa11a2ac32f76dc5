# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements, of two values, and along dimensions."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.random_torch.sketch import Draft, Held, draws

_ACTIVATIONS = (
    nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.Hardsigmoid, nn.Sigmoid, nn.Tanh,
    nn.Softsign, nn.LogSigmoid, nn.Tanhshrink, nn.SELU,
)  # fmt: skip
# Functions whose values are exact: they add no rounding.
_EXACT = (torch.abs, torch.neg, torch.relu)
_ROUNDING = (torch.ceil, torch.floor, torch.round, torch.sign, torch.trunc)
_FUNCTIONS = (
    torch.sin, torch.cos, torch.erf, torch.square, torch.sigmoid, torch.tanh, torch.atan,
    torch.sinh, torch.expm1,
)  # fmt: skip


@draws(4)
def activation(d: Draft) -> None:
    kind = d.pick(_ACTIVATIONS)
    d.apply(kind.__name__.lower(), kind(), d.value())


@draws(2)
def parametric(d: Draft) -> None:
    value = d.value()
    layers: list[nn.Module] = [
        nn.LeakyReLU(d.pick((0.01, 0.3))), nn.ELU(d.pick((1.0, 0.5))), nn.CELU(d.pick((1.0, 2.0))),
        nn.Hardtanh(-0.5, d.pick((1.0, 2.0))), nn.Softplus(d.pick((1.0, 2.0))),
        nn.Threshold(0.1, d.pick((0.0, 0.5))), nn.GELU("tanh"), nn.Hardshrink(0.4),
        nn.Softshrink(0.3), nn.Dropout(0.4),
    ]  # fmt: skip
    if d.rank(value) >= 2:
        layers += [nn.PReLU(), nn.PReLU(d.values[value].shape[1])]
        if d.values[value].shape[1] % 2 == 0:
            layers.append(nn.GLU(1))
    layer = d.pick(layers)
    d.apply(type(layer).__name__.lower(), layer, value)


@draws(2)
def exact(d: Draft) -> None:
    value = d.value()
    function = d.pick(_EXACT)
    d.apply(function.__name__, function, value, pure=function is torch.neg)


@draws(1)
def rounding(d: Draft) -> None:
    d.apply("round", d.pick(_ROUNDING), d.value(pure=True))


@draws(2)
def function(d: Draft) -> None:
    one = d.pick(_FUNCTIONS)
    d.apply(one.__name__, one, d.value())


@draws(2)
def positive(d: Draft) -> None:
    one = d.pick((torch.log, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.log1p, torch.log2))
    d.apply(one.__name__, lambda x: one(x.abs() + 0.25), d.value())


@draws(1)
def power(d: Draft) -> None:
    exponent = d.pick((2, 3, 0.5, -1, 1.5, 1))
    d.apply("pow", lambda x: (x.abs() + 0.25).pow(exponent), d.value())


@draws(4)
def pair(d: Draft) -> None:
    """With another value, a number, or a tensor that is held and broadcast."""
    value = d.value()
    one = d.pick((torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.div))
    how = d.pick(("value", "value", "number", "held"))
    shape = tuple(d.values[value].shape)
    if how == "number" and one not in (torch.maximum, torch.minimum):
        number = d.pick((2.0, -0.5, 3, 1.25))
        turned = d.chance(0.3)
        d.apply(one.__name__, lambda x: number - x if turned else one(x, number), value)
    elif how == "value":
        other = d.alike(value)
        if one is torch.div:
            d.apply("div", lambda x, y: x / (y.abs() + 0.5), value, other)
        elif one is torch.add and d.chance(0.3):
            d.apply("add", lambda x, y: torch.add(x, y, alpha=2), value, other)
        else:
            d.apply(one.__name__, one, value, other)
    else:
        own = shape[d.integer(0, len(shape)) :]
        own = tuple(1 if d.chance(0.3) else extent for extent in own)
        held = torch.rand(own) + 0.5
        d.apply(one.__name__, Held(one, held), value)


@draws(1)
def clamped(d: Draft) -> None:
    low, high = d.pick(((-0.5, 0.5), (None, 0.7), (0.0, None), (0.0, 6.0), (0, 6)))
    d.apply("clamp", lambda x: torch.clamp(x, low, high), d.value())


@draws(2)
def chosen(d: Draft) -> None:
    """By comparing what came in."""
    value = d.value(pure=True)
    other = d.alike(value)
    compare = d.pick((torch.gt, torch.lt, torch.ge, torch.le))
    how = d.pick(("where", "fill", "both", "cast"))
    border = d.pick((0.0, 0.5))
    if how == "where":
        d.apply("where", lambda x, y: torch.where(compare(x, border), y, x * 2), value, other)
    elif how == "fill":
        d.apply("fill", lambda x, y: y.masked_fill(compare(x, border), -3.0), value, other)
    elif how == "both":
        d.apply(
            "both",
            lambda x, y: torch.logical_or(compare(x, border), ~compare(x, 1.0)).float() + y,
            value,
            other,
        )
    else:
        d.apply("cast", lambda x: compare(x, border).to(torch.int32) * 3, value)


@draws(3)
def reduction(d: Draft) -> None:
    value = d.value(1)
    rank, keep = d.rank(value), d.chance(0.5)
    axes = sorted(int(each) for each in d.random.choice(rank, d.integer(1, rank), replace=False))
    axis = d.axis(value)
    made: dict[str, Any] = {
        "mean": lambda x: x.mean(axes, keepdim=keep),
        "sum": lambda x: x.sum(axes, keepdim=keep),
        "all_mean": lambda x: x.mean(),
        "amax": lambda x: x.amax(axes, keepdim=keep),
        "amin": lambda x: x.amin(axes, keepdim=keep),
        "max": lambda x: x.max(axis, keepdim=keep).values,
        "prod": lambda x: x.prod(axis, keepdim=keep),
        "norm": lambda x: torch.linalg.vector_norm(x, 2, axes, keepdim=keep),
        "logsumexp": lambda x: x.logsumexp(axis, keepdim=keep),
        "cumsum": lambda x: x.cumsum(axis),
    }
    if d.values[value].shape[axis] > 1:
        made["var"] = lambda x: x.var(axis, correction=correction, keepdim=keep)
        made["std"] = lambda x: (x.var(axis, correction=correction, keepdim=keep) + 0.1).sqrt()
    correction = d.integer(0, 1)
    word = d.pick(sorted(made))
    d.apply(word, made[word], value)


@draws(2)
def softmax(d: Draft) -> None:
    value = d.value(1)
    axis = d.axis(value)
    one = d.pick((torch.softmax, torch.softmax, torch.log_softmax, F.softmin))
    d.apply(one.__name__, lambda x: one(x, axis), value)


@draws(1)
def sorted_out(d: Draft) -> None:
    value = d.value(1, pure=True)
    axis = d.axis(value)
    if torch.unique(d.values[value]).numel() != d.values[value].numel():
        raise ValueError
    count, largest = d.integer(1, d.values[value].shape[axis]), d.chance(0.7)
    how = d.pick(("argmax", "argmin", "topk", "sort"))
    if how in ("argmax", "argmin"):
        keep = d.chance(0.5)
        d.apply(how, lambda x: getattr(torch, how)(x, axis, keepdim=keep), value)
    elif how == "topk":
        d.apply(how, lambda x: tuple(torch.topk(x, count, axis, largest)), value)
    else:
        d.apply(how, lambda x: torch.sort(x, axis, descending=largest).values, value)
