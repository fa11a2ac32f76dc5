# SPDX-License-Identifier: Apache-2.0
"""Halyard on the host: puts the NNAPI driver on a device, checks its results and times it."""
