/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#define __BIONIC__ 1
#include <android/api-level.h>
#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS }
#else
#define __BEGIN_DECLS
#define __END_DECLS
#endif
