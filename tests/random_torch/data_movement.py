# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements."""

import math

import torch

from tests.random_torch.sketch import Draft, Held, draws


@draws(3)
def turned(d: Draft) -> None:
    value = d.value(2)
    order = [int(each) for each in d.random.permutation(d.rank(value))]
    if d.chance(0.6):
        d.apply("permute", lambda x: x.permute(order), value, pure=True)
    else:
        one, other = d.axis(value), d.axis(value)
        d.apply("transpose", lambda x: x.transpose(one, other), value, pure=True)


@draws(3)
def reshaped(d: Draft) -> None:
    value = d.value()
    left, wanted = d.values[value].numel(), list[int]()
    while left > 1 and len(wanted) < 4:
        wanted.append(d.pick([each for each in range(1, left + 1) if left % each == 0]))
        left //= wanted[-1]
    wanted.append(left)
    if d.chance(0.3):
        wanted[d.integer(0, len(wanted) - 1)] = -1
    d.apply("reshape", lambda x: x.reshape(wanted), value, pure=True)


@draws(2)
def flattened(d: Draft) -> None:
    value = d.value(1)
    begin = d.integer(0, d.rank(value) - 1)
    end = d.integer(begin, d.rank(value) - 1)
    d.apply("flatten", lambda x: x.flatten(begin, end), value, pure=True)


@draws(2)
def ones(d: Draft) -> None:
    value = d.value()
    if d.chance(0.5):
        axis = d.integer(-d.rank(value) - 1, d.rank(value))
        d.apply("unsqueeze", lambda x: x.unsqueeze(axis), value, pure=True)
    elif 1 in d.values[value].shape:
        axis = list(d.values[value].shape).index(1)
        d.apply("squeeze", lambda x: x.squeeze(axis), value, pure=True)
    else:
        raise ValueError


@draws(4)
def indexed(d: Draft) -> None:
    value = d.value(1)
    axis = d.axis(value)
    extent = d.values[value].shape[axis]
    begin = d.integer(0, extent - 1)
    length = d.integer(1, extent - begin)
    step = d.integer(1, 2)
    places = torch.from_numpy(d.random.integers(0, extent, d.integer(1, 4)))
    rank = d.rank(value)
    at = axis % rank
    how = d.pick(("narrow", "slice", "select", "index_select", "fancy", "negative", "take_along"))
    if how == "narrow":
        d.apply(how, lambda x: x.narrow(axis, begin, length), value, pure=True)
    elif how == "slice":
        part = tuple([slice(None)] * at + [slice(begin, begin + length, step)])
        d.apply(how, lambda x: x[part], value, pure=True)
    elif how == "negative":
        part = (..., *[slice(None)] * (rank - at - 1)) if rank > 1 else (...,)
        ends = (*part[:1], slice(-length, None), *part[1:])
        d.apply(how, lambda x: x[ends], value, pure=True)
    elif how == "select":
        d.apply(how, lambda x: x.select(axis, begin - extent), value, pure=True)
    elif how == "index_select":
        d.apply(how, Held(lambda x, p: x.index_select(axis, p), places), value)
    elif how == "fancy":
        if at:
            d.apply(how, Held(lambda x, p: x[:, p] if at == 1 else x[:, :, p], places), value)
        else:
            d.apply(how, Held(lambda x, p: x[p], places), value)
    else:
        shape = list(d.values[value].shape)
        shape[at] = d.integer(1, extent)
        held = torch.from_numpy(d.random.integers(0, extent, shape))
        d.apply(how, Held(lambda x, p: torch.gather(x, axis, p), held), value)


@draws(3)
def joined(d: Draft) -> None:
    value = d.value(1)
    other, axis = d.alike(value), d.axis(value)
    if d.chance(0.6):
        d.apply("cat", lambda x, y: torch.cat([x, y], axis), value, other)
    else:
        d.apply("stack", lambda x, y: torch.stack([x, y], axis), value, other)


@draws(2)
def parted(d: Draft) -> None:
    value = d.value(1)
    axis = d.axis(value)
    extent = d.values[value].shape[axis]
    if extent < 2:
        raise ValueError
    how = d.pick(("split", "chunk", "sizes", "unbind"))
    # PyTorch gives fewer chunks where extents do not go into as many, and exports as many.
    count = d.pick(
        [each for each in range(2, extent + 1) if -(-extent // -(-extent // each)) == each]
    )
    if how == "split":
        d.apply(how, lambda x: torch.split(x, math.ceil(extent / count), axis), value, pure=True)
    elif how == "chunk":
        d.apply(how, lambda x: torch.chunk(x, count, axis), value, pure=True)
    elif how == "sizes":
        sizes = [1, extent - 1]
        d.apply(how, lambda x: torch.split(x, sizes, axis), value, pure=True)
    else:
        d.apply(how, lambda x: torch.unbind(x, axis), value, pure=True)


@draws(2)
def repeated(d: Draft) -> None:
    value = d.value()
    shape = list(d.values[value].shape)
    counts = [d.integer(1, 2) for _ in shape]
    how = d.pick(("repeat", "expand", "roll", "flip", "tril", "triu", "interleave"))
    if how == "repeat":
        more = [1] if d.chance(0.3) else []
        d.apply(how, lambda x: x.repeat([*more, *counts]), value)
    elif how == "expand":
        wanted = [
            each * count if each == 1 else -1 for each, count in zip(shape, counts, strict=True)
        ]
        outer = [2] if d.chance(0.3) else []
        d.apply(how, lambda x: x.expand(*outer, *wanted), value)
    elif how in ("tril", "triu"):
        diagonal = d.integer(-1, 1)
        d.apply(how, lambda x: getattr(torch, how)(x, diagonal), value)
    else:
        axis = d.axis(value)
        if how == "roll":
            d.apply(how, lambda x: torch.roll(x, 1, axis), value, pure=True)
        elif how == "flip":
            d.apply(how, lambda x: torch.flip(x, [axis]), value, pure=True)
        else:
            d.apply(how, lambda x: torch.repeat_interleave(x, 2, axis), value)
