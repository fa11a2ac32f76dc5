/* SPDX-License-Identifier: Apache-2.0 */
/* What bionic has and musl lacks. */
#pragma once
#include <locale.h>
#include_next <stdlib.h>
#include <sys/cdefs.h>
__BEGIN_DECLS
long long strtoll_l(const char* text, char** end, int base, locale_t locale);
unsigned long long strtoull_l(const char* text, char** end, int base, locale_t locale);
__END_DECLS
