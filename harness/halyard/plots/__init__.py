# SPDX-License-Identifier: Apache-2.0
"""Plots, drawn with matplotlib, which is imported when one is made."""
