# SPDX-License-Identifier: Apache-2.0
"""FarmHash's Fingerprint64, which LSH_PROJECTION is defined by: farmhashna::Hash64 of Google's
published FarmHash (MIT licence)."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def fingerprint64(data: bytes) -> int:
    length = len(data)
    if length <= 16:
        return _up_to_16(data)
    if length <= 32:
        return _up_to_32(data)
    if length <= 64:
        return _up_to_64(data)
    return _longer(data)


def _word64(data: bytes, at: int) -> int:
    at = at if at >= 0 else len(data) + at
    return int.from_bytes(data[at : at + 8], "little")


def _word32(data: bytes, at: int) -> int:
    at = at if at >= 0 else len(data) + at
    return int.from_bytes(data[at : at + 4], "little")


def _rotate(value: int, shift: int) -> int:
    return ((value >> shift) | (value << (64 - shift))) & _MASK if shift else value


def _mix(value: int) -> int:
    return value ^ (value >> 47)


def _hash16(u: int, v: int, mul: int) -> int:
    a = _mix(((u ^ v) * mul) & _MASK)
    b = _mix(((v ^ a) * mul) & _MASK)
    return (b * mul) & _MASK


def _up_to_16(data: bytes) -> int:
    length = len(data)
    if length >= 8:
        mul = (_K2 + length * 2) & _MASK
        a = (_word64(data, 0) + _K2) & _MASK
        b = _word64(data, -8)
        c = (_rotate(b, 37) * mul + a) & _MASK
        d = ((_rotate(a, 25) + b) * mul) & _MASK
        return _hash16(c, d, mul)
    if length >= 4:
        mul = (_K2 + length * 2) & _MASK
        return _hash16((length + (_word32(data, 0) << 3)) & _MASK, _word32(data, -4), mul)
    if length > 0:
        y = data[0] + (data[length >> 1] << 8)
        z = length + (data[-1] << 2)
        return (_mix(((y * _K2) & _MASK) ^ ((z * _K0) & _MASK)) * _K2) & _MASK
    return _K2


def _up_to_32(data: bytes) -> int:
    mul = (_K2 + len(data) * 2) & _MASK
    a = (_word64(data, 0) * _K1) & _MASK
    b = _word64(data, 8)
    c = (_word64(data, -8) * mul) & _MASK
    d = (_word64(data, -16) * _K2) & _MASK
    return _hash16(
        (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK,
        (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK,
        mul,
    )


def _up_to_64(data: bytes) -> int:
    mul = (_K2 + len(data) * 2) & _MASK
    a = (_word64(data, 0) * _K2) & _MASK
    b = _word64(data, 8)
    c = (_word64(data, -8) * mul) & _MASK
    d = (_word64(data, -16) * _K2) & _MASK
    y = (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    z = _hash16(y, (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK, mul)
    e = (_word64(data, 16) * mul) & _MASK
    f = _word64(data, 24)
    g = ((y + _word64(data, -32)) * mul) & _MASK
    h = ((z + _word64(data, -24)) * mul) & _MASK
    return _hash16(
        (_rotate((e + f) & _MASK, 43) + _rotate(g, 30) + h) & _MASK,
        (e + _rotate((f + a) & _MASK, 18) + g) & _MASK,
        mul,
    )


def _weak32(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word64(data, at + 8 * i) for i in range(4))
    a = (a + w) & _MASK
    b = _rotate((b + a + z) & _MASK, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _rotate(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


def _longer(data: bytes) -> int:
    length = len(data)
    x = 81
    y = (81 * _K1 + 113) & _MASK
    z = (_mix((y * _K2 + 113) & _MASK) * _K2) & _MASK
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _word64(data, 0)) & _MASK
    end = ((length - 1) // 64) * 64
    last = end + ((length - 1) & 63) - 63
    at = 0
    while at != end:
        x = (_rotate((x + y + v[0] + _word64(data, at + 8)) & _MASK, 37) * _K1) & _MASK
        y = (_rotate((y + v[1] + _word64(data, at + 48)) & _MASK, 42) * _K1) & _MASK
        x ^= w[1]
        y = (y + v[0] + _word64(data, at + 40)) & _MASK
        z = (_rotate((z + w[0]) & _MASK, 33) * _K1) & _MASK
        v = _weak32(data, at, (v[1] * _K1) & _MASK, (x + w[0]) & _MASK)
        w = _weak32(data, at + 32, (z + w[1]) & _MASK, (y + _word64(data, at + 16)) & _MASK)
        z, x = x, z
        at += 64
    mul = (_K1 + ((z & 0xFF) << 1)) & _MASK
    at = last
    w = ((w[0] + ((length - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x = (_rotate((x + y + v[0] + _word64(data, at + 8)) & _MASK, 37) * mul) & _MASK
    y = (_rotate((y + v[1] + _word64(data, at + 48)) & _MASK, 42) * mul) & _MASK
    x ^= (w[1] * 9) & _MASK
    y = (y + v[0] * 9 + _word64(data, at + 40)) & _MASK
    z = (_rotate((z + w[0]) & _MASK, 33) * mul) & _MASK
    v = _weak32(data, at, (v[1] * mul) & _MASK, (x + w[0]) & _MASK)
    w = _weak32(data, at + 32, (z + w[1]) & _MASK, (y + _word64(data, at + 16)) & _MASK)
    z, x = x, z
    return _hash16(
        (_hash16(v[0], w[0], mul) + _mix(y) * _K0 + z) & _MASK,
        (_hash16(v[1], w[1], mul) + x) & _MASK,
        mul,
    )
