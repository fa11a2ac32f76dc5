# SPDX-License-Identifier: Apache-2.0
"""What a model's executions did on a device, and when: tables, flame graphs, Perfetto's traces."""
