# SPDX-License-Identifier: Apache-2.0
"""Attention and recurrent layers."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.random_torch.sketch import Draft, Held, draws


class _First(nn.Module):
    """Of a recurrent layer the outputs, and the last states at times."""

    def __init__(self, layer: nn.Module, *, states: bool) -> None:
        super().__init__()
        self.layer = layer
        self._states = states

    def forward(self, value: Any) -> Any:
        outputs, states = self.layer(value)
        if not self._states:
            return outputs
        return (outputs, *states) if isinstance(states, tuple) else (outputs, states)


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, query: Any, key: Any) -> Any:
        return self.layer(query, key, key, need_weights=False)[0]


@draws(2)
def recurrent(d: Draft) -> None:
    value = d.value(3, 3)
    first, second, width = d.values[value].shape
    batch_first = d.chance(0.5)
    if (second if batch_first else first) > 8:
        raise ValueError
    kind = d.pick((nn.LSTM, nn.LSTM, nn.GRU, nn.GRU, nn.RNN))
    layer = kind(
        width, d.integer(1, 4), d.pick((1, 1, 2)), bias=d.chance(0.8), batch_first=batch_first,
        bidirectional=d.chance(0.4),
        **({"nonlinearity": d.pick(("tanh", "relu"))} if kind is nn.RNN else {}),
    )  # fmt: skip
    d.apply(kind.__name__.lower(), _First(layer, states=d.chance(0.4)), value)


@draws(2)
def attention(d: Draft) -> None:
    value = d.value(3, 3)
    width = d.values[value].shape[-1]
    heads = d.pick([each for each in range(1, width + 1) if width % each == 0])
    how = d.pick(("layer", "function", "encoder"))
    if how == "layer":
        d.apply("attention", _Attention(width, heads), value, d.alike(value))
    elif how == "encoder":
        layer = nn.TransformerEncoderLayer(
            width, heads, d.integer(2, 6), batch_first=True, norm_first=d.chance(0.5)
        )
        d.apply("encoder", layer, value)
    else:
        causal = d.chance(0.3)
        d.apply(
            "sdpa",
            lambda q, k: F.scaled_dot_product_attention(q, k, q, is_causal=causal),
            value,
            d.alike(value),
        )


@draws(1)
def masked_attention(d: Draft) -> None:
    value = d.value(4, 4)
    length = d.values[value].shape[2]
    mask = torch.triu(torch.full((length, length), -10.0), 1)
    attend = lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m)  # noqa: E731
    d.apply("masked_sdpa", Held(attend, mask), value)
