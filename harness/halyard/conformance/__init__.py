# SPDX-License-Identifier: Apache-2.0
"""Conformance cases on a device: which are run, how, and what became of them."""
