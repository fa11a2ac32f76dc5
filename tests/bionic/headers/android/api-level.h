/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#define __ANDROID_API_FUTURE__ 10000
