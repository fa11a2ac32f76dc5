// SPDX-License-Identifier: Apache-2.0
//
// Detections of a single-shot network: anchors that are moved, and of those the best.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/box.h"
#include "engine/reference/kernels.h"
#include "engine/reference/suppression.h"

namespace halyard::engine::ref {
namespace {

// One batch after the other. Class 0 is the background, and is never detected.
class Postprocessing {
  public:
    Postprocessing(const DetectionPostprocess& node, KernelCall& call)
        : mNode(node),
          mCall(call),
          mScores(call.input(0)),
          mDeltas(call.input(1)),
          mAnchors(call.input(2)),
          mAnchorCount(call.input(0).shape()[1]),
          mClasses(call.input(0).shape()[2]),
          mDeltaLength(call.input(1).shape()[2]),
          mRoom(call.output(0).shape()[1]),
          mScoresOut(call.output(0)),
          mBoxesOut(call.output(1)),
          mClassesOut(call.output(2).as<int32_t>()) {}

    Status prepare() {
        const int64_t most = mNode.regular ? mAnchorCount * (mClasses - 1) : mAnchorCount;
        const int64_t ranked = mNode.regular ? std::min(most, mRoom) : classesPerDetection();
        HALYARD_ASSIGN_OR_RETURN(mBoxes, mCall.scratch<Box>(static_cast<size_t>(mAnchorCount)));
        HALYARD_ASSIGN_OR_RETURN(mCandidates, mCall.scratch<Candidate>(static_cast<size_t>(most)));
        HALYARD_ASSIGN_OR_RETURN(mBest, mCall.scratch<int32_t>(static_cast<size_t>(ranked)));
        return {};
    }

    // Returns how many detections there are.
    Result<int32_t> detect(int64_t batch) {
        mBatch = batch;
        mWritten = 0;
        HALYARD_RETURN_IF_ERROR(moveAnchors());
        HALYARD_RETURN_IF_ERROR(mNode.regular ? detectByClass() : detectByAnchor());
        const int64_t count = mWritten;
        HALYARD_RETURN_IF_ERROR(
                mCall.forEach(mRoom - count, 8, [&](int64_t) { write(0.0F, Box(), 0); }));
        return static_cast<int32_t>(count);
    }

  private:
    Box boxOf(const Candidate& candidate) const {
        return mBoxes[static_cast<size_t>(candidate.box)];
    }
    float scoreOf(int64_t anchor, int64_t objectClass) const {
        return mScores[(mBatch * mAnchorCount + anchor) * mClasses + objectClass];
    }
    int64_t classesPerDetection() const {
        return std::min<int64_t>(mNode.maxClassesPerDetection, mClasses - 1);
    }

    Status moveAnchors() {
        return mCall.forEach(mAnchorCount, 16, [&](int64_t anchor) {
            const int64_t delta = (mBatch * mAnchorCount + anchor) * mDeltaLength;
            const Side y =
                    Side{.centre = mAnchors[anchor * 4], .extent = mAnchors[anchor * 4 + 2]}.moved(
                            mDeltas[delta] / mNode.scaleY, mDeltas[delta + 2] / mNode.scaleH);
            const Side x =
                    Side{.centre = mAnchors[anchor * 4 + 1], .extent = mAnchors[anchor * 4 + 3]}
                            .moved(mDeltas[delta + 1] / mNode.scaleX,
                                   mDeltas[delta + 3] / mNode.scaleW);
            mBoxes[static_cast<size_t>(anchor)] = {x.begin(), y.begin(), x.end(), y.end()};
        });
    }

    Result<int64_t> suppressFrom(int64_t first, int64_t count, int64_t limit) {
        return suppressHard(
                mCall, mCandidates.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                limit, mNode.iouThreshold, [&](const Candidate& each) { return boxOf(each); });
    }

    // Regular: every class on its own, and of all detections the best.
    Status detectByClass() {
        int64_t count = 0;
        for (int64_t objectClass = 1; objectClass < mClasses; ++objectClass) {
            const int64_t first = count;
            HALYARD_RETURN_IF_ERROR(mCall.checkpoint(1));  // there may be no anchors
            HALYARD_RETURN_IF_ERROR(mCall.forEach(mAnchorCount, 1, [&](int64_t anchor) {
                const float score = scoreOf(anchor, objectClass);
                if (score > mNode.scoreThreshold) {
                    mCandidates[static_cast<size_t>(count++)] = {
                            .box = static_cast<int32_t>(anchor),
                            .objectClass = static_cast<int32_t>(objectClass),
                            .score = score};
                }
            }));
            HALYARD_ASSIGN_OR_RETURN(const int64_t chosen,
                                     suppressFrom(first, count - first, mNode.detectionsPerClass));
            count = first + chosen;
        }
        const std::span<int32_t> best =
                mBest.first(static_cast<size_t>(std::min<int64_t>(count, mRoom)));
        HALYARD_RETURN_IF_ERROR(
                rankCandidates(mCall, mCandidates.first(static_cast<size_t>(count)), best));
        return mCall.forEach(static_cast<int64_t>(best.size()), 8, [&](int64_t i) {
            const Candidate& each = mCandidates[static_cast<size_t>(best[static_cast<size_t>(i)])];
            write(each.score, boxOf(each), each.objectClass);
        });
    }

    // Fast: the classes of an anchor share its box, and its best class decides whether it stays.
    Status detectByAnchor() {
        int64_t count = 0;
        for (int64_t anchor = 0; anchor < mAnchorCount; ++anchor) {
            float best = scoreOf(anchor, 1);
            HALYARD_RETURN_IF_ERROR(mCall.forEach(mClasses - 1, 1, [&](int64_t i) {
                best = std::max(best, scoreOf(anchor, i + 1));
            }));
            if (best > mNode.scoreThreshold) {
                mCandidates[static_cast<size_t>(count++)] = {.box = static_cast<int32_t>(anchor),
                                                             .score = best};
            }
        }
        HALYARD_ASSIGN_OR_RETURN(const int64_t chosen, suppressFrom(0, count, mNode.maxDetections));
        for (int64_t i = 0; i < chosen; ++i) {
            const Candidate& each = mCandidates[static_cast<size_t>(i)];
            HALYARD_RETURN_IF_ERROR(findBest(mCall, mClasses - 1, mBest, [&](int32_t a, int32_t b) {
                return isLarger(scoreOf(each.box, a + 1), scoreOf(each.box, b + 1));
            }));
            for (const int32_t best : mBest) {
                write(scoreOf(each.box, best + 1), boxOf(each), best + 1);
            }
        }
        return {};
    }

    // Appends one to the batch's detections.
    void write(float score, const Box& box, int32_t objectClass) {
        const int64_t index = mBatch * mRoom + mWritten++;
        mScoresOut.set(index, score);
        mBoxesOut.set(index * 4, box.y1);
        mBoxesOut.set(index * 4 + 1, box.x1);
        mBoxesOut.set(index * 4 + 2, box.y2);
        mBoxesOut.set(index * 4 + 3, box.x2);
        const int32_t background = mNode.backgroundIsClass ? 0 : 1;
        mClassesOut[index] = std::max(objectClass - background, 0);
    }

    const DetectionPostprocess& mNode;
    KernelCall& mCall;
    RealReader mScores;
    RealReader mDeltas;
    RealReader mAnchors;
    int64_t mAnchorCount;
    int64_t mClasses;
    int64_t mDeltaLength;
    int64_t mRoom;  // detections per batch
    RealWriter mScoresOut;
    RealWriter mBoxesOut;
    int32_t* mClassesOut;
    std::span<Box> mBoxes;  // by anchor
    std::span<Candidate> mCandidates;
    std::span<int32_t> mBest;
    int64_t mBatch = 0;
    int64_t mWritten = 0;
};

}  // namespace

// Places of a batch without a detection are filled with zeros.
Status run(const DetectionPostprocess& node, KernelCall& call) {
    Postprocessing postprocessing(node, call);
    HALYARD_RETURN_IF_ERROR(postprocessing.prepare());
    for (int64_t batch = 0; batch < call.input(0).shape()[0]; ++batch) {
        HALYARD_ASSIGN_OR_RETURN(call.output(3).as<int32_t>()[batch], postprocessing.detect(batch));
    }
    return {};
}

}  // namespace halyard::engine::ref
