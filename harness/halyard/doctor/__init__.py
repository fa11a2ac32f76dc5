# SPDX-License-Identifier: Apache-2.0
"""Why a driver is not there: checks of all that a service needs on a device."""
