// SPDX-License-Identifier: Apache-2.0
//
// Boxes of detected objects, [x1, y1, x2, y2].

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "engine/backends/ref/kernels.h"
#include "engine/backends/ref/ranking.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"

namespace halyard::engine::ref {
namespace {

struct Box {
    float x1 = 0.0F;
    float y1 = 0.0F;
    float x2 = 0.0F;
    float y2 = 0.0F;

    float area() const { return (x2 - x1) * (y2 - y1); }
};

Box boxAt(const RealReader& boxes, int64_t index) {
    return {boxes[index * 4], boxes[index * 4 + 1], boxes[index * 4 + 2], boxes[index * 4 + 3]};
}

// The area of the intersection over that of the union; NaN of two boxes without area.
float overlapOf(const Box& a, const Box& b) {
    const float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0F);
    const float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0F);
    const float intersection = width * height;
    return intersection / (a.area() + b.area() - intersection);
}

// What the score of a box is multiplied with when one of a higher score overlaps it so much.
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

// A region of interest as an object of one class.
struct Detection {
    int32_t roi = 0;
    int32_t objectClass = 0;
    float score = 0.0F;

    bool isBefore(const Detection& other) const {
        return isLarger(score, other.score) || (!isLarger(other.score, score) && roi < other.roi);
    }
};

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
        HALYARD_ASSIGN_OR_RETURN(mDetections, mCall.scratch<Detection>(static_cast<size_t>(most)));
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
            HALYARD_RETURN_IF_ERROR(suppress(firstOfClass));
        }
        return limit(first);
    }

    std::span<const Detection> detections() const {
        return mDetections.first(static_cast<size_t>(mCount));
    }

  private:
    Detection& at(int64_t index) { return mDetections[static_cast<size_t>(index)]; }
    Box boxOf(const Detection& detection) const {
        return boxAt(mBoxes, detection.roi * mClasses + detection.objectClass);
    }
    bool isFull(int64_t count) const {
        return mNode.maxDetections >= 0 && count >= mNode.maxDetections;
    }

    Status addCandidates(int64_t begin, int64_t end, int64_t objectClass) {
        return mCall.inSlices(end - begin, 1, [&](int64_t from, int64_t to) -> Status {
            for (int64_t roi = begin + from; roi < begin + to; ++roi) {
                const float score = mScores[roi * mClasses + objectClass];
                if (!(score > mNode.scoreThreshold)) {
                    continue;
                }
                const Detection candidate = {.roi = static_cast<int32_t>(roi),
                                             .objectClass = static_cast<int32_t>(objectClass),
                                             .score = score};
                const Box box = boxOf(candidate);
                if (!(box.x1 <= box.x2 && box.y1 <= box.y2)) {
                    return invalidArgument("the box of class " + std::to_string(objectClass) +
                                           " of region " + std::to_string(roi) +
                                           " ends before it begins");
                }
                at(mCount++) = candidate;
            }
            return {};
        });
    }

    // Of the candidates of one class, from `next` on, chooses the best and lessens the scores of
    // the others, as often as there are any left.
    Status suppress(int64_t next) {
        const int64_t first = next;
        for (; next < mCount && !isFull(next - first); ++next) {
            int64_t best = next;
            HALYARD_RETURN_IF_ERROR(mCall.forEach(mCount - next, 1, [&](int64_t i) {
                best = at(next + i).isBefore(at(best)) ? next + i : best;
            }));
            std::swap(at(next), at(best));
            const Box box = boxOf(at(next));
            int64_t kept = next + 1;
            HALYARD_RETURN_IF_ERROR(mCall.forEach(mCount - kept, 16, [&](int64_t i) {
                Detection other = at(next + 1 + i);
                other.score *= weightOf(mNode, overlapOf(boxOf(other), box));
                if (!(other.score < mNode.nmsScoreThreshold)) {
                    at(kept++) = other;
                }
            }));
            mCount = kept;
        }
        mCount = next;
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
        const std::span<Detection> all = mDetections.subspan(static_cast<size_t>(first));
        const auto score = [&](int32_t i) { return all[static_cast<size_t>(i)].score; };
        HALYARD_RETURN_IF_ERROR(findBest(mCall, count, mBest, [&](int32_t i, int32_t j) {
            return isLarger(score(i), score(j));
        }));
        const int32_t last = mBest.back();
        const float lastScore = score(last);
        return mCall.forEach(count, 1, [&](int64_t i) {
            const Detection& each = all[static_cast<size_t>(i)];
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
    std::span<Detection> mDetections;  // the first mCount count
    std::span<int32_t> mBest;          // as many as a batch may have
    int64_t mCount = 0;
};

Status writeDetections(KernelCall& call, std::span<const Detection> detections) {
    const auto count = static_cast<int32_t>(detections.size());
    HALYARD_ASSIGN_OR_RETURN(const TensorView scores, call.allocate(0, {count}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView boxes, call.allocate(1, {count, 4}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView classes, call.allocate(2, {count}));
    HALYARD_ASSIGN_OR_RETURN(const TensorView batches, call.allocate(3, {count}));
    const RealWriter writer(scores);
    const int64_t classCount = call.input(0).shape()[1];
    return withMovedElements(boxes.type->type, [&]<typename T>() -> Status {
        return call.forEach(count, 8, [&](int64_t i) {
            const Detection& each = detections[static_cast<size_t>(i)];
            writer.set(i, each.score);
            std::copy_n(call.input(1).as<T>() + (each.roi * classCount + each.objectClass) * 4, 4,
                        boxes.as<T>() + i * 4);
            classes.as<int32_t>()[i] = each.objectClass;
            batches.as<int32_t>()[i] = call.input(2).as<int32_t>()[each.roi];
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
        int64_t end = begin;
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
        while (end < rois && batches[end] == batches[begin]) {
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
