// SPDX-License-Identifier: Apache-2.0
//
// As much of the interface between QEMU and its plugins, version 1, as the instruction counter
// uses: Debian packages no header of it. The emulator that loads a plugin has the functions.
// QEMU 4.2 to 8.2 have this version.

#pragma once

#include <cstddef>
#include <cstdint>

#define HALYARD_QEMU_CALLS __attribute__((visibility("default")))

extern "C" {

using qemu_plugin_id_t = uint64_t;
struct qemu_plugin_tb;    // a block that is being translated
struct qemu_plugin_insn;  // an instruction of it

// There as long as qemu_plugin_install() runs.
struct qemu_info_t {
    const char* target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus;
            int max_vcpus;
        } system;
    };
};

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t id, qemu_plugin_tb* block);
using qemu_plugin_vcpu_syscall_cb_t = void (*)(qemu_plugin_id_t id, unsigned int vcpu,
                                               int64_t number, uint64_t a1, uint64_t a2,
                                               uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                               uint64_t a7, uint64_t a8);
using qemu_plugin_udata_cb_t = void (*)(qemu_plugin_id_t id, void* data);

// ---- What the emulator has ----------------------------------------------------------------------

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, size_t index);
// The bytes of the instruction, as they are in memory.
const void* qemu_plugin_insn_data(const qemu_plugin_insn* instruction);

// The block's code adds to the uint64_t that `value` leads to, each time that it is executed, on
// any thread, and not atomically. It is to outlive the program.
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* block, qemu_plugin_op operation,
                                              void* value, uint64_t addend);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_vcpu_tb_trans_cb_t callback);
// Called before the system call is.
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          qemu_plugin_vcpu_syscall_cb_t callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t callback,
                                    void* data);

// ---- What the plugin has ------------------------------------------------------------------------

extern HALYARD_QEMU_CALLS int qemu_plugin_version;
// 0, or the plugin is not loaded.
HALYARD_QEMU_CALLS int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count,
                                           char** arguments);
}
