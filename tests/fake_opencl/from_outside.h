/* SPDX-License-Identifier: Apache-2.0
 *
 * How the library is told to hang, and asked what it holds, by files beside it, where the process
 * that has loaded it is not the test's. With a file LIBRARY.counts there when it loads: commands
 * are carried out as late as may be, that file has the library's counts, and the thread that next
 * waits for the device once there is a LIBRARY.hang renames that to LIBRARY.hanging and waits for
 * as long as it is there. No other thread is held.
 */

#pragma once

#include <stdbool.h>

/* Whether there is such a file of counts. */
bool fake_opencl_is_steered(void);
/* Hangs if it is told to. To be called under no lock. */
void fake_opencl_hang_if_told(void);
/* The line that it writes there: "alive pending misused launched". To be called under the lock of
 * the counts. */
void fake_opencl_tell_counts(int alive, int pending, int misused, int launched);
