/* SPDX-License-Identifier: Apache-2.0 */
/* What all of bionic's headers include says that they are bionic's. */
#pragma once
#include_next <features.h>
#include <sys/cdefs.h>
