# SPDX-License-Identifier: Apache-2.0
"""A model of the zoo."""

from __future__ import annotations

from dataclasses import dataclass

from halyard.model import DataType, RunnableModel


@dataclass(frozen=True)
class ZooModel(RunnableModel):
    data_type: DataType
