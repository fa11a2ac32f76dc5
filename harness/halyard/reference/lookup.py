# SPDX-License-Identifier: Apache-2.0
"""Lookups in tables, and projections by hashing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.farmhash import fingerprint64
from halyard.reference.tensor import Call, Raw, operation

_SPARSE_DEPRECATED = 1  # the codes of LSHProjectionType
_DENSE = 2
_SPARSE = 3


@operation("EMBEDDING_LOOKUP")
def embedding_lookup(call: Call) -> Sequence[Array]:
    return [call.real("input")[call.tensor("indices").stored]]


@operation("HASHTABLE_LOOKUP")
def hashtable_lookup(call: Call) -> Sequence[Array | Raw]:
    """Keys are sorted. Rows of missing keys are zeros; hits says which keys were found."""
    lookups, keys, values = (
        call.tensor("lookups").stored,
        call.tensor("keys").stored,
        call.tensor("values").stored,
    )
    rows = np.zeros((len(lookups), *values.shape[1:]), values.dtype)
    hits = np.isin(lookups, keys)
    for at in np.flatnonzero(hits):
        rows[at] = values[np.flatnonzero(keys == lookups[at])[0]]
    return [Raw(rows), Raw(hits.astype(np.uint8))]


@operation("LSH_PROJECTION")
def lsh_projection(call: Call) -> Sequence[Raw]:
    """Each bit is the sign of the weighted sum of a hash of (seed, element); the bits of a hash
    function make its signature. Seeds: [functions, bits]."""
    seeds, data = call.tensor("hash").stored, call.tensor("input").stored
    weights = call.real("weight") if call.has("weight") else np.ones(len(data))
    kind = call.integer("type")
    bits = np.array([[_bit(seed, data, weights) for seed in row] for row in seeds])
    if kind == _DENSE:
        return [Raw(bits.reshape(-1))]
    functions, count = bits.shape
    signatures = bits @ (1 << np.arange(count)[::-1])
    if kind == _SPARSE:
        signatures = signatures + np.arange(functions) * (1 << count)
    return [Raw(signatures)]


def _bit(seed: np.floating[object], data: Array, weights: Array) -> int:  # type: ignore[type-var]
    score = 0.0
    for row, weight in zip(data, weights, strict=True):
        key = np.asarray(seed, "<f4").tobytes() + row.tobytes()
        hashed = fingerprint64(key)
        signed = hashed - (1 << 64) if hashed >> 63 else hashed
        score += weight * float(signed)
    return int(score > 0)
