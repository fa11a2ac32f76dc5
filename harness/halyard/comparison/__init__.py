# SPDX-License-Identifier: Apache-2.0
"""One model on two sides: how far their outputs are apart, and which layer is the first to
diverge."""
