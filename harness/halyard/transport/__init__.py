# SPDX-License-Identifier: Apache-2.0
"""HAL versions, and through which of them a service is reached."""
