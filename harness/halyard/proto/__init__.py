# SPDX-License-Identifier: Apache-2.0
"""The messages that host and device share (generated from halyard.proto while building)."""
