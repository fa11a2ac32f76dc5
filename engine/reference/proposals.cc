// SPDX-License-Identifier: Apache-2.0
//
// Regions that a network proposes, [x1, y1, x2, y2], and regions that it moves.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/box.h"
#include "engine/reference/kernels.h"
#include "engine/reference/suppression.h"

namespace halyard::engine::ref {
namespace {

// An image begins at 0.
struct Image {
    float height = 0.0F;
    float width = 0.0F;
};

Image imageAt(const RealReader& images, int64_t index) {
    return {.height = images[index * 2], .width = images[index * 2 + 1]};
}

// The box as four deltas (of its centre's x and y, of the logarithms of its width and height) move
// it, cut off at the image's edge.
Box moved(const Box& box, const RealReader& deltas, int64_t index, const Image& image) {
    const Side x = sideOf(box.x1, box.x2).moved(deltas[index * 4], deltas[index * 4 + 2]);
    const Side y = sideOf(box.y1, box.y2).moved(deltas[index * 4 + 1], deltas[index * 4 + 3]);
    const auto inside = [](float position, float end) {
        return std::min(std::max(position, 0.0F), end);
    };
    return {.x1 = inside(x.begin(), image.width),
            .y1 = inside(y.begin(), image.height),
            .x2 = inside(x.end(), image.width),
            .y2 = inside(y.end(), image.height)};
}

Status endsBeforeItBegins(const char* what, int64_t index) {
    return invalidArgument(std::string(what) + " " + std::to_string(index) +
                           " ends before it begins");
}

// Proposals of all batches, one batch after the other.
class Proposals {
  public:
    Proposals(const GenerateProposals& node, KernelCall& call)
        : mNode(node),
          mCall(call),
          mScores(call.input(0)),
          mDeltas(call.input(1)),
          mAnchors(call.input(2)),
          mImages(call.input(3)),
          mHeight(call.input(0).shape()[1]),
          mWidth(call.input(0).shape()[2]),
          mAnchorCount(call.input(0).shape()[3]) {}

    Status prepare() {
        const auto all = static_cast<size_t>(countOf(mCall.input(0).shape()));
        HALYARD_ASSIGN_OR_RETURN(mBoxes, mCall.scratch<Box>(all));
        HALYARD_ASSIGN_OR_RETURN(mCandidates, mCall.scratch<Candidate>(all));
        HALYARD_ASSIGN_OR_RETURN(
                mBest, mCall.scratch<int32_t>(
                               hasLimitBefore() ? static_cast<size_t>(mNode.maxBeforeNms) : 0));
        return {};
    }

    Status addBatch(int64_t batch) {
        const int64_t first = mCount;
        const Image image = imageAt(mImages, batch);
        HALYARD_RETURN_IF_ERROR(moveAnchors(batch, image));
        HALYARD_RETURN_IF_ERROR(addCandidates(batch, image));
        HALYARD_ASSIGN_OR_RETURN(
                const int64_t chosen,
                suppressHard(mCall,
                             mCandidates.subspan(static_cast<size_t>(first),
                                                 static_cast<size_t>(mCount - first)),
                             mNode.maxAfterNms > 0 ? mNode.maxAfterNms : -1, mNode.iouThreshold,
                             [&](const Candidate& each) { return boxOf(each); }));
        mCount = first + chosen;
        return {};
    }

    std::span<const Candidate> chosen() const {
        return mCandidates.first(static_cast<size_t>(mCount));
    }
    Box boxOf(const Candidate& candidate) const {
        return mBoxes[static_cast<size_t>(candidate.box)];
    }
    int64_t boxesPerBatch() const { return mHeight * mWidth * mAnchorCount; }

  private:
    bool hasLimitBefore() const {
        return mNode.maxBeforeNms > 0 && mNode.maxBeforeNms < boxesPerBatch();
    }

    // Each anchor stands at each pixel of x, which is as many pixels of the image wide and high
    // as the ratios say.
    Status moveAnchors(int64_t batch, const Image& image) {
        const int64_t first = batch * boxesPerBatch();
        return mCall.inSlices(boxesPerBatch(), 16, [&](int64_t begin, int64_t end) -> Status {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t anchor = i % mAnchorCount;
                const int64_t pixel = i / mAnchorCount;
                const Box box = boxAt(mAnchors, anchor);
                if (!box.isOrdered()) {
                    return endsBeforeItBegins("anchor", anchor);
                }
                const float x = static_cast<float>(pixel % mWidth) * mNode.widthRatio;
                const float y = static_cast<float>(pixel / mWidth) * mNode.heightRatio;
                mBoxes[static_cast<size_t>(first + i)] =
                        moved({box.x1 + x, box.y1 + y, box.x2 + x, box.y2 + y}, mDeltas, first + i,
                              image);
            }
            return {};
        });
    }

    // The batch's boxes of the highest scores, as many as may be suppressed, and of those the large
    // enough ones whose centre is in the image.
    Status addCandidates(int64_t batch, const Image& image) {
        const int64_t first = batch * boxesPerBatch();
        const auto add = [&](int64_t i) {
            const auto index = static_cast<int32_t>(first + i);
            const Box& box = mBoxes[static_cast<size_t>(index)];
            const float width = box.x2 - box.x1;
            const float height = box.y2 - box.y1;
            if (width > mNode.minSize && height > mNode.minSize &&
                box.x1 + width / 2 < image.width && box.y1 + height / 2 < image.height) {
                mCandidates[static_cast<size_t>(mCount++)] = {.box = index,
                                                              .score = mScores[index]};
            }
        };
        if (!hasLimitBefore()) {
            return mCall.forEach(boxesPerBatch(), 4, add);
        }
        HALYARD_RETURN_IF_ERROR(findBest(mCall, boxesPerBatch(), mBest, [&](int32_t i, int32_t j) {
            return isLarger(mScores[first + i], mScores[first + j]);
        }));
        return mCall.forEach(mNode.maxBeforeNms, 4,
                             [&](int64_t i) { add(mBest[static_cast<size_t>(i)]); });
    }

    const GenerateProposals& mNode;
    KernelCall& mCall;
    RealReader mScores;
    RealReader mDeltas;
    RealReader mAnchors;
    RealReader mImages;
    int64_t mHeight;
    int64_t mWidth;
    int64_t mAnchorCount;
    std::span<Box> mBoxes;             // of all scores
    std::span<Candidate> mCandidates;  // the first mCount count
    std::span<int32_t> mBest;          // empty unless few enough are suppressed
    int64_t mCount = 0;
};

}  // namespace

Status run(const BoxTransform& /*node*/, KernelCall& call) {
    const RealReader boxes(call.input(0));
    const RealReader deltas(call.input(1));
    const auto* batches = call.input(2).as<int32_t>();
    const RealReader images(call.input(3));
    const RealWriter output(call.output(0));
    const int32_t imageCount = call.input(3).shape()[0];
    const int64_t classes = call.input(1).shape()[1] / 4;
    for (int64_t roi = 0; roi < call.input(0).shape()[0]; ++roi) {
        const int32_t batch = batches[roi];
        if (batch < 0 || batch >= imageCount) {
            return invalidArgument("region " + std::to_string(roi) + " lies in batch " +
                                   std::to_string(batch) + " of " + std::to_string(imageCount));
        }
        const Box box = boxAt(boxes, roi);
        if (!box.isOrdered()) {
            return endsBeforeItBegins("region", roi);
        }
        const Image image = imageAt(images, batch);
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
        HALYARD_RETURN_IF_ERROR(call.forEach(classes, 16, [&](int64_t i) {
            const int64_t index = roi * classes + i;
            setBox(output, index, moved(box, deltas, index, image));
        }));
    }
    return {};
}

// By batch, and in it by score; of equal scores the lower box first. NNAPI promises the first only,
// and its own implementation has the second.
Status run(const GenerateProposals& node, KernelCall& call) {
    Proposals proposals(node, call);
    HALYARD_RETURN_IF_ERROR(proposals.prepare());
    for (int64_t batch = 0; batch < call.input(0).shape()[0]; ++batch) {
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
        HALYARD_RETURN_IF_ERROR(proposals.addBatch(batch));
    }
    const std::span<const Candidate> chosen = proposals.chosen();
    const auto count = static_cast<int32_t>(chosen.size());
    HALYARD_ASSIGN_OR_RETURN(const TensorView scores, call.allocate(0, {count}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView boxes, call.allocate(1, {count, 4}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView batches, call.allocate(2, {count}));
    const RealWriter scoreWriter(scores);
    const RealWriter boxWriter(boxes);
    return call.forEach(count, 8, [&](int64_t i) {
        const Candidate& each = chosen[static_cast<size_t>(i)];
        scoreWriter.set(i, each.score);
        setBox(boxWriter, i, proposals.boxOf(each));
        batches.as<int32_t>()[i] = static_cast<int32_t>(each.box / proposals.boxesPerBatch());
    });
}

}  // namespace halyard::engine::ref
