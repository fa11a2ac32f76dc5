// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/dispatch/loaded_island.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/checked_math.h"
#include "engine/base/log.h"
#include "engine/base/worker_set.h"
#include "engine/compile/compile.h"
#include "engine/graph/serialization.h"
#include "importers/tflite/model.h"
#include "litert/vendor/processor.h"

namespace halyard::vendor {
namespace {

// Of a resizable model, besides the declared shapes.
constexpr size_t kMostForms = 8;

PortShapes declaredShapes(const BytecodeInfo& info) {
    PortShapes shapes;
    for (const BytecodePort& port : info.inputs) {
        shapes.push_back(port.shape);
    }
    return shapes;
}

std::string shown(std::span<const int32_t> shape) {
    std::string text = "[";
    for (const int32_t extent : shape) {
        text.append(text.size() == 1 ? "" : ", ").append(std::to_string(extent));
    }
    return text + "]";
}

bool takes(const BytecodePort& port, std::span<const int32_t> shape) {
    if (shape.size() != port.shape.size()) {
        return false;
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] != port.shape[axis] && (port.open >> axis & 1U) == 0) {
            return false;
        }
    }
    return true;
}

Status checkPlaces(std::span<const BytecodePort> ports, size_t count, const char* what) {
    std::vector<bool> isThere(count);
    for (const BytecodePort& port : ports) {
        if (port.place == BytecodePort::kUnused) {
            continue;
        }
        if (port.place >= count) {
            return invalidArgument("the bytecode has an " + std::string(what) + " " +
                                   std::to_string(port.place) + ", and its graph " +
                                   std::to_string(count));
        }
        isThere[port.place] = true;
    }
    return std::ranges::find(isThere, false) == isThere.end()
                   ? Status()
                   : invalidArgument("an " + std::string(what) + " of the graph is no port's");
}

}  // namespace

Result<size_t> bytesOf(int32_t elementType, std::span<const int32_t> shape) {
    const size_t bits = elementType > 0 && elementType <= UINT8_MAX
                                ? tflite::bitsOf(static_cast<tflite::ElementType>(elementType))
                                : 0;
    if (bits < 8) {
        return invalidArgument("elements are of type " + std::to_string(elementType));
    }
    std::optional<size_t> bytes = bits / 8;
    for (const int32_t extent : shape) {
        bytes = extent < 0 ? std::nullopt : checkedMultiply(*bytes, static_cast<size_t>(extent));
        if (!bytes.has_value() || *bytes > std::numeric_limits<size_t>::max() / 2) {
            return invalidArgument("a shape is " + shown(shape));
        }
    }
    return *bytes;
}

Result<std::unique_ptr<LoadedIsland>> LoadedIsland::load(Device& device,
                                                         const abi::MemBuffer& bytecode,
                                                         size_t inputs, size_t outputs) {
    HALYARD_ASSIGN_OR_RETURN(Bytecode opened, openBytecode(bytecode));
    if (opened.info.inputs.size() != inputs || opened.info.outputs.size() != outputs) {
        return invalidArgument("the bytecode has " + std::to_string(opened.info.inputs.size()) +
                               " inputs and " + std::to_string(opened.info.outputs.size()) +
                               " outputs, and LiteRT has " + std::to_string(inputs) + " and " +
                               std::to_string(outputs));
    }
    std::unique_ptr<LoadedIsland> island(new LoadedIsland(device, std::move(opened)));
    HALYARD_RETURN_IF_ERROR(island->openBackends());
    const BytecodeInfo& info = island->info();
    if (!info.isProgram) {
        log(info.resizable ? LogLevel::INFO : LogLevel::WARNING,
            "a model is compiled as it is loaded: " + info.reason);
    }
    PortShapes shapes = declaredShapes(info);
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const engine::Program> program,
                             info.isProgram ? island->loadProgram() : island->compileGraph(shapes));
    HALYARD_RETURN_IF_ERROR(island->checkPorts(*program));
    HALYARD_ASSIGN_OR_RETURN(engine::Execution execution, engine::Execution::create(program));
    island->mForms.push_back(std::unique_ptr<Form>(new Form{
            .shapes = std::move(shapes), .program = program, .execution = std::move(execution)}));
    return island;
}

Status LoadedIsland::openBackends() {
    const BytecodeInfo& info = mBytecode.info;
    HALYARD_ASSIGN_OR_RETURN(
            mTuned, openProcessor(info.isProgram ? std::string_view(info.processor) : kHost));
    mReference = engine::makeCpuRef();
    mBackends = {mTuned.get(), mReference.get()};
    return {};
}

Status LoadedIsland::checkPorts(const engine::Program& program) const {
    const engine::Graph& graph = program.graph();
    HALYARD_RETURN_IF_ERROR(checkPlaces(info().inputs, graph.inputs().size(), "input"));
    HALYARD_RETURN_IF_ERROR(checkPlaces(info().outputs, graph.outputs().size(), "output"));
    for (const auto* ports : {&info().inputs, &info().outputs}) {
        for (const BytecodePort& port : *ports) {
            HALYARD_RETURN_IF_ERROR(bytesOf(port.elementType, port.shape).status());
        }
    }
    return {};
}

Result<std::shared_ptr<const engine::Program>> LoadedIsland::loadProgram() {
    const BytecodeInfo& info = mBytecode.info;
    if (info.threads == 0 || info.threads > WorkerSet::kMost) {
        return invalidArgument("the bytecode was compiled for " + std::to_string(info.threads) +
                               " threads");
    }
    const auto loadWith = [&](size_t threads) {
        return engine::Program::load(
                mBytecode.file, mBytecode.trust, mBackends,
                {.threads = mDevice.threads(threads), .compile = {.fastMath = info.fastMath}});
    };
    // Kernels are chosen by the number of threads, too, and may want other constants.
    const size_t wanted = threadCountOf(mDevice.options());
    Result<std::shared_ptr<const engine::Program>> loaded = loadWith(wanted);
    if (!loaded.ok() && wanted != info.threads) {
        loaded = loadWith(info.threads);
        if (loaded.ok()) {
            log(LogLevel::INFO, "the model was compiled for " + std::to_string(info.threads) +
                                        " threads, and runs with as many");
        }
    }
    return loaded;
}

Result<std::shared_ptr<const engine::Program>> LoadedIsland::compileGraph(
        const PortShapes& shapes) {
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, engine::deserialize(mBytecode.graph));
    HALYARD_RETURN_IF_ERROR(checkPlaces(info().inputs, graph.inputs().size(), "input"));
    if (info().resizable) {
        // All but what is given is inferred.
        for (engine::TensorId id = 0; id < graph.tensors().size(); ++id) {
            engine::Tensor& tensor = graph.mutableTensor(id);
            if (!tensor.isConstant()) {
                tensor.type.shape = engine::Shape::unknownRank();
            }
        }
        for (size_t i = 0; i < shapes.size(); ++i) {
            if (info().inputs[i].place != BytecodePort::kUnused) {
                HALYARD_ASSIGN_OR_RETURN(engine::Shape shape, engine::Shape::create(shapes[i]));
                graph.mutableTensor(graph.inputs()[info().inputs[i].place]).type.shape = shape;
            }
        }
    }
    return engine::compile(std::move(graph), mBackends,
                           {.build = {.threads = mDevice.threads(threadCountOf(mDevice.options())),
                                      .compile = {.fastMath = info().fastMath}}});
}

Result<LoadedIsland::Form*> LoadedIsland::formFor(const PortShapes& shapes) {
    for (const std::unique_ptr<Form>& form : mForms) {
        if (form->shapes == shapes) {
            return form.get();
        }
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
        if (!takes(info().inputs[i], shapes[i])) {
            return invalidArgument("input " + std::to_string(i) + " '" + info().inputs[i].name +
                                   "' has the shape " + shown(shapes[i]) +
                                   ", and the model was compiled for " +
                                   shown(info().inputs[i].shape) +
                                   "; the option resizable=on has it take others, along axes from "
                                   "which no node or "
                                   "constant follows");
        }
    }
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const engine::Program> program,
                             compileGraph(shapes));
    HALYARD_ASSIGN_OR_RETURN(engine::Execution execution, engine::Execution::create(program));
    if (mForms.size() > kMostForms) {
        mForms.erase(mForms.begin() + 1);
    }
    mForms.push_back(std::unique_ptr<Form>(
            new Form{.shapes = shapes, .program = program, .execution = std::move(execution)}));
    return mForms.back().get();
}

}  // namespace halyard::vendor
