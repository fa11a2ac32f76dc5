// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/depthwise_patches.h"

#include <algorithm>

#include "engine/backends/cpu/choice/depthwise_choice.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

class ShapedPatches final : public WorkItemKernel {
  public:
    ShapedPatches(const DepthwisePatches& patches, const FloatDepthwise& form,
                  const DepthwiseDefinition& definition, PackedConstant panels)
        : mPatches(patches),
          mForm(form),
          mRange(rangeOf(definition.node.activation)),
          mEpilogue(definition.epilogue),
          mPanels(panels) {}

    Status create() {
        HALYARD_ASSIGN_OR_RETURN(mCopy, mMemory.add(mPatches.copyLength(), sizeof(float)));
        setWorkItems(mPatches.items(), mPatches.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t item, std::byte* memory) const override {
        FloatDepthwisePatch patch =
                mPatches.patchOf(item, call.input(0).as<float>(), call.output(0).as<float>());
        patch.panels = reinterpret_cast<const float*>(mPanels.in(call.constants()).data());
        patch.copy = reinterpret_cast<float*>(memory + mCopy);
        patch.low = mRange.low;
        patch.high = mRange.high;
        mForm.computePatch(patch);
        mEpilogue.apply(call, mPatches.outputRows(item));
    }

    const DepthwisePatches mPatches;
    const FloatDepthwise& mForm;
    const RealRange mRange;
    const Epilogue mEpilogue;
    const PackedConstant mPanels;
    size_t mCopy = 0;
};

}  // namespace

Result<std::optional<DepthwisePatches>> DepthwisePatches::create(
        const DepthwiseDefinition& definition, const FloatDepthwise& form, const Shape& x,
        const Shape& output) {
    const DepthwiseTuning& tuning = definition.tuning.depthwise;
    const Window2d& window = definition.node.window;
    const int64_t side = definition.filterH;
    const Result<int64_t> mostLines =
            patchLines(depthwiseLayerOf(definition, form.lanes, output), tuning);
    if (!mostLines.ok()) {
        return std::optional<DepthwisePatches>();
    }
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(window, x[1], x[2], static_cast<int32_t>(side),
                                           static_cast<int32_t>(side)));
    DepthwisePatches patches;
    FloatDepthwisePatch& patch = patches.mPatch;
    patch.side = side;
    patch.strideH = window.strideH;
    patch.strideW = window.strideW;
    patch.inputH = x[1];
    patch.inputW = x[2];
    patch.top = -int64_t{resolved.top};
    patch.left = -int64_t{resolved.left};
    patch.outputW = output[2];
    patch.channels = definition.channels;
    patches.mLanes = form.lanes;
    patches.mOutputH = output[1];
    patches.mFeatureMaps = output[0];
    // Threads share lines before channels: products before it and behind it do, too, and what
    // another thread has in its cache is slow to come.
    const auto threads = static_cast<int64_t>(definition.threads);
    patches.mLineGroups = std::max(ceilDivide(output[1], *mostLines),
                                   std::clamp<int64_t>(output[1] / tuning.fewestLines, 1, threads));
    patch.lines = ceilDivide(output[1], patches.mLineGroups);
    patches.mLineGroups = ceilDivide(output[1], patch.lines);
    patches.mAllBlocks = ceilDivide(patch.channels, form.lanes);
    const int64_t wanted =
            threads == 1 ? 1
                         : threads * (definition.epilogue.empty() ? tuning.workItemsPerThread
                                                                  : tuning.unitsWithEpilogue);
    const int64_t groups =
            std::clamp(ceilDivide(wanted, patches.mFeatureMaps * patches.mLineGroups),
                       ceilDivide(patches.mAllBlocks, tuning.mostBlocks), patches.mAllBlocks);
    patches.mBlocks = ceilDivide(patches.mAllBlocks, groups);
    patches.mBlockGroups = ceilDivide(patches.mAllBlocks, patches.mBlocks);
    return std::optional<DepthwisePatches>(patches);
}

DepthwisePatches::Place DepthwisePatches::placeOf(int64_t item) const {
    const int64_t group = item / mBlockGroups;
    return {.featureMap = group / mLineGroups,
            .line = group % mLineGroups * mPatch.lines,
            .block = item % mBlockGroups * mBlocks};
}

FloatDepthwisePatch DepthwisePatches::patchOf(int64_t item, const float* x, float* y) const {
    const Place place = placeOf(item);
    FloatDepthwisePatch patch = mPatch;
    patch.lines = std::min(patch.lines, mOutputH - place.line);
    patch.top += place.line * patch.strideH;
    patch.firstBlock = place.block;
    patch.endBlock = std::min(place.block + mBlocks, mAllBlocks);
    patch.x = x + place.featureMap * patch.inputH * patch.inputW * patch.channels;
    patch.y = y + (place.featureMap * mOutputH + place.line) * patch.outputW * patch.channels;
    patch.yPixel = patch.channels;
    return patch;
}

EpilogueRows DepthwisePatches::outputRows(int64_t item) const {
    const Place place = placeOf(item);
    const int64_t channel = place.block * mLanes;
    const int64_t first = (place.featureMap * mOutputH + place.line) * mPatch.outputW;
    return {.begin = first * mPatch.channels + channel,
            .rows = std::min(mPatch.lines, mOutputH - place.line) * mPatch.outputW,
            .row = mPatch.channels,
            .columns = std::min(mBlocks * mLanes, mPatch.channels - channel)};
}

Result<std::shared_ptr<const ShapedKernel>> shapePatches(const DepthwisePatches& patches,
                                                         const FloatDepthwise& form,
                                                         const DepthwiseDefinition& definition,
                                                         PackedConstant panels) {
    auto kernel = std::make_shared<ShapedPatches>(patches, form, definition, panels);
    HALYARD_RETURN_IF_ERROR(kernel->create());
    return std::shared_ptr<const ShapedKernel>(std::move(kernel));
}

}  // namespace halyard::engine::cpu
