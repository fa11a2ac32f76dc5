# SPDX-License-Identifier: Apache-2.0
"""A model's use of the memory of devices."""

from __future__ import annotations

from halyard.proto import halyard_pb2 as pb
from halyard.records.run import DeviceMemory


def of(memory: pb.Memory) -> DeviceMemory | None:
    """None where nothing lies on a device."""
    if not (
        memory.device_constant_bytes or memory.device_workspace_bytes or memory.device_table_bytes
    ):
        return None
    return DeviceMemory(
        constant_bytes=memory.device_constant_bytes,
        workspace_bytes=memory.device_workspace_bytes,
        table_bytes=memory.device_table_bytes,
    )


def text(held: DeviceMemory | None) -> str:
    """ "device memory 14.2 MiB (constants 13.4, workspace 0.8)"; empty where there is none."""
    if held is None:
        return ""
    parts = {
        "constants": held.constant_bytes,
        "workspace": held.workspace_bytes,
        "tables": held.table_bytes,
    }
    listed = ", ".join(f"{name} {_mebibytes(size)}" for name, size in parts.items() if size)
    return f"device memory {_mebibytes(held.total_bytes)} MiB ({listed})"


def _mebibytes(size: int) -> str:
    """With what is small told apart from nothing."""
    return f"{size / 2**20:.1f}" if size >= 2**20 // 10 else f"{size / 2**20:.2g}"
