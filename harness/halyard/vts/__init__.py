# SPDX-License-Identifier: Apache-2.0
"""The vendor test suite's checks of a device: which are made, on what, and what became of them."""
