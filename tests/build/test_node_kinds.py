# SPDX-License-Identifier: Apache-2.0
"""The docs name the node kinds that have no tuned kernel."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Not a backend's: the planner runs them.
OF_THE_PLANNER = {"If", "While"}


def listed(path: str) -> set[str]:
    rows = re.findall(r"^HALYARD_\w+\((\w+)\)$", (ROOT / path).read_text(), re.MULTILINE)
    assert rows, path
    return set(rows)


def test_docs_name_each_node_kind_without_tuned_kernel() -> None:
    kinds = listed("engine/graph/node_kinds.inc") - OF_THE_PLANNER
    tuned = listed("engine/backends/cpu/kernels/kernels.inc")
    text = (ROOT / "docs/backends.md").read_text()
    section = text.split("## Node kinds that stay with CpuRef")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)
    assert sorted(rows) == sorted(kinds - tuned)


def test_gpu_acc_has_what_cpu_acc_is_tuned_for() -> None:
    tuned = listed("engine/backends/cpu/kernels/kernels.inc")
    on_gpu = listed("engine/backends/gpu/kernels/kernels.inc")
    # Of Android 8.1 and 10, step by step on one row.
    assert tuned - on_gpu == {"QuantizedLstm", "Quantized16BitLstm"}
