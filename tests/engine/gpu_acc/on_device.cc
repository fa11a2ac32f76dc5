// SPDX-License-Identifier: Apache-2.0

#include "tests/engine/gpu_acc/on_device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "engine/backends/gpu/gpu_acc.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/thread_pool.h"

namespace halyard::engine::gpu_test {
namespace {

constexpr size_t kZone = 256;
constexpr std::byte kUntouched{0xcd};

// A block of the device with a zone before and behind what it holds.
class ZonedBlock {
  public:
    Status create(DeviceMemory& memory, size_t bytes) {
        mMemory = &memory;
        mBytes = bytes;
        HALYARD_ASSIGN_OR_RETURN(mBuffer, memory.allocate(bytes + 2 * kZone));
        const std::vector<std::byte> untouched(mBuffer->size(), kUntouched);
        return memory.copyIn({.buffer = mBuffer.get(), .offset = 0}, untouched, {});
    }
    DevicePlace place() const { return {.buffer = mBuffer.get(), .offset = kZone}; }
    Status write(std::span<const uint8_t> bytes) {
        return mMemory->copyIn(place(), std::as_bytes(bytes), {});
    }
    // Its contents; a failed expectation where a kernel wrote to a zone.
    Result<std::vector<uint8_t>> read(const std::string& what) const {
        std::vector<std::byte> all(mBuffer->size());
        HALYARD_RETURN_IF_ERROR(mMemory->copyOut(all, {.buffer = mBuffer.get(), .offset = 0}, {}));
        const auto isUntouched = [](std::byte byte) { return byte == kUntouched; };
        EXPECT_TRUE(std::ranges::all_of(std::span(all).first(kZone), isUntouched))
                << "before " << what;
        EXPECT_TRUE(std::ranges::all_of(std::span(all).last(kZone), isUntouched))
                << "behind " << what;
        const auto* const data = reinterpret_cast<const uint8_t*>(all.data()) + kZone;
        return std::vector<uint8_t>(data, data + mBytes);
    }

  private:
    DeviceMemory* mMemory = nullptr;
    size_t mBytes = 0;
    std::unique_ptr<DeviceBuffer> mBuffer;
};

// A graph of one node.
struct OneNode {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    Partition partition = {.nodes = {0}, .inputs = {}, .outputs = {}};
    std::vector<const Values*> given;  // per input of the partition
};

OneNode graphOf(const NodeDescriptor& descriptor, const std::vector<std::optional<Values>>& inputs,
                const std::vector<TensorType>& outputs, const Setting& setting) {
    OneNode one;
    const NodeSignature signature = signatureOf(descriptor);
    Node node = {
            .descriptor = descriptor, .inputs = {}, .outputs = {}, .label = "node", .sources = {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].has_value()) {
            node.inputs.push_back(kNoTensor);
            continue;
        }
        const Values& values = *inputs[i];
        if ((setting.constantInputs >> i & 1) != 0 ||
            (signature.isControlInput(i) && setting.controlInputsAreConstant)) {
            node.inputs.push_back(
                    one.graph->addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                            .value());
            continue;
        }
        TensorType type = values.type;
        for (size_t axis = 0; !setting.shapesAreKnown && axis < type.shape.rank(); ++axis) {
            type.shape[axis] = kUnknownDimension;
        }
        node.inputs.push_back(one.graph->addTensor(type));
        one.partition.inputs.push_back(node.inputs.back());
        one.given.push_back(&values);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        TensorType type = outputs[i];
        if ((signature.output(i)->traits & kFoundByRunning) == 0) {
            type.shape = Shape::unknownRank();
        }
        node.outputs.push_back(one.graph->addTensor(type));
        one.partition.outputs.push_back(node.outputs.back());
    }
    one.graph->addNode(node);
    // Strict float32 does not go to a matrix unit.
    one.graph->setRelaxedFloat(setting.gemm.emulatesMatrixUnit && !setting.gemm.isStrict);
    return one;
}

// A kernel cache that no other process has now; this one holds it until its end. PoCL 3.1 dies of a
// cache that two processes fill with the same kernels: of a binary that is not written to its end
// (assertion len > 0), or of a folder that the other has moved away (signal 11).
std::string holdKernelCache() {
    mkdir(HALYARD_POCL_CACHE, 0755);
    for (int i = 0;; ++i) {
        const std::string path = std::string(HALYARD_POCL_CACHE) + "/" + std::to_string(i);
        mkdir(path.c_str(), 0755);
        const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        // Where none can be had, PoCL says so.
        if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0) {
            return path;
        }
        close(folder);
    }
}

std::unique_ptr<const Backend> openOnDevice(GemmKind gemm, std::optional<size_t> variant) {
    const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
    // PoCL keeps its compiled kernels, and not in the user's own folder. Making code fast that runs
    // once takes it twice as long, and so does compiling a kernel, once it is compiled for any
    // group, again for groups of the size at hand.
    static const std::string cache = holdKernelCache();
    setenv("POCL_CACHE_DIR", cache.c_str(), 0);
    setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
    // A run of all tests hides the devices from the other ones.
    unsetenv("OCL_ICD_VENDORS");
    Result<std::unique_ptr<const Backend>> opened = makeGpuAcc(
            {.choice = {.library = "",
                        .device = named != nullptr ? named : "pthread",
                        .keepsCommandBuffer = gemm.isTiled,
                        .tilesAnywhere = gemm.isTiled,
                        .asGpu = gemm.asGpu,
                        // A device that is named has its own.
                        .emulatesMatrixUnit = gemm.emulatesMatrixUnit && named == nullptr},
             // Both ways; once OpenCL is loaded there is one.
             .compilesApart = gemm.isTiled,
             .compilers = 2,
             .tuning = {.always = variant}});
    return opened.ok() ? *std::move(opened) : nullptr;
}

}  // namespace

const Backend* backend(GemmKind gemm) {
    static std::map<GemmKind, std::unique_ptr<const Backend>> made;
    if (made.empty()) {
        made[GemmKind::TILED] = openOnDevice(GemmKind::TILED, std::nullopt);
    }
    if (!made.contains(gemm)) {
        made[gemm] = openOnDevice(
                gemm, gemm.form < 0 ? std::nullopt : std::optional(static_cast<size_t>(gemm.form)));
    }
    return made[gemm].get();
}

const Backend* backendOfVariant(size_t variant, GemmKind gemm) {
    static std::map<std::pair<size_t, GemmKind>, std::unique_ptr<const Backend>> made;
    // The first one loads OpenCL.
    if (backend() == nullptr) {
        return nullptr;
    }
    auto& one = made[{variant, gemm}];
    if (one == nullptr) {
        one = openOnDevice(gemm, variant);
    }
    return one.get();
}

Result<std::vector<Values>> evaluateOnDevice(const NodeDescriptor& descriptor,
                                             const std::vector<std::optional<Values>>& inputs,
                                             const std::vector<TensorType>& outputs,
                                             const Setting& setting) {
    const Backend& device = setting.variant.has_value()
                                    ? *backendOfVariant(*setting.variant, setting.gemm)
                                    : *backend(setting.gemm);
    const OneNode one = graphOf(descriptor, inputs, outputs, setting);
    HALYARD_RETURN_IF_ERROR(device.supports(*one.graph, 0));
    DeviceMemory& memory = *device.memory();
    ThreadPool threads(1);
    ConstantNumbers().number(*one.graph);
    ConstantStore store;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<CompiledPartition> compiled,
                             device.compile({.graph = one.graph,
                                             .partition = one.partition,
                                             .constants = store,
                                             .memory = nullptr,
                                             .threads = &threads}));
    HALYARD_ASSIGN_OR_RETURN(const AlignedBuffer constants, store.fill(nullptr, {}));
    HALYARD_RETURN_IF_ERROR(compiled->finish(
            {.constants = constants.bytes(), .memory = nullptr, .deviceMemory = nullptr}));

    std::vector<ZonedBlock> blocks(one.given.size());
    std::vector<ConstTensorView> views;
    std::vector<const TensorType*> types;
    for (size_t i = 0; i < one.given.size(); ++i) {
        const Values& values = *one.given[i];
        HALYARD_RETURN_IF_ERROR(blocks[i].create(memory, values.bytes.size()));
        HALYARD_RETURN_IF_ERROR(blocks[i].write(values.bytes));
        const DevicePlace place = blocks[i].place();
        views.push_back({.type = &values.type, .device = place.buffer, .offset = place.offset});
        types.push_back(&values.type);
    }
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const SpecializedPartition> shaped,
                             compiled->specialize(types, {}));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionState> state, compiled->makeState({}));
    const std::vector<TensorType> found(shaped->outputTypes().begin(), shaped->outputTypes().end());
    std::vector<ZonedBlock> results(found.size());
    std::vector<TensorView> outputViews;
    for (size_t i = 0; i < found.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, found[i].byteSize());
        HALYARD_RETURN_IF_ERROR(results[i].create(memory, bytes));
        const DevicePlace place = results[i].place();
        outputViews.push_back({.type = &found[i], .device = place.buffer, .offset = place.offset});
    }
    ZonedBlock workspace;
    HALYARD_RETURN_IF_ERROR(workspace.create(memory, shaped->deviceWorkspaceBytes()));
    ThreadLease lease = ThreadLease::take(&threads);
    // A second time with what the first has left behind.
    for (int i = 0; i < 2; ++i) {
        HALYARD_RETURN_IF_ERROR(shaped->run({.inputs = views,
                                             .outputs = outputViews,
                                             .allocator = nullptr,
                                             .workspace = {},
                                             .deviceWorkspace = workspace.place(),
                                             .constants = constants.bytes(),
                                             .state = state.get(),
                                             .threads = &lease,
                                             .checkpoint = {},
                                             .memory = nullptr,
                                             .deviceMemory = nullptr,
                                             .track = {}}));
    }
    HALYARD_RETURN_IF_ERROR(workspace.read("the workspace").status());
    for (size_t i = 0; i < blocks.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                                 blocks[i].read("input " + std::to_string(i)));
        EXPECT_EQ(bytes, one.given[i]->bytes) << "input " << i << " is only read";
    }
    std::vector<Values> values;
    for (size_t i = 0; i < found.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                                 results[i].read("output " + std::to_string(i)));
        values.push_back({.type = found[i], .bytes = std::move(bytes)});
    }
    return values;
}

testing::AssertionResult agreesIn(const Setting& setting, const NodeDescriptor& node,
                                  const std::vector<std::optional<Values>>& inputs,
                                  const std::vector<TensorType>& outputs,
                                  std::optional<double> tolerance) {
    const Result<std::vector<Values>> expected = ref_test::evaluateAll(node, inputs, outputs);
    const Result<std::vector<Values>> actual = evaluateOnDevice(node, inputs, outputs, setting);
    const std::string where = setting.shapesAreKnown ? "shapes known: " : "shapes found: ";
    if (actual.ok() != expected.ok()) {
        return testing::AssertionFailure()
               << where << (actual.ok() ? expected : actual).status().toString();
    }
    // A run that finds something wrong says the same, and which node it was.
    const std::string_view said = actual.status().message();
    if (!said.ends_with(expected.status().message()) ||
        actual.status().code() != expected.status().code()) {
        return testing::AssertionFailure()
               << where << actual.status().toString() << ", not " << expected.status().toString();
    }
    for (size_t i = 0; actual.ok() && i < expected->size(); ++i) {
        const DataType type = (*expected)[i].type.type;
        const testing::AssertionResult same = cpu_test::sameValues(
                (*actual)[i], (*expected)[i], tolerance.value_or(cpu_test::toleranceOf(type)),
                tolerance.has_value() ? 1.0 : 1e-3);
        if (!same) {
            return testing::AssertionFailure() << where << "output " << i << ": " << same.message();
        }
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult agrees(const NodeDescriptor& node,
                                const std::vector<std::optional<Values>>& inputs,
                                const std::vector<TensorType>& outputs,
                                std::optional<double> tolerance, uint64_t constantInputs,
                                GemmKind gemm, std::optional<size_t> variant) {
    for (const bool shapesAreKnown : {true, false}) {
        const testing::AssertionResult same = agreesIn({.shapesAreKnown = shapesAreKnown,
                                                        .constantInputs = constantInputs,
                                                        .gemm = gemm,
                                                        .variant = variant},
                                                       node, inputs, outputs, tolerance);
        if (!same) {
            return same;
        }
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult agreesWithControlInputs(const NodeDescriptor& node,
                                                 const std::vector<std::optional<Values>>& inputs,
                                                 const std::vector<TensorType>& outputs,
                                                 std::optional<double> tolerance) {
    for (const bool shapesAreKnown : {true, false}) {
        for (const bool controlInputsAreConstant : {true, false}) {
            const testing::AssertionResult same =
                    agreesIn({.shapesAreKnown = shapesAreKnown,
                              .controlInputsAreConstant = controlInputsAreConstant},
                             node, inputs, outputs, tolerance);
            if (!same) {
                return testing::AssertionFailure()
                       << (controlInputsAreConstant ? "control inputs are constant, "
                                                    : "control inputs are computed, ")
                       << same.message();
            }
        }
    }
    return testing::AssertionSuccess();
}

std::string refusal(const NodeDescriptor& node, const std::vector<std::optional<Values>>& inputs,
                    const std::vector<TensorType>& outputs, const Setting& setting) {
    const OneNode one = graphOf(node, inputs, outputs, setting);
    return std::string(backend()->supports(*one.graph, 0).message());
}

}  // namespace halyard::engine::gpu_test
