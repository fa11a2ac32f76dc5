// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/kernel.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace halyard::litert {

Kernel::Kernel(KernelSurroundings surroundings, PartitionSource source,
               std::optional<PartitionProgram> program, std::vector<std::vector<int32_t>> shapes)
    : mAround(std::move(surroundings)),
      mSource(std::move(source)),
      mProgram(std::move(program)),
      mShapes(std::move(shapes)) {}

Kernel::~Kernel() {
    endProfile();
}

void Kernel::endProfile() {
    if (mProfile != nullptr && mRuns > 0) {
        mAround.profile->add(*mProgram->program, *mProfile, mRuns);
    }
    mProfile = nullptr;
}

Status Kernel::prepare(TfLiteContext* context) {
    const std::vector<int32_t>& given = mSource.given();
    bool hasChanged = !mProgram.has_value();
    for (size_t i = 0; i < given.size() && !hasChanged; ++i) {
        hasChanged = mShapes[i] != shapeOf(context->tensors[given[i]]);
    }
    if (hasChanged) {
        HALYARD_RETURN_IF_ERROR(compile(context));
    }
    if (!mExecution.has_value()) {
        HALYARD_RETURN_IF_ERROR(makeExecution());
    }
    return resizeOutputs(context);
}

Status Kernel::compile(TfLiteContext* context) {
    endProfile();
    // Memory of the old program first: there may not be room for both.
    mExecution.reset();
    mProgram.reset();
    HALYARD_ASSIGN_OR_RETURN(tflite::ImportedGraph imported, mSource.import(*context));
    HALYARD_ASSIGN_OR_RETURN(
            mProgram, compileImported(*mAround.runtime, mAround.threads, std::move(imported)));
    mShapes.clear();
    for (const int32_t tensor : mSource.given()) {
        mShapes.push_back(shapeOf(context->tensors[tensor]));
    }
    return {};
}

Status Kernel::makeExecution() {
    const engine::Graph& graph = mProgram->program->graph();
    mInputSizes.clear();
    mInputs.clear();
    for (const engine::TensorId id : graph.inputs()) {
        HALYARD_ASSIGN_OR_RETURN(const size_t size, graph.tensor(id).type.byteSize());
        mInputSizes.push_back(size);
        mInputs.push_back({.bytes = {}, .shape = graph.tensor(id).type.shape, .isPrivate = true});
    }
    mOutputSizes.clear();
    mOutputs.clear();
    for (const engine::TensorId id : graph.outputs()) {
        HALYARD_ASSIGN_OR_RETURN(const size_t size, graph.tensor(id).type.byteSize());
        mOutputSizes.push_back(size);
        mOutputs.push_back({.bytes = {}, .shape = graph.tensor(id).type.shape});
    }
    HALYARD_ASSIGN_OR_RETURN(mExecution, engine::Execution::create(mProgram->program));
    if (mAround.profile != nullptr) {
        mProfile = std::make_unique<engine::Profile>(mProgram->program);
    }
    mRuns = 0;
    return {};
}

Status Kernel::resizeOutputs(TfLiteContext* context) {
    const size_t count = mProgram->outputs.size() - mProgram->states.size();
    for (size_t i = 0; i < count; ++i) {
        TfLiteTensor& tensor = context->tensors[mProgram->outputs[i]];
        const std::span<const int32_t> extents = mOutputs[i].shape.extents();
        const bool isThere = tensor.dims != nullptr && std::ranges::equal(shapeOf(tensor), extents);
        // Dynamic ones have their memory from here.
        if (isThere && tensor.allocation_type != kTfLiteDynamic) {
            continue;
        }
        // The host frees it.
        auto* const dims = static_cast<TfLiteIntArray*>(
                std::malloc(sizeof(TfLiteIntArray) + extents.size_bytes()));
        if (dims == nullptr) {
            return {StatusCode::RESOURCE_EXHAUSTED, "there is no memory for a shape"};
        }
        dims->size = static_cast<int32_t>(extents.size());
        std::ranges::copy(extents, dims->data);
        if (context->ResizeTensor(context, &tensor, dims) != kTfLiteOk) {
            return internalError("the host does not resize " +
                                 mSource.nameOf(mProgram->outputs[i]) + " to " +
                                 mOutputs[i].shape.toString());
        }
    }
    return {};
}

Status Kernel::bind(TfLiteContext* context, int32_t index, size_t size, uint8_t*& data) const {
    const TfLiteTensor& tensor = context->tensors[index];
    data = static_cast<uint8_t*>(tensor.data);
    if (tensor.bytes < size || (data == nullptr && size > 0)) {
        return invalidArgument(mSource.nameOf(index) + " has " +
                               std::to_string(data == nullptr ? 0 : tensor.bytes) + " bytes for " +
                               std::to_string(size));
    }
    return {};
}

Status Kernel::invoke(TfLiteContext* context) {
    if (!mExecution.has_value()) {
        return invalidArgument("the kernel is not prepared");
    }
    for (size_t i = 0; i < mInputs.size(); ++i) {
        uint8_t* data = nullptr;
        HALYARD_RETURN_IF_ERROR(bind(context, mProgram->inputs[i], mInputSizes[i], data));
        mInputs[i].bytes = {data, mInputSizes[i]};
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        uint8_t* data = nullptr;
        HALYARD_RETURN_IF_ERROR(bind(context, mProgram->outputs[i], mOutputSizes[i], data));
        mOutputs[i].bytes = {data, mOutputSizes[i]};
    }
    const Status status = mExecution->run(mInputs, mOutputs, {.trace = mProfile.get()}, &mLastRun);
    if (!status.ok()) {
        // What it recorded is no whole run.
        mProfile = nullptr;
        return status;
    }
    if (mProfile != nullptr) {
        mProfile->endRun();
    }
    if (mRuns++ == 0 && mAround.report != nullptr) {
        mAround.report->setCopied(mAround.context, mSource.request().operators.front(),
                                  mLastRun.bindingBytes + mLastRun.copiedBytes);
    }
    return {};
}

}  // namespace halyard::litert
