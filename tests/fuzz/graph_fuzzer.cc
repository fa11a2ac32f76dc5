// SPDX-License-Identifier: Apache-2.0
//
// The engine alone: graphs as bytes, verified, planned and run on CpuRef and on CpuAcc with each of
// its instruction sets, chosen by the bytes. What must hold of every graph: what is written is read
// back equal; a second run, one with two threads, and one of a program that was saved give the
// same; CpuAcc ends as CpuRef does, with the same bytes where there are no real numbers; where
// constants lie makes no difference, nor whether the passes have run; memory stays in its limit and
// is given back. GpuAcc builds what it takes, as GPUs go about it, on a device that computes
// nothing; with HALYARD_OPENCL_DEVICE (pthread: PoCL's) some graphs run there, too, and end as they
// do on CpuRef.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/gpu/gpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/compile/compile.h"
#include "engine/graph/serialization.h"
#include "engine/plan/program.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/graph_mutation.h"
#include "tests/fuzz/processor_time.h"
#include "tests/fuzz/seeded_choices.h"
#include "tests/fuzz/target.h"

namespace halyard::fuzz {
namespace {

using engine::ExecutionReport;
using engine::Graph;
using engine::InputBinding;
using engine::OutputBinding;
using engine::Program;
using std::chrono::steady_clock;

constexpr size_t kMemory = size_t{16} << 20;
constexpr size_t kOutputBytes = size_t{1} << 14;
constexpr std::chrono::milliseconds kDeadline{50};
constexpr std::chrono::seconds kPatience{5};  // of processor time

struct Attempt {
    Status status;
    std::vector<engine::Shape> shapes;
    std::vector<std::vector<uint8_t>> outputs;
};

// Inputs of small numbers, of this extent where their shape does not say otherwise.
struct Inputs {
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<InputBinding> bindings;

    Inputs(const Graph& graph, int32_t extent) {
        bytes.resize(graph.inputs().size());
        for (size_t i = 0; i < bytes.size(); ++i) {
            engine::TensorType type = graph.tensor(graph.inputs()[i]).type;
            if (!type.shape.hasKnownRank()) {
                type.shape = {extent, extent};
            }
            for (size_t axis = 0; axis < type.shape.rank(); ++axis) {
                if (type.shape[axis] < 0) {
                    type.shape[axis] = extent;
                }
            }
            const Result<size_t> size = type.byteSize();
            if (size.ok() && *size <= kMemory) {
                bytes[i] = fill(type.type, *size);
            }
            bindings.push_back({.bytes = bytes[i], .shape = type.shape});
        }
    }

    static std::vector<uint8_t> fill(engine::DataType type, size_t size) {
        std::vector<uint8_t> bytes(size);
        for (size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<uint8_t>(i % 7);
        }
        if (type == engine::DataType::FLOAT32 || type == engine::DataType::INT32) {
            for (size_t i = 0; i + 4 <= size; i += 4) {
                const float real = static_cast<float>(i / 4 % 13) / 4 - 1;
                const auto whole = static_cast<int32_t>(i / 4 % 3);
                std::memcpy(
                        bytes.data() + i,
                        type == engine::DataType::INT32 ? static_cast<const void*>(&whole) : &real,
                        4);
            }
        }
        return bytes;
    }
};

Attempt attempt(engine::Execution& execution, const Program& program, const Inputs& inputs) {
    Attempt done;
    done.outputs.resize(program.graph().outputs().size());
    std::vector<OutputBinding> outputs;
    for (std::vector<uint8_t>& bytes : done.outputs) {
        bytes.assign(kOutputBytes, 0xa5);
        outputs.push_back({.bytes = bytes});
    }
    engine::RunOptions options;
    const std::chrono::nanoseconds before = processorTime();
    options.deadline = steady_clock::now() + kDeadline;
    options.loopTimeout = kDeadline / 2;
    ExecutionReport report;
    done.status = execution.run(inputs.bindings, outputs, options, &report);
    require(processorTime() - before < kPatience, "an execution ends in time",
            done.status.toString());
    require(done.status.code() != StatusCode::INTERNAL, "running fails on what the graph asks for",
            done.status.toString());
    for (const engine::OutputReport& output : report.outputs) {
        done.shapes.push_back(output.shape);
    }
    return done;
}

bool hasRealNumbers(const Graph& graph) {
    const auto& tensors = graph.tensors();
    return std::ranges::any_of(tensors,
                               [](const engine::Tensor& tensor) {
                                   return engine::isFloat(tensor.type.type);
                               }) ||
           std::ranges::any_of(graph.nodes(), [](const engine::Node& node) {
               return std::ranges::any_of(engine::nestedGraphs(node),
                                          [](const engine::NestedGraph* nested) {
                                              return hasRealNumbers(*nested->graph);
                                          });
           });
}

// Which of the outputs differ, where, and what of it.
std::string difference(const Attempt& first, const Attempt& second) {
    for (size_t i = 0; i < first.outputs.size(); ++i) {
        const auto [one, other] = std::ranges::mismatch(first.outputs[i], second.outputs[i]);
        if (one != first.outputs[i].end()) {
            return "output " + std::to_string(i) + " of " + first.shapes[i].toString() + ", byte " +
                   std::to_string(one - first.outputs[i].begin()) + ": " + std::to_string(*one) +
                   " / " + std::to_string(*other);
        }
    }
    return {};
}

void compare(const Attempt& first, const Attempt& second, std::string_view claim) {
    if (first.status.code() == StatusCode::DEADLINE_EXCEEDED ||
        second.status.code() == StatusCode::DEADLINE_EXCEEDED) {
        return;
    }
    require(first.status.code() == second.status.code(), claim,
            first.status.toString() + " / " + second.status.toString());
    require(first.shapes == second.shapes, claim, "other shapes");
    require(!first.status.ok() || first.outputs == second.outputs, claim,
            difference(first, second));
}

class Examiner {
  public:
    void examine(const Graph& graph, size_t seed) {
        checkBytes(graph);
        // Nothing is an extent, too.
        mExtent = static_cast<int32_t>(seed / 5 % 4 == 0 ? seed / 20 % 2 : 2);
        const std::optional<Attempt> expected = run(graph, {mCpuRef.get()});
        const engine::Backend& tuned = *mCpuAcc[seed % mCpuAcc.size()];
        const std::optional<Attempt> actual = run(graph, {&tuned, mCpuRef.get()});
        if (expected.has_value() && actual.has_value()) {
            compareBackends(*expected, *actual, !hasRealNumbers(graph));
        }
        if (expected.has_value()) {
            checkPasses(graph, *expected);
        }
        checkGpu(graph, expected, seed);
        Graph sharing = graph;
        if (actual.has_value() && shareConstants(sharing) > 0) {
            const auto shared = run(sharing, {&tuned, mCpuRef.get()});
            // It needs less memory.
            if (shared.has_value() && actual->status.code() != StatusCode::RESOURCE_EXHAUSTED) {
                compare(*actual, *shared, "constants that share memory give the same");
            }
        }
    }

  private:
    // Its result with one thread. None where it can't be built.
    std::optional<Attempt> run(const Graph& graph, const engine::BackendList& backends) {
        const auto memory = std::make_shared<Budget>(kMemory);
        std::optional<Attempt> alone;
        for (const std::shared_ptr<ThreadPool>& threads : mPools) {
            const auto program = build(graph, backends, {.threads = threads, .memory = memory});
            if (!program.ok()) {
                break;
            }
            const Inputs inputs((*program)->graph(), mExtent);
            engine::Execution execution = engine::Execution::create(*program).value();
            Attempt first = attempt(execution, **program, inputs);
            compare(first, attempt(execution, **program, inputs), "a second run gives the same");
            if (alone.has_value()) {
                compare(*alone, first, "two threads give the same as one");
            } else {
                checkSaved(**program, backends, inputs, first);
            }
            alone = std::move(first);
            require(memory->reserved() <= kMemory, "memory stays in its limit");
        }
        require(memory->reserved() == 0, "memory is given back");
        return alone;
    }

    // Every partition by the backend that takes it.
    static Result<std::shared_ptr<const Program>> build(const Graph& graph,
                                                        const engine::BackendList& backends,
                                                        engine::BuildOptions options) {
        options.movesPartitions = false;
        auto program = [&]() -> Result<std::shared_ptr<const Program>> {
            HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                                     engine::analyze(graph, backends, options.memory));
            return Program::build(std::move(analyzed), backends, options);
        }();
        require(program.status().code() != StatusCode::INTERNAL,
                "building fails on what the graph asks for", program.status().toString());
        return program;
    }

    // On CpuRef, so that only the passes make a difference. A failure without them may have been in
    // a node that is not needed.
    void checkPasses(const Graph& graph, const Attempt& expected) const {
        const auto memory = std::make_shared<Budget>(kMemory);
        const auto program = engine::compile(graph, {mCpuRef.get()}, {.build = {.memory = memory}});
        require(program.ok() || program.status().code() == StatusCode::RESOURCE_EXHAUSTED,
                "what is built is built with the passes", program.status().toString());
        if (!program.ok()) {
            return;
        }
        engine::Execution execution = engine::Execution::create(*program).value();
        const Attempt passed = attempt(execution, **program, Inputs((*program)->graph(), mExtent));
        if (expected.status.ok()) {
            compareBackends(expected, passed, !hasRealNumbers(graph),
                            "the passes leave what is computed");
        }
    }

    void checkGpu(const Graph& graph, const std::optional<Attempt>& expected, size_t seed) const {
        if (mNoGpu != nullptr) {
            const auto program = build(graph, {mNoGpu.get(), mCpuRef.get()}, {});
            if (program.ok()) {
                // Plans it for its shapes, and computes nothing.
                engine::Execution execution = engine::Execution::create(*program).value();
                attempt(execution, **program, Inputs((*program)->graph(), mExtent));
            }
        }
        // Its compiler takes a second for each kernel.
        if (mGpu == nullptr || !expected.has_value() || seed % 8 != 0) {
            return;
        }
        const auto program = build(graph, {mGpu.get(), mCpuRef.get()}, {});
        if (program.ok()) {
            engine::Execution execution = engine::Execution::create(*program).value();
            compareBackends(*expected,
                            attempt(execution, **program, Inputs((*program)->graph(), mExtent)),
                            !hasRealNumbers(graph), "GpuAcc gives what CpuRef does");
        }
    }

    // In a memory of its own: the file takes some, too.
    static void checkSaved(const Program& program, const engine::BackendList& backends,
                           const Inputs& inputs, const Attempt& expected) {
        SectionWriter writer;
        program.save(writer, engine::SavedBlobs::ALL);
        const FileBytes file = FileBytes::of(writer);
        const auto opened = SectionFile::open(file.owner(), file.bytes());
        require(opened.ok(), "what is saved can be opened", opened.status().toString());
        const auto loaded =
                Program::load(*opened, engine::SavedBytes::SHARED, backends,
                              {.threads = nullptr, .memory = std::make_shared<Budget>(kMemory)});
        require(loaded.ok(), "what is saved can be loaded", loaded.status().toString());
        require((*loaded)->constantsFilled() == 0, "what is loaded packs nothing");
        auto execution = engine::Execution::create(*loaded).value();
        compare(expected, attempt(execution, **loaded, inputs), "what is loaded gives the same");
    }

    // Backends differ in what they need of the memory.
    static void compareBackends(const Attempt& expected, Attempt actual, bool exactly,
                                std::string_view claim = "CpuAcc gives what CpuRef does") {
        if (expected.status.code() == StatusCode::RESOURCE_EXHAUSTED ||
            actual.status.code() == StatusCode::RESOURCE_EXHAUSTED) {
            return;
        }
        if (!exactly) {
            actual.outputs = expected.outputs;
        }
        compare(expected, actual, claim);
    }

    static void checkBytes(const Graph& graph) {
        const std::vector<uint8_t> bytes = engine::serialize(graph);
        const Result<Graph> again = engine::deserialize(bytes);
        require(again.ok(), "what is written can be read", again.status().toString());
        require(engine::serialize(*again) == bytes, "what is written is read back equal");
    }

    static std::vector<std::unique_ptr<const engine::Backend>> everyCpuAcc() {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        for (const engine::cpu::InstructionSet set : engine::cpu::availableInstructionSets()) {
            backends.push_back(engine::makeCpuAcc(set));
        }
        return backends;
    }

    // As GPUs go about graphs, on whatever it is.
    static std::unique_ptr<const engine::Backend> gpuOn(const std::string& library,
                                                        const std::string& device) {
        auto gpu =
                engine::makeGpuAcc({.choice = {.library = library, .device = device, .asGpu = true},
                                    .compilesApart = false});
        return gpu.ok() ? std::move(gpu).value() : nullptr;
    }
    static std::unique_ptr<const engine::Backend> namedGpu() {
        const char* const device = std::getenv("HALYARD_OPENCL_DEVICE");
        return device == nullptr ? nullptr : gpuOn("", device);
    }

    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
    const std::unique_ptr<const engine::Backend> mNoGpu = gpuOn(HALYARD_FAKE_OPENCL, "");
    const std::unique_ptr<const engine::Backend> mGpu = namedGpu();
    const std::vector<std::unique_ptr<const engine::Backend>> mCpuAcc = everyCpuAcc();
    const std::vector<std::shared_ptr<ThreadPool>> mPools = {std::make_shared<ThreadPool>(1),
                                                             std::make_shared<ThreadPool>(2)};
    int32_t mExtent = 2;  // of what the graph at hand leaves open
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    // Never destroyed: its threads outlive the last run.
    static Examiner& examiner = *new Examiner;
    if (const auto graph = engine::deserialize(bytes); graph.ok()) {
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        examiner.examine(*graph, std::hash<std::string_view>()(text));
    }
}

}  // namespace halyard::fuzz

extern "C" {

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
    halyard::fuzz::SeededChoices choices(seed);
    auto graph = halyard::engine::deserialize({data, size});
    // Now and then the bytes as such: the reader of graphs takes any.
    if (!graph.ok() || choices.oneIn(16)) {
        return LLVMFuzzerMutate(data, size, maxSize);
    }
    halyard::fuzz::mutate(*graph, choices);
    const std::vector<uint8_t> bytes = halyard::engine::serialize(*graph);
    if (bytes.size() > maxSize) {
        return size;
    }
    std::copy(bytes.begin(), bytes.end(), data);
    return bytes.size();
}

}  // extern "C"
