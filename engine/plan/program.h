// SPDX-License-Identifier: Apache-2.0
//
// Program: a graph that is planned and compiled, ready to run. Execution: the memory for running
// it once at a time. A Program is immutable and shared between threads; each thread runs its own
// Execution.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/section_file.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/plan/assignment.h"
#include "engine/plan/backend.h"
#include "engine/plan/build_options.h"
#include "engine/plan/memory_requirements.h"

namespace halyard::engine {

// Bytes of a device's block that a binding names in place of the host's memory. A partition of that
// device uses them where they lie; the host, and another device, by a copy that is counted.
struct DeviceBytes {
    DeviceMemory* memory = nullptr;  // that the block was allocated from; null: none
    DevicePlace place;               // at a multiple of the memory's alignment
    size_t bytes = 0;
};

struct InputBinding {
    std::span<const uint8_t> bytes;  // at least as long as the shape asks; never written
    Shape shape;                     // fully known
    // False: the input was left out (no bytes), which is an error where a node can't do without it.
    bool present = true;
    // No other process writes to the bytes during the run; otherwise control inputs are copied
    // first.
    bool isPrivate = false;
    DeviceBytes device = {};  // in place of `bytes`

    size_t size() const { return device.memory == nullptr ? bytes.size() : device.bytes; }
};

struct OutputBinding {
    std::span<uint8_t> bytes;  // may be longer than the result
    // The shape that the caller expects; the result must agree wherever it is known.
    Shape shape = Shape::unknownRank();
    bool present = true;      // false: the caller does not want this output
    DeviceBytes device = {};  // in place of `bytes`
};

// Gives memory to outputs of a run whose size was not known before.
class OutputMemory {
  public:
    virtual ~OutputMemory() = default;
    // `bytes` > 0 bytes at a multiple of `alignment`, which no other binding of the run has and
    // which stay the caller's. On the thread that called Execution::run(), once the shape is known
    // and before the output is written, once for each output of a run. A failure ends the run as
    // it is.
    virtual Result<std::span<uint8_t>> allocate(size_t output, const Shape& shape, size_t bytes,
                                                size_t alignment) = 0;
};

struct OutputReport {
    Shape shape;  // real extents; unknown where the run stopped before they were known
    bool sufficient = true;
};

struct ExecutionReport {
    std::vector<OutputReport> outputs;  // one per graph output
    // Inside the backends, and until what devices computed was in the host's memory.
    std::chrono::nanoseconds deviceTime{0};
    size_t copies = 0;            // between the host's memory and that of devices
    uint64_t copiedBytes = 0;     // by them
    uint64_t bindingBytes = 0;    // of inputs and outputs that were not used where they lie
    size_t arenaBytes = 0;        // of the outermost graph
    size_t deviceArenaBytes = 0;  // the same on devices
    size_t deviceTableBytes = 0;  // held there for the shapes of this run
};

struct RunOptions {
    Deadline deadline = {};
    // Set by another thread to end the run at its next checkpoint; null: none does.
    const std::atomic<bool>* cancelled = nullptr;
    const StopCondition* stop = nullptr;  // ends the run like `cancelled`; null: there is none
    // How long a While may take, each time it is run.
    std::chrono::nanoseconds loopTimeout = std::chrono::seconds(2);
    TraceSink* trace = nullptr;  // null: no traces
    // Asked for outputs that are wanted and whose binding is too small; null: the run fails there.
    OutputMemory* outputMemory = nullptr;
};

class Program;

// Movable.
class Execution {
  public:
    // With what its partitions keep for it: fails as their backends do.
    static Result<Execution> create(std::shared_ptr<const Program> program,
                                    const Checkpoint& checkpoint = {});
    ~Execution();
    Execution(Execution&& other) noexcept;
    Execution& operator=(Execution&& other) noexcept;

    // Runs once. Inputs and outputs are read and written in place when aligned to their element
    // size, through a copy otherwise, or where they are control inputs; where they lie on a device,
    // as DeviceBytes has it, and the results are there when this returns. An output may
    // overlap inputs and other outputs: it then takes the way through a copy too, so that it does
    // not show in what the run reads. After the first run with a set of shapes, a run with the same
    // `report` allocates nothing, unless shapes depend on data. Not re-entrant. OUTPUT_TOO_SMALL:
    // `report` says which outputs and how large they would be; no shape is missing. Does not happen
    // where the options have an OutputMemory: the run asks it and goes on. INVALID_ARGUMENT: wrong
    // counts, sizes or shapes, values of a control input that a node can't take, or memory for an
    // output that is not as it was asked for. DEADLINE_EXCEEDED: stopped part-way.
    // RESOURCE_EXHAUSTED: the program's memory has no room for what the run takes. After a failure
    // the bytes of the outputs are undefined. `report` may be null. What a run took is kept for the
    // next, until the Execution's end.
    Status run(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
               const RunOptions& options, ExecutionReport* report);

  private:
    struct State;
    explicit Execution(std::unique_ptr<State> state);
    std::unique_ptr<State> mState;
};

// Who may have made a saved program's bytes, and who may change them.
enum class SavedBytes : uint8_t {
    SHARED,     // made by anyone, and may change at any time
    PRIVATE,    // made by anyone; they change no more
    AUTHENTIC,  // made by save() alone, for this driver, and they change no more
};

// Blobs that backends keep with a program are executed, or say what a device can do (blobs.h).
enum class SavedBlobs : uint8_t {
    NONE,  // where they could be changed unnoticed: backends make them again
    ALL,
};

// Of the sections that save() writes, the first of the constants: control data lies before it.
inline constexpr std::string_view kFirstOfConstants = "constants";

struct ProgramState;

class Program : public std::enable_shared_from_this<Program> {
  public:
    // Partitions, compiles, packs constants and plans memory. UNSUPPORTED names the first node that
    // no backend takes, with every backend's reason. What the program and its executions hold is
    // reserved from the memory, which programs may share; RESOURCE_EXHAUSTED if that has no room
    // for what the backends pack, or could never have room for an arena whose size is known. A
    // partition that does not build, where memory and time are not what is short, goes to the next
    // backend, with a warning in the log and the reason in the placement. Otherwise fails as the
    // backends do. `backends` are those that the graph was analysed for. Takes near-linear time in
    // the size of the graph.
    static Result<std::shared_ptr<const Program>> build(AnalyzedGraph graph,
                                                        const BackendList& backends,
                                                        const BuildOptions& options);
    // Analyses the graph first.
    static Result<std::shared_ptr<const Program>> build(Graph graph, const BackendList& backends,
                                                        std::shared_ptr<ThreadPool> threads,
                                                        std::shared_ptr<Budget> memory = nullptr);
    // A program that save() has written, with the same backends, those that its nodes were assigned
    // to, and the settings that it was built with: kernels are chosen again, but nothing is packed.
    // Packed and other constants are used where they lie in the file; blobs are, where the bytes
    // are AUTHENTIC, and else it is as if there were none. All of the file is reserved from the
    // memory. INVALID_ARGUMENT where it is no program, whole and as it was written; UNSUPPORTED
    // where it is one, but of another version, or of backends that compile otherwise, such as on
    // another processor: then the program has to be built anew. Otherwise fails as build() does.
    static Result<std::shared_ptr<const Program>> load(const SectionFile& file, SavedBytes trust,
                                                       const BackendList& backends,
                                                       const BuildOptions& options);
    ~Program();

    // Adds what load() reads to a file that is then written from where it lies: the graph, what the
    // backends packed and the constants beside it, where nodes were placed, what the backends keep.
    // The program outlives the writer.
    void save(SectionWriter& file, SavedBlobs blobs) const;

    // As assignment and passes have left it; constants that were packed away have no elements.
    const Graph& graph() const;
    std::span<const NodePlacement> placement() const;
    // Every node of every graph, with its index in the placement. The nodes are those that traces
    // name.
    using VisitNode = std::function<void(const Graph& graph, const Node& node, size_t placement)>;
    void forEachNode(const VisitNode& visit) const;
    // Of all graphs; an If or While counts as one, next to the partitions inside.
    size_t partitionCount() const;
    // Of the tensors that one partition writes and another reads, once for each that reads them; If
    // and While read what their graphs do. Without those whose size only a run tells.
    uint64_t bytesBetweenPartitions() const;
    // Copies from one memory to another, in the order of the steps. A run makes each copy once, or
    // as often as a While asks for it; copies for unwanted outputs are left out.
    struct Copy {
        std::string tensor;  // its name, or "graph input 0", "output 0 of <label>"
        std::string from;    // "host", or a device's name
        std::string to;
        uint64_t bytes = 0;  // 0: only a run tells
    };
    std::vector<Copy> copies() const;
    // Of a graph input or output, by its index, which has to be one.
    MemoryRequirements inputMemory(size_t index) const;
    MemoryRequirements outputMemory(size_t index) const;
    // Held by the store of packed constants, beyond the graph's own.
    size_t constantBytes() const;
    // Constants that were packed to make this program: none where it was loaded.
    size_t constantsFilled() const;
    // Bytes that an execution needs for the outermost graph, or 0 when the shapes of a request
    // decide.
    size_t arenaBytes() const;
    // The same on devices.
    size_t deviceArenaBytes() const;
    // Held on devices for as long as the program, by all its partitions.
    size_t deviceConstantBytes() const;

  private:
    friend class Execution;
    using State = ProgramState;
    explicit Program(std::unique_ptr<State> state);
    // With the partitions as they are assigned; `failed` is told the number of one that its backend
    // does not build.
    static Status buildOnce(State& state, const AnalyzedGraph& analyzed,
                            const BackendList& backends, const BuildOptions& options,
                            std::optional<size_t>& failed);
    static Status plan(State& state, const Checkpoint& checkpoint, std::optional<size_t>& failed);
    std::unique_ptr<State> mState;
};

}  // namespace halyard::engine
