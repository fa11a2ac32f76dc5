// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/bundle_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace halyard::runner {

namespace {

using Clock = IsolatedProcess::Clock;
using Event = IsolatedProcess::Event;

// For what belongs to no case: opening the target (which waits for a service to be restarted), and
// closing it.
constexpr std::chrono::seconds kAroundCases(60);

// A case, and where it begins in the bundle.
struct CasePlace {
    uint32_t index = 0;
    uint64_t offset = 0;
};

// A process, and the case it is busy with.
struct Worker {
    std::unique_ptr<IsolatedProcess> process;
    CasePlace place;
    pb::CaseResult result;  // of the case, so far
    bool resultArrived = false;
    bool over = false;  // `result` is final, if only the process ends in order
    Clock::time_point started;
    IsolatedProcess::Deadline deadline;
};

std::chrono::milliseconds limitOf(const pb::RunOptions& options) {
    const double seconds = std::isfinite(options.timeout_s()) ? options.timeout_s() : 0;
    return std::chrono::milliseconds(
            static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1000)));
}

size_t jobsOf(const CommandLine& line) {
    if (line.jobs != 0) {
        return line.jobs;
    }
    return line.service.instance.empty() ? std::max(1U, std::thread::hardware_concurrency()) : 1;
}

class BundleRun {
  public:
    BundleRun(const RunSetup& setup, BundleReader& bundle, ResultWriter& results)
        : mSetup(setup), mBundle(bundle), mResults(results), mLimit(limitOf(setup.options)) {}

    Result<BundleEnd> run() {
        const size_t jobs = jobsOf(mSetup.line);
        for (;;) {
            while (mWorkers.size() < jobs) {
                const std::optional<CasePlace> place = nextPlace();
                if (!place.has_value()) {
                    break;
                }
                HALYARD_RETURN_IF_ERROR(startWorker(*place));
            }
            if (mWorkers.empty()) {
                break;
            }
            wait();
            for (Worker& worker : mWorkers) {
                HALYARD_RETURN_IF_ERROR(attend(worker));
            }
            std::erase_if(mWorkers, [](const Worker& worker) { return worker.process == nullptr; });
        }
        HALYARD_RETURN_IF_ERROR(mBundleStatus);
        return mEndEarly ? BundleEnd::EARLY : BundleEnd::COMPLETE;
    }

  private:
    // Nothing: no more cases, or none is to be begun.
    std::optional<CasePlace> nextPlace() {
        if (mAtEnd || mEndEarly) {
            return std::nullopt;
        }
        const Result<std::optional<uint64_t>> offset = mBundle.skip();
        mBundleStatus = offset.status();
        mAtEnd = !offset.ok() || !offset->has_value();
        if (mAtEnd) {
            return std::nullopt;
        }
        return CasePlace{.index = mCount++, .offset = **offset};
    }

    Status startWorker(CasePlace place) {
        Worker worker;
        HALYARD_ASSIGN_OR_RETURN(worker.process,
                                 IsolatedProcess::start([this](const ParentLink& parent) {
                                     workOnCases(mSetup, parent);
                                 }));
        worker.started = Clock::now();
        give(worker, place);
        worker.deadline = worker.started + kAroundCases;
        mWorkers.push_back(std::move(worker));
        return {};
    }

    void give(Worker& worker, CasePlace place) const {
        worker.place = place;
        worker.result.Clear();
        worker.resultArrived = worker.over = false;
        beginTime(worker);
        worker.process->order(place.offset);
    }

    void beginTime(Worker& worker) const {
        worker.started = Clock::now();
        worker.deadline.reset();
        if (mLimit.count() > 0) {
            worker.deadline = worker.started + mLimit;
        }
    }

    // Until a worker has something to say, or is overdue.
    void wait() const {
        std::vector<int> descriptors;
        IsolatedProcess::Deadline first;
        for (const Worker& worker : mWorkers) {
            descriptors.push_back(worker.process->descriptor());
            if (worker.deadline.has_value() && (!first.has_value() || *worker.deadline < *first)) {
                first = worker.deadline;
            }
        }
        waitForAny(descriptors, first);
    }

    // Takes what the worker says. One that has ended, or is ended, has no process afterwards.
    Status attend(Worker& worker) {
        while (std::optional<Event> event = worker.process->hear()) {
            switch (event->kind) {
                case Event::Kind::READY:
                    beginTime(worker);
                    break;
                case Event::Kind::PROGRESS:
                    worker.result = std::move(event->result);
                    worker.resultArrived = true;
                    break;
                case Event::Kind::FINAL:
                    worker.result = std::move(event->result);
                    worker.resultArrived = true;
                    HALYARD_RETURN_IF_ERROR(finish(worker));
                    break;
                case Event::Kind::ENDED:
                    worker.process.reset();
                    if (!worker.over || !event->inOrder) {
                        fail(worker, pb::STAGE_CRASH, event->reason);
                    }
                    return write(worker);
            }
        }
        if (worker.deadline.has_value() && Clock::now() >= *worker.deadline) {
            const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
                    *worker.deadline - worker.started);
            worker.process.reset();
            fail(worker, pb::STAGE_HANG, "no end after " + std::to_string(waited.count()) + " ms");
            return write(worker);
        }
        return {};
    }

    // The case is over. Its result is held back if the process ends with it.
    Status finish(Worker& worker) {
        worker.result.set_elapsed_ns(elapsed(worker));
        noteEnd(worker.result);
        if (canGoOn(worker.result)) {
            if (const std::optional<CasePlace> place = nextPlace()) {
                HALYARD_RETURN_IF_ERROR(write(worker));
                give(worker, *place);
                return {};
            }
        }
        worker.over = true;
        worker.started = Clock::now();
        worker.deadline = worker.started + kAroundCases;
        worker.process->dismiss();
        return {};
    }

    void fail(Worker& worker, pb::Stage stage, const std::string& what) {
        if (!worker.resultArrived) {
            const Result<pb::TestCase> testCase = readAgain(worker.place);
            worker.result = unfinishedResult(mSetup, testCase.ok() ? *testCase : pb::TestCase());
        }
        if (!worker.over) {
            worker.result.set_elapsed_ns(elapsed(worker));
        }
        std::string step = worker.over ? "closing the target" : worker.result.message();
        if (step.empty()) {
            step = "starting";
        }
        worker.result.set_failed_stage(stage);
        worker.result.set_status(pb::ERROR_STATUS_GENERAL_FAILURE);
        worker.result.set_message(what + " while " + step);
        noteEnd(worker.result);
    }

    // With a reader of its own: the bundle's stands at the next case.
    Result<pb::TestCase> readAgain(CasePlace place) const {
        HALYARD_ASSIGN_OR_RETURN(BundleReader reader, BundleReader::open(mSetup.line.bundle));
        return reader.readAt(place.offset);
    }

    void noteEnd(const pb::CaseResult& result) {
        mEndEarly |= mSetup.line.untilCrash &&
                     (!canGoOn(result) || result.failed_stage() == pb::STAGE_HANG);
    }

    Status write(Worker& worker) {
        if (mSetup.line.untilCrash && foundNoTarget(worker.result)) {
            // It can run when there is a target again.
            return {};
        }
        worker.result.set_index(worker.place.index);
        return mResults.append(worker.result);
    }

    static uint64_t elapsed(const Worker& worker) {
        return static_cast<uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - worker.started)
                        .count());
    }

    const RunSetup& mSetup;
    BundleReader& mBundle;
    ResultWriter& mResults;
    const std::chrono::milliseconds mLimit;
    std::vector<Worker> mWorkers;
    uint32_t mCount = 0;
    bool mAtEnd = false;
    bool mEndEarly = false;
    Status mBundleStatus;
};

}  // namespace

Result<BundleEnd> runBundle(const RunSetup& setup, BundleReader& bundle, ResultWriter& results) {
    return BundleRun(setup, bundle, results).run();
}

}  // namespace halyard::runner
