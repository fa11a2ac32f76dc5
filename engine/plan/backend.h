// SPDX-License-Identifier: Apache-2.0
//
// Backend: what the planner asks of an implementation of nodes (CpuRef, CpuAcc, GpuAcc, or a
// library loaded at run time).
//
//   Backend              one per process and name; stateless for callers, thread-safe.
//     └ compile() →      CompiledPartition: kernels chosen, room for packed constants asked for.
//          │ finish()      once, when the store of constants is filled: a device uploads, and
//          │               builds its programs. From then on immutable and thread-safe.
//          ├ specialize() →  SpecializedPartition, for one set of input shapes; immutable,
//          │    │            thread-safe.
//          │    └ run()      with memory that the planner provides.
//          └ makeState() →   PartitionState, of one execution, made with it: a queue, its buffers.
//
// Each may fail, with whatever status says best why: INTERNAL for a device that is broken,
// RESOURCE_EXHAUSTED for one that is full. Nothing of what failed is kept.
//
// Shapes known at prepare time give exactly one SpecializedPartition, made then. Otherwise the
// planner specialises at execution and caches by input shapes, absent inputs among them. A
// partition with an output whose shape is found by running reports it through
// RunArguments::allocator.
//
// Memory: a backend asks the store for what it packs, allocates in the stations before run(), and
// there only what it keeps in its state or reserves from RunArguments::memory. It says how many
// bytes of workspace a run needs (its internal tensors and scratch); the planner gives each
// partition a slice of the execution's one arena, and binds partition inputs and outputs either to
// the arena or straight to the caller's memory. Elements in the caller's memory may change while a
// partition runs, because another process may hold the same memory: control inputs (nodes.h) never
// lie there.
//
// A backend whose tensors live elsewhere says so with memory(): inputs and outputs of its
// partitions then lie in that memory, a workspace too if it asks for one, and the planner copies.
// Control inputs of its nodes still lie in the host's, unless readsInMemory().
//
// run() returns when the results are there; where it is given a queue, it may leave them to that,
// with whatever it has had checked. What a partition has a device work with lives until the queue
// is finished. The planner has given the threads back before it runs a partition of a device.
//
// If and While are the planner's: no backend is asked about them. engine/plan/node_by_node.h runs
// a partition kernel by kernel, for backends that have kernels for nodes.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/plan/blobs.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/device_memory.h"
#include "engine/plan/process_needs.h"
#include "engine/plan/tensor_alignment.h"
#include "engine/plan/trace.h"

namespace halyard::engine {

// The nodes of a graph that one backend runs together, in execution order, with the tensors that
// cross the boundary. Constants are read from the graph and are neither inputs nor outputs.
struct Partition {
    std::vector<NodeId> nodes;
    std::vector<TensorId> inputs;   // computed before the partition, or graph inputs
    std::vector<TensorId> outputs;  // read after the partition, or graph outputs
};

// Options that users may set for all backends.
struct CompileOptions {
    bool fastMath = false;  // results may leave NNAPI's tolerance where that is faster
};

// Everything that compiling a partition may need. `constants` ends with the call, the rest is
// shared or outlives the partition.
struct CompileArguments {
    std::shared_ptr<const Graph> graph;  // constants that the partition packs may vanish afterwards
    const Partition& partition;
    ConstantStore& constants;
    std::shared_ptr<Budget> memory;  // null: not limited
    ThreadPool* threads = nullptr;   // never null
    Checkpoint checkpoint = {};      // to be polled: a model may have any number of nodes
    CompileOptions options = {};
    Blobs blobs = {};  // of the backend, which the program keeps
};

// Resources that a partition may draw on once the store is filled.
struct PartitionResources {
    std::span<const std::byte> constants;  // the program's store; stays as long as the partition
    std::shared_ptr<Budget> memory;        // null: not limited
    std::shared_ptr<Budget> deviceMemory;  // bytes on devices (ChargedBuffer); null: not limited
    Checkpoint checkpoint = {};            // to be polled
    Blobs blobs = {};                      // as CompileArguments::blobs

    PartitionResources of(std::string_view backend) const {
        PartitionResources own = *this;
        own.blobs = blobs.of(backend);
        return own;
    }
};

// A backend's state of one execution: runs of it come one after the other, with the same state.
class PartitionState {
  public:
    virtual ~PartitionState() = default;
};

// Gives memory to outputs whose shape a run finds. On the thread that called run().
class OutputAllocator {
  public:
    virtual ~OutputAllocator() = default;
    // INVALID_ARGUMENT if the graph or the caller expects another shape. Where the partition's
    // outputs lie on a device, so does this.
    virtual Result<TensorView> allocate(size_t output, const Shape& shape) = 0;
};

// Memory and data for one run of a partition. All spans are in the order of
// Partition::inputs/outputs.
struct RunArguments {
    std::span<const ConstTensorView> inputs;  // absent ones have no type
    // Types as outputTypes() has them. An output of unknown shape has data == nullptr; the backend
    // asks the allocator for it. An output without elements has an address all the same. Of a
    // backend with memory of its own, inputs that are not control inputs (or for which
    // readsInMemory() holds) and all outputs lie there.
    std::span<const TensorView> outputs;
    OutputAllocator* allocator = nullptr;  // null when every shape is known
    // workspaceBytes() bytes, aligned to kTensorAlignment. Content is undefined on entry.
    std::span<std::byte> workspace;
    DevicePlace deviceWorkspace = {};      // deviceWorkspaceBytes() bytes; none for none
    std::span<const std::byte> constants;  // the program's store
    PartitionState* state = nullptr;       // what makeState() gave
    DeviceQueue* queue = nullptr;          // of the backend's memory; null: to be done on return
    ThreadLease* threads = nullptr;        // never null
    // Polled between nodes, and inside them often enough that none overruns a deadline by much.
    Checkpoint checkpoint = {};
    // For what a run allocates because only data tells its size. Null: not limited.
    std::shared_ptr<Budget> memory;
    std::shared_ptr<Budget> deviceMemory;  // the same for bytes on devices
    TraceSink* trace = nullptr;            // null: no trace
    std::string_view track;                // of its traces, unless it knows better
};

class SpecializedPartition {
  public:
    virtual ~SpecializedPartition() = default;
    // Concrete input shapes give concrete output types; extents found by running stay unknown.
    virtual std::span<const TensorType> outputTypes() const = 0;
    virtual size_t workspaceBytes() const = 0;
    // In the backend's own memory.
    virtual size_t deviceWorkspaceBytes() const { return 0; }
    // Held there for these shapes alone, as long as the partition.
    virtual size_t deviceTableBytes() const { return 0; }
    // May be called from several threads at once, each with its own arguments.
    virtual Status run(const RunArguments& arguments) const = 0;
};

class CompiledPartition {
  public:
    virtual ~CompiledPartition() = default;
    // Called once, before specialize() and makeState(), and after packed(): constants of the graph
    // that the partition has packed may be gone by now. The partition is dropped where it fails.
    virtual Status finish(const PartitionResources& /*resources*/) { return {}; }
    // `inputs` are fully known types in the order of Partition::inputs; null: absent.
    // INVALID_ARGUMENT if a node can't do without it.
    virtual Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) const = 0;
    // For an execution that is being made. Null where the backend keeps nothing.
    virtual Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& /*resources*/) const {
        return std::unique_ptr<PartitionState>();
    }
    // The name of the kernel that computes a node, by its index in Partition::nodes, for people;
    // empty: not told.
    virtual std::string_view kernelOf(size_t /*node*/) const { return {}; }
    // And what else could have, with the reason why it does not; empty: not told.
    virtual std::string_view lostFormsOf(size_t /*node*/) const { return {}; }
    // Constants that the partition has packed, once for each input of a node that it no longer
    // reads them for once the store is filled.
    virtual std::span<const TensorId> packed() const { return {}; }
    // Of constants that it holds in the backend's own memory, once it has finished.
    virtual size_t deviceConstantBytes() const { return 0; }
};

// The kind of processor that computes.
enum class DeviceType : uint8_t { CPU, GPU, ACCELERATOR, OTHER };

class Backend {
  public:
    virtual ~Backend() = default;
    // "CpuRef": the name users give to -c.
    virtual std::string_view name() const = 0;
    virtual DeviceType deviceType() const { return DeviceType::CPU; }
    // All that decides how it compiles a graph: its version, the processor's features, options. A
    // program that was saved with another identity is of no use to it.
    virtual std::string identity() const { return std::string(name()); }
    // OK if the backend runs this node of this graph; otherwise UNSUPPORTED with the reason, in a
    // sentence that fits after "<label>: <backend> ". Depends on the node and its tensors only, so
    // that asking for one operation or for the whole model gives the same answer.
    virtual Status supports(const Graph& graph, NodeId node) const = 0;
    // Compiles nodes it supports.
    virtual Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const = 0;
    // Where the tensors of its partitions live; null: in the host's. As long as the backend.
    virtual DeviceMemory* memory() const { return nullptr; }
    // Whether its partitions read a control input of the node there as well, where only the
    // device writes, and check its values; otherwise the input lies in the host's memory.
    virtual bool readsInMemory(const Graph& /*graph*/, NodeId /*node*/, size_t /*input*/) const {
        return false;
    }
    // Whether it computes FLOAT16 faster than FLOAT32 where results may be rough, so that graphs
    // whose floats are relaxed are better computed as FLOAT16.
    virtual bool prefersFloat16WhereRelaxed() const { return false; }
    // Kernels that it would have, were it allowed to ask the process for more, and what that is, in
    // a sentence for people; empty: none.
    virtual std::string_view withheld() const { return {}; }
    // Needs that remain once the process's system calls are filtered.
    virtual ProcessNeeds needs() const { return {}; }
};

}  // namespace halyard::engine
