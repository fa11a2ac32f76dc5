# SPDX-License-Identifier: Apache-2.0
"""Which backends ran the nodes of a model, and whether they are those that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halyard.engines.parts import HOST
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class BackendShare:
    backend: str  # empty: nodes that nothing takes
    nodes: int
    partitions: int
    kinds: Mapping[str, int]  # node kind to count, most first
    kernels: Mapping[str, int] = field(default_factory=dict)  # the same of those that are told


def shares(placement: Sequence[pb.Placement]) -> list[BackendShare]:
    """Which backend ran how much, in the order in which they first appear."""
    rows: dict[str, list[pb.Placement]] = {}
    for row in placement:
        rows.setdefault(row.backend, []).append(row)
    return [
        BackendShare(
            backend=backend,
            nodes=len(mine),
            partitions=len({row.partition for row in mine}),
            kinds=dict(Counter(row.node for row in mine).most_common()),
            kernels=dict(Counter(row.kernel for row in mine if row.kernel).most_common()),
        )
        for backend, mine in rows.items()
    ]


def refusals(placement: Sequence[pb.Placement]) -> list[tuple[str, str, int]]:
    """Why backends did not take nodes: backend, reason, how many nodes; most first."""
    counted = Counter(
        (refusal.backend, refusal.reason) for row in placement for refusal in row.refusals
    )
    return [(backend, reason, count) for (backend, reason), count in counted.most_common()]


@dataclass(frozen=True)
class LostForm:
    """A form that lost the choice of kernels, with the reason that most of them give."""

    form: str
    nodes: int
    reason: str
    other_reasons: int

    def __str__(self) -> str:
        others = self.other_reasons
        more = f" (and {others} other reason{'s' if others > 1 else ''})" if others else ""
        return f"{self.form}: {self.nodes} node{'s' if self.nodes > 1 else ''}: {self.reason}{more}"


def lost_forms(placement: Sequence[pb.Placement]) -> list[LostForm]:
    """By form, those of most nodes first."""
    reasons: dict[str, Counter[str]] = {}
    for row in placement:
        for each in filter(None, row.lost_forms.split("; ")):
            form, _, reason = each.partition(": ")
            reasons.setdefault(form, Counter())[reason] += 1
    lost = [
        LostForm(form, counted.total(), counted.most_common(1)[0][0], len(counted) - 1)
        for form, counted in reasons.items()
    ]
    return sorted(lost, key=lambda each: -each.nodes)


def strangers(placement: Sequence[pb.Placement], asked: Sequence[str]) -> list[str]:
    """Backends that ran something though others were asked for, and they were not."""
    if not asked:
        return []
    placement = in_driver(placement)
    missing = absent(placement, asked)
    reason = f" ({'; '.join(missing)})" if missing else ""
    return [
        f"{share.backend} ran {share.nodes} of {len(placement)} nodes, and only {','.join(asked)} "
        f"was asked for{reason}; --backends {','.join([*asked, share.backend])} allows it"
        for share in shares(placement)
        if share.backend and share.backend not in _names(asked)
    ]


def absent(placement: Sequence[pb.Placement], asked: Sequence[str]) -> list[str]:
    """The asked backends that neither ran a node nor said why not."""
    placement = in_driver(placement)
    heard = {row.backend for row in placement}
    heard |= {refusal.backend for row in placement for refusal in row.refusals}
    # Nodes that the first backends took are not offered to the later ones.
    names = _names(asked)
    last = max((names.index(name) for name in heard if name in names), default=-1)
    return [
        f"{name} is not in this build of the driver, or not on this machine (its log says why)"
        for number, name in enumerate(names)
        if placement and name not in heard and (number < last or not heard & set(names))
    ]


def others(placement: Sequence[pb.Placement], asked: Sequence[str]) -> str:
    """Why it is not what was asked for: no backend that was ran anything. Empty: one did, or none
    was asked for."""
    ran = [share.backend for share in shares(in_driver(placement)) if share.backend]
    if not asked or not ran or set(ran) & set(_names(asked)):
        return ""
    reason = "; ".join(absent(placement, asked) or f"none of {','.join(asked)} ran a node")
    return f"{reason}, and {','.join(ran)} ran all of them"


def in_driver(placement: Sequence[pb.Placement]) -> Sequence[pb.Placement]:
    """Without what is left to the host, as it is with any backend."""
    return [row for row in placement if row.backend != HOST]


def _names(asked: Sequence[str]) -> list[str]:
    """Without the options of each."""
    return [name.partition(":")[0] for name in asked]
