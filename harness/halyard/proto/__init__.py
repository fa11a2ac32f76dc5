# SPDX-License-Identifier: Apache-2.0
"""Messages that are generated while building: those that host and device share (halyard.proto), and
those of Perfetto's traces (perfetto_trace.proto)."""
