# SPDX-License-Identifier: Apache-2.0
"""The program halyard-runner: cases and models that it executes on a device or here."""
