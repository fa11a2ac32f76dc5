// SPDX-License-Identifier: Apache-2.0
//
// Transposing a matrix, or a block of one, of elements that are only moved.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// to[column * toStride + row] = from[row * fromStride + column]; strides count elements. The two
// places don't overlap, and each has elements of T at addresses that T may have.
template <typename T>
struct TransposedBlock {
    const T* from = nullptr;
    int64_t fromStride = 0;
    T* to = nullptr;
    int64_t toStride = 0;
    int64_t rows = 0;
    int64_t columns = 0;
};

// By the size of an element. Some elements may be written twice, with the same value unless `from`
// changes meanwhile; nothing outside of the block is read or written. Thread-safe, no heap.
struct TransposeForms {
    void (*bytes)(const TransposedBlock<uint8_t>& block);
    void (*halfWords)(const TransposedBlock<uint16_t>& block);
    void (*words)(const TransposedBlock<uint32_t>& block);
    void (*doubleWords)(const TransposedBlock<uint64_t>& block);
};
const TransposeForms& transposeForms(InstructionSet set);

inline void transpose(const TransposeForms& forms, const TransposedBlock<uint8_t>& block) {
    forms.bytes(block);
}
inline void transpose(const TransposeForms& forms, const TransposedBlock<uint16_t>& block) {
    forms.halfWords(block);
}
inline void transpose(const TransposeForms& forms, const TransposedBlock<uint32_t>& block) {
    forms.words(block);
}
inline void transpose(const TransposeForms& forms, const TransposedBlock<uint64_t>& block) {
    forms.doubleWords(block);
}

}  // namespace halyard::engine::cpu
