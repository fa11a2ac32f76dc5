// SPDX-License-Identifier: Apache-2.0
//
// Memory of others: constants, inputs and outputs are used where they lie, an allocator gives what
// only a run can size, one program's output on a device is another's input, and in the steady state
// a run copies no byte and allocates nothing.
//
//   memory BACKENDS    "CpuRef", "CpuAcc", "GpuAcc,CpuAcc"
//
// This program's malloc() and its kin stand before the C library's: they count while a run is under
// way, on every thread. Where a vendor's library for a device is in the process, only what
// libhalyard.so itself asks for counts: its code is known by the address that the call returns to.

#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "claims.h"
#include "halyard/halyard.hpp"

extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)
}

namespace {

// Where libhalyard.so's code lies.
std::atomic<uintptr_t> codeBegin = 0;
std::atomic<uintptr_t> codeEnd = 0;
std::atomic<bool> counting = false;
std::atomic<size_t> allocations = 0;     // of all
std::atomic<size_t> ownAllocations = 0;  // of libhalyard.so

void count(const void* caller) {
    if (counting) {
        ++allocations;
        const auto address = reinterpret_cast<uintptr_t>(caller);
        ownAllocations += address >= codeBegin && address < codeEnd ? 1 : 0;
    }
}

int findCode(dl_phdr_info* info, size_t /*size*/, void* /*context*/) {
    if (std::strstr(info->dlpi_name, "libhalyard.so") == nullptr) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
            codeBegin = info->dlpi_addr + part.p_vaddr;
            codeEnd = codeBegin + part.p_memsz;
        }
    }
    return 1;
}

}  // namespace

extern "C" {
void* malloc(size_t size) {
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) {
    count(__builtin_return_address(0));
    return __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) {
    count(__builtin_return_address(0));
    return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
    count(__builtin_return_address(0));
    *memory = __libc_memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}
}

namespace {

using halyard::Execution;
using halyard::Graph;
using halyard::Input;
using halyard::Memory;
using halyard::MemoryRange;
using halyard::Output;
using halyard::Program;
using halyard::Runtime;
using halyard::Status;
using halyard::Tensor;

constexpr int32_t kRows = 12;
constexpr int32_t kColumns = 40;
constexpr size_t kBytes = sizeof(float) * kRows * kColumns;

void works(const Status& status, int line) {
    claim(status.ok() ? 1 : 0, "is OK", status.message().c_str(), line);
}
#define WORKS(expression) works((expression), __LINE__)

template <typename T>
T taken(halyard::Result<T> result, int line) {
    works(result.status(), line);
    return std::move(result).value();
}
#define TAKE(expression) taken((expression), __LINE__)

using Floats = std::vector<float>;

Floats countUp(size_t count) {
    Floats values(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i % 23) * 0.25F - 2.0F;
    }
    return values;
}

// x [rows, 40] -> FullyConnected, twice with the same weights -> x + y -> Activate, [rows, 40].
Graph layers(std::span<const float> weights, const Memory& memory, int32_t rows) {
    Graph graph = TAKE(Graph::create());
    const Tensor x = TAKE(graph.addTensor({.shape = {rows, kColumns}}, "x"));
    const Tensor w = TAKE(graph.addConstant({.shape = {kColumns, kColumns}}, weights, memory));
    const Tensor b = TAKE(graph.addConstant({.shape = {kColumns}},
                                            std::span<const float>(Floats(kColumns, 0.5F))));
    const Tensor first = TAKE(graph.addTensor({.shape = {rows, kColumns}}));
    const Tensor second = TAKE(graph.addTensor({.shape = {rows, kColumns}}));
    const Tensor sum = TAKE(graph.addTensor({.shape = {rows, kColumns}}));
    const Tensor y = TAKE(graph.addTensor({.shape = {rows, kColumns}}, "y"));
    WORKS(graph.addNode("FullyConnected", {}, {x, w, b}, {first}, "first"));
    WORKS(graph.addNode("FullyConnected", {}, {first, w, b}, {second}, "second"));
    WORKS(graph.addNode("Binary", {{"function", "ADD"}}, {x, second}, {sum}));
    WORKS(graph.addNode("Activate", {{"function", "RELU"}}, {sum}, {y}));
    WORKS(graph.setInputs({x}));
    WORKS(graph.setOutputs({y}));
    return graph;
}

// Runs until memory is what it stays, then counts what the next runs allocate and copy.
void claimSteady(Execution& execution, std::span<const Input> inputs, std::span<Output> outputs,
                 uint64_t copied, bool countsAll, const halyard::RunOptions& options, int line) {
    for (int i = 0; i < 3; ++i) {
        works(execution.run(inputs, outputs, options), line);
    }
    allocations = 0;
    ownAllocations = 0;
    counting = true;
    Status status;
    for (int i = 0; i < 5 && status.ok(); ++i) {
        status = execution.run(inputs, outputs, options);
    }
    counting = false;
    works(status, line);
    const size_t counted = countsAll ? allocations : ownAllocations;
    claim(counted == 0 ? 1 : 0, "allocates nothing", std::to_string(counted).c_str(), line);
    const uint64_t bytes = execution.report().copied_bytes;
    claim(bytes == copied ? 1 : 0, "copies as many bytes as it may", std::to_string(bytes).c_str(),
          line);
}

void countsWhatIsAllocated() {
    allocations = 0;
    counting = true;
    // The compiler may leave out what it sees being given back.
    void* volatile plain = std::malloc(10);
    int* volatile made = new int(3);
    counting = false;
    std::free(plain);
    delete made;
    CLAIM(allocations == 2 && ownAllocations == 0);
    counting = true;
    Runtime runtime = TAKE(Runtime::create());
    counting = false;
    CLAIM(ownAllocations > 0);
}

struct Reference {
    Floats weights = countUp(kColumns * kColumns);
    Floats in = countUp(static_cast<size_t>(kRows * kColumns));
    Floats out = Floats(in.size());
    Floats twice = Floats(in.size());  // of `out`

    Reference() {
        // Small enough for two layers of two programs.
        for (float& weight : weights) {
            weight *= 0.01F;
        }
        const Runtime runtime = TAKE(Runtime::create({.backends = "CpuRef"}));
        const Memory memory = TAKE(Memory::borrow(std::as_writable_bytes(std::span(weights))));
        const Program program = TAKE(Program::compile(runtime, layers(weights, memory, kRows)));
        Execution execution = TAKE(Execution::create(program));
        for (const auto& [from, to] : {std::pair(&in, &out), std::pair(&out, &twice)}) {
            const Input input = Input::of(std::span<const float>(*from), {kRows, kColumns});
            Output output = Output::of(std::span(*to));
            WORKS(execution.run({&input, 1}, {&output, 1}));
        }
    }
    static bool near(const Floats& a, const Floats& b) {
        bool is = a.size() == b.size();
        for (size_t i = 0; is && i < a.size(); ++i) {
            const float difference = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
            is = difference <= 1e-4F + 1e-4F * (b[i] > 0 ? b[i] : -b[i]);
        }
        return is;
    }
};

// Pointers, pointers in a borrowed memory, and an allocator, for shapes that are known or not.
void runsInPlace(const Runtime& runtime, Reference& reference, bool onDevice) {
    const uint64_t copied = onDevice ? 2 * kBytes : 0;
    const Memory weights =
            TAKE(Memory::borrow(std::as_writable_bytes(std::span(reference.weights))));
    Floats in = reference.in;
    Floats out(in.size());
    for (const int32_t rows : {kRows, -1}) {
        const Program program =
                TAKE(Program::compile(runtime, layers(reference.weights, weights, rows)));
        const halyard_memory_requirements told = TAKE(program.inputMemory(0));
        CLAIM(told.alignment == sizeof(float) && told.padding == 0);
        CLAIM(told.homes ==
              (onDevice ? HALYARD_HOME_DEVICE : HALYARD_HOME_POINTER | HALYARD_HOME_SHARED));
        CLAIM(TAKE(program.outputMemory(0)).homes == told.homes);
        Execution execution = TAKE(Execution::create(program));
        Input input = Input::of(std::span<const float>(in), {kRows, kColumns});
        Output output = Output::of(std::span(out));
        claimSteady(execution, {&input, 1}, {&output, 1}, copied, !onDevice, {}, __LINE__);
        CLAIM(Reference::near(out, reference.out));

        const Memory lent = TAKE(Memory::borrow(std::as_writable_bytes(std::span(in))));
        const Memory room = TAKE(Memory::borrow(std::as_writable_bytes(std::span(out))));
        out.assign(out.size(), 0.0F);
        input = Input::in({&lent, 0, kBytes}, {kRows, kColumns});
        output = Output::in({&room, 0, kBytes});
        claimSteady(execution, {&input, 1}, {&output, 1}, copied, !onDevice, {}, __LINE__);
        CLAIM(Reference::near(out, reference.out));

        out.assign(out.size(), 0.0F);
        output = {};
        size_t asked = 0;
        const halyard::RunOptions gives = {.allocate = [&](size_t index,
                                                           std::span<const int32_t> shape,
                                                           size_t size, size_t alignment) -> void* {
            ++asked;
            CLAIM(index == 0 && shape.size() == 2 && shape[0] == kRows);
            CLAIM(size == kBytes && alignment == sizeof(float));
            return out.data();
        }};
        works(execution.run({&input, 1}, {&output, 1}, gives), __LINE__);
        CLAIM(asked == 1 && output.bytes.data() == reinterpret_cast<std::byte*>(out.data()));
        CLAIM(output.bytes.size() == kBytes && Reference::near(out, reference.out));
        // The room that it has then is not asked for again.
        claimSteady(execution, {&input, 1}, {&output, 1}, copied, !onDevice, gives, __LINE__);
        CLAIM(asked == 1);
    }
}

// A copy is made where memory is not aligned, and counted.
void countsWhatItCopies(const Runtime& runtime, Reference& reference) {
    const Memory weights =
            TAKE(Memory::borrow(std::as_writable_bytes(std::span(reference.weights))));
    const Program program =
            TAKE(Program::compile(runtime, layers(reference.weights, weights, kRows)));
    Execution execution = TAKE(Execution::create(program));
    std::vector<std::byte> bytes(kBytes + 1);
    std::memcpy(bytes.data() + 1, reference.in.data(), kBytes);
    Floats out(reference.in.size());
    const Input input = {std::span<const std::byte>(bytes).subspan(1), {kRows, kColumns}};
    Output output = Output::of(std::span(out));
    claimSteady(execution, {&input, 1}, {&output, 1}, kBytes, true, {}, __LINE__);
    CLAIM(Reference::near(out, reference.out));
}

// Borrowed memory is let go of when nothing needs its bytes any more.
void keepsWhatItBorrows(const Runtime& runtime, Reference& reference) {
    auto owner = std::make_shared<Floats>(reference.weights);
    const std::weak_ptr<Floats> watched = owner;
    {
        Memory memory = TAKE(Memory::borrow(std::as_writable_bytes(std::span(*owner)), owner));
        const Program program =
                TAKE(Program::compile(runtime, layers(*owner, memory, kRows), {.keepGraph = true}));
        owner = nullptr;
        Memory(std::move(memory));
        // CpuRef reads the weights where they lie; other backends have packed them by now.
        const bool packs = program.placement().front().backend != "CpuRef";
        CLAIM(packs || !watched.expired());
        Execution execution = TAKE(Execution::create(program));
        Floats out(reference.in.size());
        const Input input = Input::of(std::span<const float>(reference.in), {kRows, kColumns});
        Output output = Output::of(std::span(out));
        WORKS(execution.run({&input, 1}, {&output, 1}));
        CLAIM(Reference::near(out, reference.out));
    }
    CLAIM(watched.expired());
}

// Nodes that read one constant have it once, packed or not, also where it was given to each.
void keepsConstantsOnce(const Runtime& runtime) {
    constexpr int32_t kWide = 512;
    Floats weights = countUp(static_cast<size_t>(kWide * kWide));
    for (float& weight : weights) {
        weight /= 7.0F;  // no float16, which would take half
    }
    const size_t bytes = weights.size() * sizeof(float);
    for (const bool sameTensor : {true, false}) {
        Graph graph = TAKE(Graph::create());
        const Tensor x = TAKE(graph.addTensor({.shape = {1, kWide}}));
        Tensor last = x;
        const Tensor b = TAKE(
                graph.addConstant({.shape = {kWide}}, std::span<const float>(Floats(kWide, 0.0F))));
        Tensor w = halyard::kNoTensor;
        for (int i = 0; i < 4; ++i) {
            if (i == 0 || !sameTensor) {
                w = TAKE(graph.addConstant({.shape = {kWide, kWide}},
                                           std::span<const float>(weights)));
            }
            const Tensor next = TAKE(graph.addTensor({.shape = {1, kWide}}));
            WORKS(graph.addNode("FullyConnected", {}, {last, w, b}, {next}));
            last = next;
        }
        WORKS(graph.setInputs({x}));
        WORKS(graph.setOutputs({last}));
        const Program program = TAKE(Program::compile(runtime, graph));
        const size_t saved = TAKE(program.save()).size();
        claim(saved > bytes && saved < 2 * bytes ? 1 : 0, "has four layers' weights once",
              std::to_string(saved).c_str(), __LINE__);
    }
}

// ---- On a device --------------------------------------------------------------------------------

void staysOnTheDevice(const Runtime& runtime, Reference& reference) {
    const Memory weights =
            TAKE(Memory::borrow(std::as_writable_bytes(std::span(reference.weights))));
    const Program program =
            TAKE(Program::compile(runtime, layers(reference.weights, weights, kRows)));
    const halyard_memory_requirements told = TAKE(program.inputMemory(0));
    CLAIM(std::strcmp(told.device, "GpuAcc") == 0 && told.device_alignment > 0);
    Execution first = TAKE(Execution::create(program));
    Execution second = TAKE(Execution::create(program));
    Memory in = TAKE(Memory::create(runtime, "GpuAcc", kBytes));
    const Memory between = TAKE(Memory::create(runtime, "GpuAcc", kBytes));
    const Memory out = TAKE(Memory::create(runtime, "GpuAcc", told.device_alignment + kBytes));
    WORKS(in.write(std::as_bytes(std::span(reference.in))));
    const Input from = Input::in({&in, 0, kBytes}, {kRows, kColumns});
    Output left = Output::in({&between, 0, kBytes});
    claimSteady(first, {&from, 1}, {&left, 1}, 0, false, {}, __LINE__);
    const Input found = Input::in({&between, 0, kBytes}, {kRows, kColumns});
    Output last = Output::in({&out, told.device_alignment, kBytes});
    claimSteady(second, {&found, 1}, {&last, 1}, 0, false, {}, __LINE__);
    Floats result(reference.in.size());
    WORKS(between.read(std::as_writable_bytes(std::span(result))));
    CLAIM(Reference::near(result, reference.out));
    WORKS(out.read(std::as_writable_bytes(std::span(result)), told.device_alignment));
    CLAIM(Reference::near(result, reference.twice));

    // A program on a processor reads and writes it by copies, which count.
    const Runtime host = TAKE(Runtime::create({.backends = "CpuAcc"}));
    const Program there = TAKE(Program::compile(host, layers(reference.weights, weights, kRows)));
    CLAIM((TAKE(there.inputMemory(0)).homes & HALYARD_HOME_DEVICE) == 0);
    Execution third = TAKE(Execution::create(there));
    Output again = Output::in({&between, 0, kBytes});
    claimSteady(third, {&from, 1}, {&again, 1}, 2 * kBytes, false, {}, __LINE__);
    WORKS(between.read(std::as_writable_bytes(std::span(result))));
    CLAIM(Reference::near(result, reference.out));

    // Across runs of one execution with blocks that change places.
    for (const Memory* const target : {&between, &out}) {
        Output output = Output::in({target, 0, kBytes});
        WORKS(first.run({&from, 1}, {&output, 1}));
        CLAIM(first.report().copied_bytes == 0);
        WORKS(target->read(std::as_writable_bytes(std::span(result))));
        CLAIM(Reference::near(result, reference.out));
    }
    if (told.device_alignment > 1) {
        Output output = Output::in({&out, 1, kBytes});
        CLAIM(first.run({&from, 1}, {&output, 1}).code() == HALYARD_INVALID_ARGUMENT);
    }
}

bool has(const Runtime& runtime, const char* backend) {
    for (const std::string& name : runtime.backends()) {
        if (name == backend) {
            return true;
        }
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string backends = argc > 1 ? argv[1] : "CpuAcc";
    const bool onDevice = backends.starts_with("GpuAcc");
    dl_iterate_phdr(&findCode, nullptr);
    countsWhatIsAllocated();
    Reference reference;
    for (const uint32_t threads : {1U, 3U}) {
        const Runtime runtime = TAKE(Runtime::create({.backends = backends, .threads = threads}));
        if (onDevice && !has(runtime, "GpuAcc")) {
            std::printf("no device\n");
            return claims_failed;
        }
        runsInPlace(runtime, reference, onDevice);
        keepsWhatItBorrows(runtime, reference);
        keepsConstantsOnce(runtime);
        if (onDevice) {
            staysOnTheDevice(runtime, reference);
        } else {
            countsWhatItCopies(runtime, reference);
        }
    }
    return claims_failed;
}
