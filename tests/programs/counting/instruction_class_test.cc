// SPDX-License-Identifier: Apache-2.0

#include "harness/device/counting/instruction_class.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace halyard::counting {
namespace {

using enum InstructionClass;

struct Row {
    uint32_t instruction;
    InstructionClass expected;
    std::string_view text;  // what binutils' assembler made the word of
};

// The words of branches and literals lead to themselves.
constexpr std::array kRows = {
        Row{0x4E22CC20, MULTIPLY, "fmla v0.4s, v1.4s, v2.4s"},
        Row{0x4F321020, MULTIPLY, "fmla v0.8h, v1.8h, v2.h[3]"},
        Row{0x4EC20C20, MULTIPLY, "fmls v0.8h, v1.8h, v2.8h"},
        Row{0x6E62DC20, MULTIPLY, "fmul v0.2d, v1.2d, v2.2d"},
        Row{0x4EA29420, MULTIPLY, "mla v0.4s, v1.4s, v2.4s"},
        Row{0x4E629C20, MULTIPLY, "mul v0.8h, v1.8h, v2.8h"},
        Row{0x0E628020, MULTIPLY, "smlal v0.4s, v1.4h, v2.4h"},
        Row{0x4F522020, MULTIPLY, "smlal2 v0.4s, v1.8h, v2.h[1]"},
        Row{0x2E22C020, MULTIPLY, "umull v0.8h, v1.8b, v2.8b"},
        Row{0x4EA2B420, MULTIPLY, "sqdmulh v0.4s, v1.4s, v2.4s"},
        Row{0x7EA2B420, MULTIPLY, "sqrdmulh s0, s1, s2"},
        Row{0x4E829420, MULTIPLY, "sdot v0.4s, v1.16b, v2.16b"},
        Row{0x6FA2E020, MULTIPLY, "udot v0.4s, v1.16b, v2.4b[1]"},
        Row{0x4E82A420, MULTIPLY, "smmla v0.4s, v1.16b, v2.16b"},
        Row{0x6E42EC20, MULTIPLY, "bfmmla v0.4s, v1.8h, v2.8h"},
        Row{0x6E42FC20, MULTIPLY, "bfdot v0.4s, v1.8h, v2.8h"},
        Row{0x4E22EC20, MULTIPLY, "fmlal v0.4s, v1.4h, v2.4h"},
        Row{0x1F020C20, MULTIPLY, "fmadd s0, s1, s2, s3"},
        Row{0x1E628820, MULTIPLY, "fnmul d0, d1, d2"},
        Row{0x65A20020, MULTIPLY, "fmla z0.s, p0/m, z1.s, z2.s"},
        Row{0x65820820, MULTIPLY, "fmul z0.s, z1.s, z2.s"},
        Row{0x65828020, MULTIPLY, "fmul z0.s, p0/m, z0.s, z1.s"},
        Row{0x44820020, MULTIPLY, "sdot z0.s, z1.b, z2.b"},
        Row{0x04824020, MULTIPLY, "mla z0.s, p0/m, z1.s, z2.s"},
        Row{0x04A26020, MULTIPLY, "mul z0.s, z1.s, z2.s"},
        Row{0x45827020, MULTIPLY, "smullb z0.s, z1.h, z2.h"},
        Row{0x45029820, MULTIPLY, "smmla z0.s, z1.b, z2.b"},
        Row{0x80812000, MULTIPLY, "fmopa za0.s, p0/m, p1/m, z0.s, z1.s"},
        Row{0x4E22D420, VECTOR, "fadd v0.4s, v1.4s, v2.4s"},
        Row{0x6E22EC20, VECTOR, "facge v0.4s, v1.4s, v2.4s"},
        Row{0x6E82E420, VECTOR, "fcadd v0.4s, v1.4s, v2.4s, #90"},
        Row{0x4F235420, VECTOR, "shl v0.4s, v1.4s, #3"},
        Row{0x0F08A420, VECTOR, "sshll v0.8h, v1.8b, #0"},
        Row{0x0E220020, VECTOR, "saddl v0.8h, v1.8b, v2.8b"},
        Row{0x4E023820, VECTOR, "zip1 v0.16b, v1.16b, v2.16b"},
        Row{0x4E040C20, VECTOR, "dup v0.4s, w1"},
        Row{0x1E270020, VECTOR, "fmov s0, w1"},
        Row{0x0E053C20, VECTOR, "umov w0, v1.b[2]"},
        Row{0x0E217820, VECTOR, "fcvtl v0.4s, v1.4h"},
        Row{0x4E21A820, VECTOR, "fcvtns v0.4s, v1.4s"},
        Row{0x1E222820, VECTOR, "fadd s0, s1, s2"},
        Row{0x1E212000, VECTOR, "fcmp s0, s1"},
        Row{0x25A11C00, VECTOR, "whilelo p0.s, x0, x1"},
        Row{0x65820020, VECTOR, "fadd z0.s, z1.s, z2.s"},
        Row{0x0430E3E0, VECTOR, "incb x0"},
        Row{0x64808020, VECTOR, "fcadd z0.s, p0/m, z0.s, z1.s, #90"},
        Row{0xC0820000, VECTOR, "mova z0.s, p0/m, za0h.s[w12, 0]"},
        Row{0x4C40A000, VECTOR_LOAD, "ld1 {v0.16b, v1.16b}, [x0]"},
        Row{0x4D40C800, VECTOR_LOAD, "ld1r {v0.4s}, [x0]"},
        Row{0x3DC00400, VECTOR_LOAD, "ldr q0, [x0, #16]"},
        Row{0xBC404400, VECTOR_LOAD, "ldr s0, [x0], #4"},
        Row{0xFC617800, VECTOR_LOAD, "ldr d0, [x0, x1, lsl #3]"},
        Row{0xAD400400, VECTOR_LOAD, "ldp q0, q1, [x0]"},
        Row{0x3CDFF000, VECTOR_LOAD, "ldur q0, [x0, #-1]"},
        Row{0xA540A000, VECTOR_LOAD, "ld1w {z0.s}, p0/z, [x0]"},
        Row{0xA4002000, VECTOR_LOAD, "ld1rqb {z0.b}, p0/z, [x0]"},
        Row{0xF9400420, SCALAR_LOAD, "ldr x0, [x1, #8]"},
        Row{0x79C00020, SCALAR_LOAD, "ldrsh w0, [x1]"},
        Row{0x38626820, SCALAR_LOAD, "ldrb w0, [x1, x2]"},
        Row{0xB85FC020, SCALAR_LOAD, "ldur w0, [x1, #-4]"},
        Row{0xA94007E0, SCALAR_LOAD, "ldp x0, x1, [sp]"},
        Row{0x58000000, SCALAR_LOAD, "ldr x0, ."},
        Row{0x885FFC20, SCALAR_LOAD, "ldaxr w0, [x1]"},
        Row{0x88DFFC20, SCALAR_LOAD, "ldar w0, [x1]"},
        Row{0xB8200041, SCALAR_LOAD, "ldadd w0, w1, [x2]"},
        Row{0x88A07C41, SCALAR_LOAD, "cas w0, w1, [x2]"},
        Row{0x99400020, SCALAR_LOAD, "ldapur w0, [x1]"},
        Row{0x3D800000, STORE, "str q0, [x0]"},
        Row{0x4C007800, STORE, "st1 {v0.4s}, [x0]"},
        Row{0xAD000400, STORE, "stp q0, q1, [x0]"},
        Row{0xA9BF7BFD, STORE, "stp x29, x30, [sp, #-16]!"},
        Row{0x39000020, STORE, "strb w0, [x1]"},
        Row{0xB8226820, STORE, "str w0, [x1, x2]"},
        Row{0x8800FC41, STORE, "stlxr w0, w1, [x2]"},
        Row{0x889FFC20, STORE, "stlr w0, [x1]"},
        Row{0xD9200800, STORE, "stg x0, [x0]"},
        Row{0xE540E000, STORE, "st1w {z0.s}, p0, [x0]"},
        Row{0xE0BF0000, STORE, "st1w {za0h.s[w12, 0]}, p0, [x0]"},
        Row{0xF9802000, PREFETCH, "prfm pldl1keep, [x0, #64]"},
        Row{0xF8A16801, PREFETCH, "prfm pldl1strm, [x0, x1]"},
        Row{0xF89F8000, PREFETCH, "prfum pldl1keep, [x0, #-8]"},
        Row{0xD8000000, PREFETCH, "prfm pldl1keep, ."},
        Row{0x85C00000, PREFETCH, "prfb pldl1keep, p0, [x0]"},
        Row{0x14000000, BRANCH, "b ."},
        Row{0x54000001, BRANCH, "b.ne ."},
        Row{0x94000000, BRANCH, "bl ."},
        Row{0xB4000000, BRANCH, "cbz x0, ."},
        Row{0x37080000, BRANCH, "tbnz x0, #1, ."},
        Row{0xD65F03C0, BRANCH, "ret"},
        Row{0xD63F0020, BRANCH, "blr x1"},
        Row{0x8B020020, INTEGER, "add x0, x1, x2"},
        Row{0x9B020C20, INTEGER, "madd x0, x1, x2, x3"},
        Row{0x71000420, INTEGER, "subs w0, w1, #1"},
        Row{0x9A82B020, INTEGER, "csel x0, x1, x2, lt"},
        Row{0x90000000, INTEGER, "adrp x0, ."},
        Row{0xD3410820, INTEGER, "ubfx x0, x1, #1, #2"},
        Row{0xD53BD040, INTEGER, "mrs x0, tpidr_el0"},
        Row{0xD5033BBF, INTEGER, "dmb ish"},
        Row{0xD503201F, INTEGER, "nop"},
        Row{0xD4000001, INTEGER, "svc #0"},
};

TEST(InstructionClass, IsThatOfTheEncoding) {
    for (const Row& row : kRows) {
        EXPECT_EQ(instructionClass(row.instruction), row.expected) << row.text;
    }
}

}  // namespace
}  // namespace halyard::counting
