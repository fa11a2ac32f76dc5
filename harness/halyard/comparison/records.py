# SPDX-License-Identifier: Apache-2.0
"""A comparison as a document."""

from __future__ import annotations

import math

from halyard.benchmark_model import AnyModel
from halyard.comparison.agreement_statistics import TopK
from halyard.comparison.comparison import Compared, Comparison, Ran
from halyard.comparison.difference import Difference
from halyard.comparison.layers import Layer
from halyard.records import compare, error


def record(benchmark_model: AnyModel, comparison: Comparison) -> compare.Compare:
    layers = comparison.layers
    return compare.Compare(
        model=benchmark_model.record(),
        a=_side(comparison.a),
        b=_side(comparison.b),
        ok=comparison.ok,
        problems=comparison.problems,
        not_compared=comparison.not_compared,
        input_sets=[_input_set(each) for each in comparison.sets],
        layers=None
        if layers is None
        else compare.Layers(
            inputs=comparison.layers_of,
            is_isolated=layers.isolated,
            first_diverging=layers.first.operation if layers.first else None,
            notes=[*layers.notes, *comparison.notes],
            layers=[_layer(each) for each in layers.layers],
        ),
    )


def _side(ran: Ran) -> compare.Side:
    return compare.Side(
        name=ran.name, version=ran.version, backends=ran.backends, host_share=ran.host_share
    )


def _input_set(compared: Compared) -> compare.InputSet:
    return compare.InputSet(
        inputs=compared.inputs.name,
        problems=list(compared.problems),
        notes=list(compared.notes),
        outputs=[
            compare.Output(
                statistics=_statistics(difference),
                top_k=_top_k(top),
            )
            for difference, top in zip(compared.differences, compared.tops, strict=True)
        ],
    )


def _top_k(top: TopK | None) -> compare.TopK | None:
    return compare.TopK(k=top.k, first=top.first, shared=top.shared) if top else None


def _layer(layer: Layer) -> compare.Layer:
    return compare.Layer(
        operation=layer.operation,
        label=layer.label,
        tensor=layer.tensor,
        verdict=str(layer.verdict),
        reason=layer.reason,
        backend=layer.backend,
        chained=_statistics(layer.chained) if layer.chained else None,
        isolated=_statistics(layer.isolated) if layer.isolated else None,
    )


def _statistics(difference: Difference) -> compare.Statistics:
    return compare.Statistics(
        name=difference.name,
        elements=difference.count,
        max_abs_error=error(difference.max_abs_error),
        mean_abs_error=error(difference.mean_abs_error),
        rms_error=error(difference.rms_error),
        max_relative_error=error(difference.max_relative_error),
        max_steps=difference.max_steps,
        cosine=difference.cosine,
        snr_db=difference.snr_db if math.isfinite(difference.snr_db) else None,
        exact_share=difference.exact_share,
        nan=difference.nans,
    )
