// SPDX-License-Identifier: Apache-2.0
//
// Attacks on the service's threads and its time.

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/device/attacker/attack.h"
#include "harness/device/attacker/client.h"

namespace halyard::attacker {

namespace {

// The longest that NNAPI lets a loop go on.
constexpr Times kLongest = {.deadline = {}, .loopTimeout = 15'000'000'000};
constexpr milliseconds kStep{100};

Clock::time_point endOf(const Settings& settings) {
    return Clock::now() + std::chrono::seconds(settings.seconds);
}

Priority priorityOf(const Settings& settings) {
    return settings.against == "high" ? Priority::HIGH : Priority::MEDIUM;
}

// Runs `attack` in as many threads as the settings say.
int inThreads(const Settings& settings, const std::function<int()>& attack) {
    std::atomic<int> calls = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < settings.clients; ++i) {
        threads.emplace_back([&] { calls += attack(); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return calls;
}

// Executions that run as long as a loop may, and many more behind them; new ones for those that
// end.
Status hogSlots(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const Priority priority = priorityOf(settings);
    Result<uint32_t> model = invalidArgument("not prepared");
    uint32_t bytes = 4;
    Pool weights;
    if (settings.against == "convolution") {
        constexpr uint32_t kSide = 256;
        constexpr uint32_t kDepth = 64;
        HALYARD_ASSIGN_OR_RETURN(weights, Pool::make(kDepth * kDepth * 9 * 4 + kDepth * 4));
        ModelBuilder builder;
        convolutionModel(builder, kSide, kDepth, 1);
        builder.pool(weights);
        model = client->prepare(builder.finish(), kPatience, priority);
        bytes = kSide * kSide * kDepth * 4;
    } else {
        ModelBuilder builder;
        endlessModel(builder);
        model = client->prepare(builder.finish(), kPatience, priority);
    }
    HALYARD_RETURN_IF_ERROR(model.status());
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(uint64_t{2} * bytes + 64));
    const RequestBuilder request(pool, bytes, bytes);
    std::vector<std::shared_ptr<Notified>> running;
    int launched = 0;
    int refused = 0;
    const Clock::time_point end = endOf(settings);
    while (Clock::now() < end) {
        std::erase_if(running, [](const auto& told) { return told->called; });
        while (running.size() < static_cast<size_t>(settings.clients) && Clock::now() < end) {
            const auto told = std::make_shared<Notified>();
            const Result<ErrorStatus> answer =
                    client->launch(*model, request.request(), told, kLongest);
            HALYARD_RETURN_IF_ERROR(answer.status());
            if (*answer != ErrorStatus::NONE) {
                ++refused;
                break;
            }
            ++launched;
            running.push_back(told);
        }
        client->link().serveUntil([] { return false; }, kStep);
    }
    printf("%d executions launched, %d refused, %zu still there\n", launched, refused,
           running.size());
    return {};
}

// Each thread in a synchronous execution that runs as long as a loop may.
Status hogSynchronously(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder builder;
    endlessModel(builder);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t model, client->prepare(builder.finish()));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    const RequestBuilder request(pool, 4, 4);
    const Clock::time_point end = endOf(settings);
    printf("%d threads execute synchronously\n", settings.clients);
    const int calls = inThreads(settings, [&] {
        int done = 0;
        while (Clock::now() < end && client->executeSynchronously(model, request.request(),
                                                                  kLongest, std::chrono::minutes(2))
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
    const Clock::time_point end = endOf(settings);
    std::vector<std::shared_ptr<Notified>> running;
    int launched = 0;
    int refused = 0;
    int prepared = 0;
    int said = -1;
    while (Clock::now() < end) {
        std::erase_if(running, [&](const std::shared_ptr<Notified>& told) {
            if (told->called && told->handle != 0) {
                ++prepared;
                client->link().release(told->handle);
            }
            return told->called;
        });
        while (running.size() < static_cast<size_t>(settings.clients) && Clock::now() < end) {
            const auto told = std::make_shared<Notified>();
            const Result<ErrorStatus> answer =
                    client->launchPrepare(model.finish(), told, kPatience, priorityOf(settings));
            HALYARD_RETURN_IF_ERROR(answer.status());
            if (*answer != ErrorStatus::NONE) {
                ++refused;
                break;
            }
            ++launched;
            running.push_back(told);
        }
        client->link().serveUntil([] { return false; }, kStep);
        if (prepared != said) {
            printf("%d models to prepare, %d prepared so far\n", launched, prepared);
            said = prepared;
        }
    }
    printf("%d models to prepare, %d prepared, %d refused\n", launched, prepared, refused);
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
    const Clock::time_point end = endOf(settings);
    std::atomic<int64_t> worst = 0;
    const int calls = inThreads(settings, [&] {
        int done = 0;
        while (Clock::now() < end) {
            const Clock::time_point start = Clock::now();
            // The kernel may have no room for it just now.
            if (!client->supportedOperations(form, std::chrono::minutes(2)).ok()) {
                std::this_thread::sleep_for(milliseconds(1));
                continue;
            }
            worst = std::max<int64_t>(
                    worst, std::chrono::duration_cast<milliseconds>(Clock::now() - start).count());
            ++done;
        }
        return done;
    });
    printf("%d answers, the longest after %lld ms\n", calls, static_cast<long long>(worst));
    return {};
}

// An execution with a deadline behind --clients others of the same client that take much longer. It
// must be given up while it waits.
Status waitBehindOwn(const Settings& settings) {
    constexpr std::chrono::seconds kDeadline(1);
    constexpr milliseconds kEnough(10000);
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder builder;
    endlessModel(builder);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t model, client->prepare(builder.finish()));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    const RequestBuilder request(pool, 4, 4);
    for (int i = 0; i < settings.clients; ++i) {
        HALYARD_RETURN_IF_ERROR(
                client->launch(model, request.request(), std::make_shared<Notified>(), kLongest)
                        .status());
    }
    Times times = kLongest;
    times.deadline = static_cast<uint64_t>(
            std::chrono::nanoseconds((Clock::now() + kDeadline).time_since_epoch()).count());
    const Clock::time_point start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(const ErrorStatus status,
                             client->execute(model, request.request(), times, kEnough));
    printf("ErrorStatus %d after %lld ms\n", static_cast<int>(status),
           static_cast<long long>(
                   std::chrono::duration_cast<milliseconds>(Clock::now() - start).count()));
    return status == ErrorStatus::NONE ? internalError("it ran") : Status();
}

// One execution that takes minutes and has no deadline, on a service that has a longest running
// time.
Status runLong(const Settings& settings) {
    constexpr uint32_t kSide = 256;
    constexpr uint32_t kDepth = 64;
    constexpr uint32_t kBytes = kSide * kSide * kDepth * 4;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    HALYARD_ASSIGN_OR_RETURN(const Pool weights, Pool::make(kDepth * kDepth * 9 * 4 + kDepth * 4));
    ModelBuilder builder;
    convolutionModel(builder, kSide, kDepth, 16);
    builder.pool(weights);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t model, client->prepare(builder.finish()));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(uint64_t{2} * kBytes + 64));
    const RequestBuilder request(pool, kBytes, kBytes);
    const Clock::time_point start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(const ErrorStatus status, client->execute(model, request.request()));
    printf("ErrorStatus %d after %lld ms\n", static_cast<int>(status),
           static_cast<long long>(
                   std::chrono::duration_cast<milliseconds>(Clock::now() - start).count()));
    return status == ErrorStatus::NONE ? internalError("it ran to its end") : Status();
}

// Threads that call whatever is cheap.
Status callWithoutPause(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const Clock::time_point end = endOf(settings);
    const int calls = inThreads(settings, [&] {
        int done = 0;
        ModelBuilder model;
        addModel(model, 16);
        while (Clock::now() < end && client->getStatus().ok() &&
               client->supportedOperations(model.finish()).ok()) {
            ++done;
        }
        return done;
    });
    printf("%d threads called %d times\n", settings.clients, calls);
    return {};
}

constexpr std::array<NamedAttack, 7> kAttacks = {{
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
    return kAttacks;
}

}  // namespace halyard::attacker
