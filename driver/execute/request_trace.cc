// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/request_trace.h"

#include <unistd.h>

#include "driver/execute/device_state.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kFile = ".json";
constexpr std::string_view kExecute = "execute";

}  // namespace

RequestTrace::RequestTrace(DeviceState& state, engine::TraceSink* asked)
    : mAsked(asked), mMarker(state.marker.get()) {
    if (asked == nullptr) {
        mFile = NumberedDump::begin(state.options.traceDirectory, "execution", kFile, state.traces);
    }
    if (mFile.has_value()) {
        mBegin = Clock::now();
    }
    if (mMarker != nullptr) {
        mMarker->runs(1);
        mMarker->begin(driverSlice(TracePhase::EXECUTION, kExecute));
        ++mMarks;
    }
}

RequestTrace::~RequestTrace() {
    leave();
    if (mMarker != nullptr) {
        endMarks(0);
        mMarker->runs(-1);
    }
    if (mFile.has_value()) {
        mTraces.around(driverSlice(TracePhase::EXECUTION, kExecute), mBegin, Clock::now() - mBegin);
        mFile->write(kFile, mTraces.text({.process = ::getpid(), .thread = ::gettid()}));
    }
}

engine::TraceSink* RequestTrace::sink() {
    if (mMarker == nullptr && !mFile.has_value()) {
        return mAsked;
    }
    return this;
}

void RequestTrace::enter(TracePhase phase, std::string_view detail) {
    if (mMarker == nullptr && !mFile.has_value()) {
        return;
    }
    leave();
    mPart = driverSlice(phase, detail);
    if (mMarker != nullptr) {
        // A run that failed has told of no end.
        endMarks(1);
        mMarker->begin(mPart);
        ++mMarks;
    }
    mPartBegin = Clock::now();
}

void RequestTrace::leave() {
    if (mPart.empty()) {
        return;
    }
    if (mFile.has_value()) {
        mTraces.around(mPart, mPartBegin, Clock::now() - mPartBegin);
    }
    if (mMarker != nullptr) {
        endMarks(1);
    }
    mPart.clear();
}

void RequestTrace::begin(const engine::Trace& work) {
    if (mAsked != nullptr) {
        mAsked->begin(work);
    }
    if (mMarker != nullptr) {
        mMarker->begin(sliceOf(work));
        ++mMarks;
    }
}

void RequestTrace::record(const engine::Trace& work) {
    if (mMarker != nullptr) {
        endMarks(mMarks - 1);
    }
    if (mAsked != nullptr) {
        mAsked->record(work);
    }
    if (mFile.has_value()) {
        mTraces.record(work);
    }
}

void RequestTrace::endMarks(size_t remaining) {
    for (; mMarks > remaining; --mMarks) {
        mMarker->end();
    }
}

}  // namespace halyard::driver
