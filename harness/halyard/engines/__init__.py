# SPDX-License-Identifier: Apache-2.0
"""What runs models, all asked alike: a Halyard device, and other engines on this machine."""
