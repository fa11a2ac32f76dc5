// SPDX-License-Identifier: Apache-2.0
//
// Replaces the test program's operator new by one that counts, and that fails where it may when it
// is told to. The other forms, of arrays, end up in one of these.

#include "tests/engine/allocation_count.h"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t count = 0;
// Allocations for AlignedBuffer until one fails; 0: none will.
thread_local size_t untilFailure = 0;

void* allocate(size_t size, size_t alignment) {
    ++count;
    void* memory = nullptr;
    const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
    return posix_memalign(&memory, least, size == 0 ? 1 : size) == 0 ? memory : nullptr;
}

// The form that AlignedBuffer asks for, whose failure is an error. Algorithms of the standard
// library ask for the other nothrow form, and do without.
void* tryToAllocate(size_t size, size_t alignment) {
    if (untilFailure > 0 && --untilFailure == 0) {
        return nullptr;
    }
    return allocate(size, alignment);
}

void* allocateOrDie(size_t size, size_t alignment) {
    void* const memory = allocate(size, alignment);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}

}  // namespace

namespace halyard::engine {

size_t allocationCount() {
    return count;
}

void failAllocation(size_t nth) {
    untilFailure = nth;
}

bool failureIsDue() {
    return untilFailure > 0;
}

}  // namespace halyard::engine

void* operator new(size_t size) {
    return allocateOrDie(size, alignof(std::max_align_t));
}
void* operator new(size_t size, std::align_val_t alignment) {
    return allocateOrDie(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new(size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
    return tryToAllocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t /*size*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
