// SPDX-License-Identifier: Apache-2.0
//
// Boxes of detected objects, [x1, y1, x2, y2].

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/box.h"
#include "engine/reference/kernels.h"
#include "engine/reference/ranking.h"
#include "engine/reference/suppression.h"

namespace halyard::engine::ref {
namespace {

// The factor of a box's score when one of a higher score overlaps it so much.
float weightOf(const BoxWithNmsLimit& node, float overlap) {
    switch (node.kernel) {
        case BoxWithNmsLimit::Kernel::HARD:
            return overlap < node.iouThreshold ? 1.0F : 0.0F;
        case BoxWithNmsLimit::Kernel::LINEAR:
            return overlap < node.iouThreshold ? 1.0F : 1.0F - overlap;
        case BoxWithNmsLimit::Kernel::GAUSSIAN:
            return std::exp(-overlap * overlap / node.sigma);
    }
    return 1.0F;
}

// Suppresses non-maxima, batch by batch and in it class by class.
class Suppression {
  public:
    Suppression(const BoxWithNmsLimit& node, KernelCall& call)
        : mNode(node),
          mCall(call),
          mScores(call.input(0)),
          mBoxes(call.input(1)),
          mClasses(call.input(0).shape()[1]) {}

    // Room for all that there can be.
    Status prepare() {
        const int64_t rois = mCall.input(0).shape()[0];
        const int64_t most = rois * std::max<int64_t>(mClasses - 1, 0);
        HALYARD_ASSIGN_OR_RETURN(mDetections, mCall.scratch<Candidate>(static_cast<size_t>(most)));
        HALYARD_ASSIGN_OR_RETURN(mBest,
                                 mCall.scratch<int32_t>(static_cast<size_t>(
                                         std::clamp<int64_t>(mNode.maxDetections, 0, most))));
        return {};
    }

    // Adds the detections of a batch, which regions [begin, end) belong to: by class, and by score
    // in a class.
    Status addBatch(int64_t begin, int64_t end) {
        const int64_t first = mCount;
        for (int64_t objectClass = 1; objectClass < mClasses; ++objectClass) {
            const int64_t firstOfClass = mCount;
            HALYARD_RETURN_IF_ERROR(addCandidates(begin, end, objectClass));
            HALYARD_RETURN_IF_ERROR(suppressFrom(firstOfClass));
        }
        return limit(first);
    }

    std::span<const Candidate> detections() const {
        return mDetections.first(static_cast<size_t>(mCount));
    }

  private:
    Candidate& at(int64_t index) { return mDetections[static_cast<size_t>(index)]; }
    Box boxOf(const Candidate& detection) const {
        return boxAt(mBoxes, detection.box * mClasses + detection.objectClass);
    }

    Status addCandidates(int64_t begin, int64_t end, int64_t objectClass) {
        return mCall.inSlices(end - begin, 1, [&](int64_t from, int64_t to) -> Status {
            for (int64_t roi = begin + from; roi < begin + to; ++roi) {
                const float score = mScores[roi * mClasses + objectClass];
                if (!(score > mNode.scoreThreshold)) {
                    continue;
                }
                const Candidate candidate = {.box = static_cast<int32_t>(roi),
                                             .objectClass = static_cast<int32_t>(objectClass),
                                             .score = score};
                if (!boxOf(candidate).isOrdered()) {
                    return invalidArgument("the box of class " + std::to_string(objectClass) +
                                           " of region " + std::to_string(roi) +
                                           " ends before it begins");
                }
                at(mCount++) = candidate;
            }
            return {};
        });
    }

    // Of the candidates of one class, from `first` on, keeps those that no better one suppresses.
    Status suppressFrom(int64_t first) {
        HALYARD_ASSIGN_OR_RETURN(
                const int64_t chosen,
                suppress(
                        mCall,
                        mDetections.subspan(static_cast<size_t>(first),
                                            static_cast<size_t>(mCount - first)),
                        mNode.maxDetections, [&](const Candidate& each) { return boxOf(each); },
                        [&](Candidate& other, float overlap) {
                            other.score *= weightOf(mNode, overlap);
                            return !(other.score < mNode.nmsScoreThreshold);
                        }));
        mCount = first + chosen;
        return {};
    }

    // Keeps the best of a batch's detections, from `first` on, in the order that they have.
    Status limit(int64_t first) {
        const int64_t count = mCount - first;
        if (mNode.maxDetections < 0 || count <= mNode.maxDetections) {
            return {};
        }
        mCount = first;
        if (mBest.empty()) {
            return {};
        }
        const std::span<Candidate> all =
                mDetections.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
        HALYARD_RETURN_IF_ERROR(rankCandidates(mCall, all, mBest));
        const int32_t last = mBest.back();
        const float lastScore = all[static_cast<size_t>(last)].score;
        return mCall.forEach(count, 1, [&](int64_t i) {
            const Candidate& each = all[static_cast<size_t>(i)];
            if (isLarger(each.score, lastScore) ||
                (!isLarger(lastScore, each.score) && i <= last)) {
                at(mCount++) = each;
            }
        });
    }

    const BoxWithNmsLimit& mNode;
    KernelCall& mCall;
    RealReader mScores;
    RealReader mBoxes;
    int64_t mClasses;
    std::span<Candidate> mDetections;  // the first mCount count
    std::span<int32_t> mBest;          // as many as a batch may have
    int64_t mCount = 0;
};

Status writeDetections(KernelCall& call, std::span<const Candidate> detections) {
    const auto count = static_cast<int32_t>(detections.size());
    HALYARD_ASSIGN_OR_RETURN(const TensorView scores, call.allocate(0, {count}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView boxes, call.allocate(1, {count, 4}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView classes, call.allocate(2, {count}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView batches, call.allocate(3, {count}));
    const RealWriter writer(scores);
    const int64_t classCount = call.input(0).shape()[1];
    return withMovedElements(boxes.type->type, [&]<typename T>() -> Status {
        return call.forEach(count, 8, [&](int64_t i) {
            const Candidate& each = detections[static_cast<size_t>(i)];
            writer.set(i, each.score);
            std::copy_n(call.input(1).as<T>() + (each.box * classCount + each.objectClass) * 4, 4,
                        boxes.as<T>() + i * 4);
            classes.as<int32_t>()[i] = each.objectClass;
            batches.as<int32_t>()[i] = call.input(2).as<int32_t>()[each.box];
        });
    });
}

}  // namespace

// By batch, by class, by score; of equal scores the lower region first. NNAPI promises the first
// only, and its own implementation has the other two.
Status run(const BoxWithNmsLimit& node, KernelCall& call) {
    const int64_t rois = call.input(2).shape()[0];
    const auto* batches = call.input(2).as<int32_t>();
    Suppression suppression(node, call);
    HALYARD_RETURN_IF_ERROR(suppression.prepare());
    for (int64_t begin = 0; begin < rois;) {
        int64_t end = begin + 1;
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
        while (end < rois && batches[end] == batches[begin]) {
            HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
            ++end;
        }
        if (batches[begin] < 0 || (begin > 0 && batches[begin] < batches[begin - 1])) {
            return invalidArgument("batch " + std::to_string(batches[begin]) + " of region " +
                                   std::to_string(begin) +
                                   " is negative or below that of the region before");
        }
        HALYARD_RETURN_IF_ERROR(suppression.addBatch(begin, end));
        begin = end;
    }
    return writeDetections(call, suppression.detections());
}

}  // namespace halyard::engine::ref
