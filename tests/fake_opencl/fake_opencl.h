/* SPDX-License-Identifier: Apache-2.0
 *
 * An OpenCL library for tests, whose one device computes nothing, which fails when it is told to
 * and counts what was not released. What it is told is said through these functions, found by name.
 */

#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The `nth` call of this function from now on, and no other, fails with the code; 0: none. */
void fake_opencl_fail(const char* function, int nth, int code);
/* Whether it has. */
int fake_opencl_failed(void);
/* From now on every call that takes a device fails, until the next of the function above. */
void fake_opencl_lose(int code);
/* How often a function was called since the start. */
int fake_opencl_calls(const char* function);
/* Whether the device shares its memory with the host. Before it is opened. */
void fake_opencl_share(int whether);
/* Whether commands are carried out as late as may be, when somebody waits for them. */
void fake_opencl_defer(int whether);
/* Commands that are still to be carried out. */
int fake_opencl_pending(void);
/* How often memory was released that such a command uses. */
int fake_opencl_misused(void);
/* Objects that have not been released. */
int fake_opencl_alive(void);
/* How many programs were built from their source, and how many from a binary, since the start. */
int fake_opencl_built(void);
int fake_opencl_loaded(void);

#ifdef __cplusplus
}
#endif
