# SPDX-License-Identifier: Apache-2.0
"""Traces of a model's executions on a device: tables, flame graphs, Perfetto's traces."""
