# SPDX-License-Identifier: Apache-2.0
"""Instructions that an inference executes on arm64, counted under QEMU: ours, and LiteRT's."""
