# SPDX-License-Identifier: Apache-2.0
"""Output on the terminal: lines, tables, steps, progress and durations."""
