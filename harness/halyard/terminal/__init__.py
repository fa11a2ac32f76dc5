# SPDX-License-Identifier: Apache-2.0
"""What is printed: lines, tables, steps, progress and durations."""
