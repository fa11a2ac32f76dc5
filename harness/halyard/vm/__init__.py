# SPDX-License-Identifier: Apache-2.0
"""The virtual device: QEMU, Debian's kernel with its binder, and an initramfs made here."""
