# SPDX-License-Identifier: Apache-2.0
"""Samples of time: how many are taken, on what machine, and what they say."""
