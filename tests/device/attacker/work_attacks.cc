// SPDX-License-Identifier: Apache-2.0
//
// Attacks on the service's threads and its time.

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

namespace {

constexpr milliseconds kStep{100};

int64_t millisecondsSince(Clock::time_point start) {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
}

Priority priorityOf(const Settings& settings) {
    return settings.against == "high" ? Priority::HIGH : Priority::MEDIUM;
}

// The outcomes of calls that were kept under way.
struct Calls {
    int launched = 0;
    int refused = 0;
    size_t waiting = 0;  // when the time was up
};

// Launches new calls for those that were called back, so that there are as many as the settings say
// all the time. `ended` hears of each that was.
Result<Calls> keepUnderWay(
        Client& client, const Settings& settings,
        const std::function<Result<ErrorStatus>(const std::shared_ptr<Notified>&)>& launch,
        const std::function<void(const Notified&)>& ended = [](const Notified&) {}) {
    Calls calls;
    std::vector<std::shared_ptr<Notified>> running;
    const Clock::time_point end = endOf(settings);
    while (Clock::now() < end) {
        std::erase_if(running, [&](const std::shared_ptr<Notified>& told) {
            if (told->called) {
                ended(*told);
            }
            return told->called;
        });
        while (running.size() < static_cast<size_t>(settings.clients) && Clock::now() < end) {
            const auto told = std::make_shared<Notified>();
            HALYARD_ASSIGN_OR_RETURN(const ErrorStatus answer, launch(told));
            if (answer != ErrorStatus::NONE) {
                ++calls.refused;
                break;
            }
            ++calls.launched;
            running.push_back(told);
        }
        client.link().serveUntil([] { return false; }, kStep);
    }
    calls.waiting = running.size();
    return calls;
}

// A client of a model of `layers` convolutions, whose execution takes seconds for each.
Result<PreparedClient> connectConvolution(const Settings& settings, uint32_t layers) {
    constexpr uint32_t kSide = 256;
    constexpr uint32_t kDepth = 64;
    HALYARD_ASSIGN_OR_RETURN(const Pool weights, Pool::make(kDepth * kDepth * 9 * 4 + kDepth * 4));
    ModelBuilder model;
    convolutionModel(model, kSide, kDepth, layers);
    model.pool(weights);
    return PreparedClient::connect(settings, model, kSide * kSide * kDepth * 4,
                                   priorityOf(settings));
}

// Executions that run as long as a loop may, and many more behind them; new ones for those that
// end.
Status hogSlots(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(
            const PreparedClient prepared,
            settings.against == "convolution"
                    ? connectConvolution(settings, 1)
                    : PreparedClient::connectEndless(settings, priorityOf(settings)));
    HALYARD_ASSIGN_OR_RETURN(
            const Calls calls,
            keepUnderWay(*prepared.client, settings, [&](const std::shared_ptr<Notified>& told) {
                return prepared.client->launch(prepared.model, prepared.request(), told, kLongest);
            }));
    printf("%d executions launched, %d refused, %zu still there\n", calls.launched, calls.refused,
           calls.waiting);
    return {};
}

// Each thread in a synchronous execution that runs as long as a loop may.
Status hogSynchronously(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    printf("%d threads execute synchronously\n", settings.clients);
    const int calls = inThreads(settings, [&](Clock::time_point end) {
        int done = 0;
        while (Clock::now() < end &&
               endless.client
                       ->executeSynchronously(endless.model, endless.request(), kLongest,
                                              kPatienceWithLongest)
                       .ok()) {
            ++done;
            std::this_thread::sleep_for(milliseconds(5));
        }
        return done;
    });
    printf("%d executions answered\n", calls);
    return {};
}

// Models that take long to prepare, one after the other without waiting for any.
Status hogPreparing(const Settings& settings) {
    // As many nodes as a model may have, nearly.
    constexpr uint32_t kIfs = 30;
    constexpr uint32_t kOperations = 1000;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder model;
    branchingModel(model, kIfs, kOperations);
    int prepared = 0;
    HALYARD_ASSIGN_OR_RETURN(const Calls calls,
                             keepUnderWay(
                                     *client, settings,
                                     [&](const std::shared_ptr<Notified>& told) {
                                         return client->launchPrepare(model.finish(), told,
                                                                      kPatience,
                                                                      priorityOf(settings));
                                     },
                                     [&](const Notified& told) {
                                         if (told.handle != 0) {
                                             printf("%d models prepared so far\n", ++prepared);
                                             client->link().release(told.handle);
                                         }
                                     }));
    printf("%d models to prepare, %d prepared, %d refused\n", calls.launched, prepared,
           calls.refused);
    return {};
}

// Threads that ask what is supported of a model that is long to look at: one whose operations share
// a large constant, or one of many nodes (--against nodes).
Status hogSupport(const Settings& settings) {
    constexpr uint32_t kOperations = 1000;
    constexpr uint32_t kElements = 64 * 1024;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder model;
    if (settings.against == "nodes") {
        branchingModel(model, 30, kOperations);
    } else {
        chainModel(model, kOperations, kElements);
    }
    const wire::Model& form = model.finish();
    std::atomic<int64_t> worst = 0;
    const int calls = inThreads(settings, [&](Clock::time_point end) {
        int done = 0;
        while (Clock::now() < end) {
            const Clock::time_point start = Clock::now();
            // The kernel may have no room for it just now.
            if (!client->supportedOperations(form, kPatienceWithLongest).ok()) {
                std::this_thread::sleep_for(milliseconds(1));
                continue;
            }
            worst = std::max<int64_t>(worst, millisecondsSince(start));
            ++done;
        }
        return done;
    });
    printf("%d answers, the longest after %lld ms\n", calls, static_cast<long long>(worst));
    return {};
}

// An execution that has to be given up.
Status executeInVain(const PreparedClient& prepared, const Times& times, milliseconds patience) {
    const Clock::time_point start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(
            const ErrorStatus status,
            prepared.client->execute(prepared.model, prepared.request(), times, patience));
    printf("ErrorStatus %d after %lld ms\n", static_cast<int>(status),
           static_cast<long long>(millisecondsSince(start)));
    return status == ErrorStatus::NONE ? internalError("it ran to its end") : Status();
}

// An execution with a deadline behind --clients others of the same client that take much longer. It
// must be given up while it waits.
Status waitBehindOwn(const Settings& settings) {
    constexpr std::chrono::seconds kDeadline(1);
    constexpr milliseconds kEnough(10000);
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    for (int i = 0; i < settings.clients; ++i) {
        HALYARD_RETURN_IF_ERROR(endless.launch(kLongest).status());
    }
    Times times = kLongest;
    times.deadline = static_cast<uint64_t>(
            std::chrono::nanoseconds((Clock::now() + kDeadline).time_since_epoch()).count());
    return executeInVain(endless, times, kEnough);
}

// One execution that takes minutes and has no deadline, on a service that has a longest running
// time.
Status runLong(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient prepared, connectConvolution(settings, 16));
    return executeInVain(prepared, {}, kPatience);
}

// Threads that call whatever is cheap.
Status callWithoutPause(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder model;
    addModel(model, 16);
    const wire::Model& form = model.finish();
    const int calls = inThreads(settings, [&](Clock::time_point end) {
        int done = 0;
        while (Clock::now() < end && client->getStatus().ok() &&
               client->supportedOperations(form).ok()) {
            ++done;
        }
        return done;
    });
    printf("%d threads called %d times\n", settings.clients, calls);
    return {};
}

constexpr std::array<NamedAttack, 7> kWorkAttacks = {{
        {"long-execution", runLong, "fails unless the service ends an execution of minutes"},
        {"waiting-deadline", waitBehindOwn,
         "fails unless a deadline fires behind --clients endless executions"},
        {"slot-hog", hogSlots,
         "endless executions, --clients of them at a time; --against "
         "convolution"},
        {"sync-hog", hogSynchronously, "endless synchronous executions in --clients threads"},
        {"prepare-hog", hogPreparing,
         "long prepareModel calls, --clients of them at a time; --against high"},
        {"support-hog", hogSupport, "long getSupportedOperations calls in --clients threads"},
        {"thread-bomb", callWithoutPause, "cheap calls without a pause in --clients threads"},
}};

}  // namespace

std::span<const NamedAttack> workAttacks() {
    return kWorkAttacks;
}

}  // namespace halyard::attacker
