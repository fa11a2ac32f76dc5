/* SPDX-License-Identifier: Apache-2.0 */
/* bionic has locale_t here. */
#pragma once
#include <locale.h>
