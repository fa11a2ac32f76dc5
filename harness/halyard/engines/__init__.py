# SPDX-License-Identifier: Apache-2.0
"""Engines that run models, all asked alike: a Halyard device, and other engines on this machine."""
