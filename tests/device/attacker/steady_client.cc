// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/steady_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/attacker/client.h"

namespace halyard::attacker {

namespace {

constexpr uint32_t kElements = 1024;
constexpr uint32_t kBytes = kElements * sizeof(float);
constexpr std::chrono::milliseconds kPause{20};
constexpr std::chrono::seconds kRefusalPatience{5};

class Stopwatches {
  public:
    // Times a call. One that the kernel refuses, because there is no room in the service's receive
    // buffer just now, is made again for a while.
    Status time(const std::string& kind, const std::function<Status()>& call) {
        const Clock::time_point start = Clock::now();
        Status done = call();
        while (done.code() == StatusCode::INTERNAL &&
               done.message().find(kRefusedByKernel) != std::string_view::npos &&
               Clock::now() - start < kRefusalPatience) {
            ++mRefused;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            done = call();
        }
        const auto took =
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
        mTimes[kind].push_back(took.count());
        return done.withContext(kind + ", after " + std::to_string(took.count()) + " us");
    }
    void print() {
        for (auto& [kind, times] : mTimes) {
            std::ranges::sort(times);
            const auto share = [&times](size_t percent) {
                return static_cast<long long>(times[(times.size() - 1) * percent / 100]);
            };
            printf("%s\t%zu\t%lld\t%lld\t%lld\n", kind.c_str(), times.size(), share(50), share(99),
                   share(100));
        }
        printf("refused by the kernel, and made again: %zu\n", mRefused);
    }

  private:
    std::map<std::string, std::vector<int64_t>> mTimes;
    size_t mRefused = 0;
};

Status fine(const Result<ErrorStatus>& answer) {
    if (!answer.ok()) {
        return answer.status();
    }
    return *answer == ErrorStatus::NONE
                   ? Status()
                   : internalError("ErrorStatus " + std::to_string(static_cast<int32_t>(*answer)));
}

// What a service answers whatever it has to do.
Status callEssentials(Client& client, milliseconds patience, Stopwatches& times) {
    HALYARD_RETURN_IF_ERROR(times.time("getStatus", [&] { return client.getStatus(patience); }));
    HALYARD_RETURN_IF_ERROR(times.time("ping", [&] { return client.ping(patience); }));
    return times.time("debug", [&] {
        HALYARD_ASSIGN_OR_RETURN(const Pool file, Pool::make(0));
        const Status called = client.debug(file.fd, patience);
        close(file.fd);
        return called;
    });
}

Status callAll(Client& client, const wire::Model& model, const wire::Request& request,
               uint32_t kept, milliseconds patience, Stopwatches& times) {
    HALYARD_RETURN_IF_ERROR(callEssentials(client, patience, times));
    HALYARD_RETURN_IF_ERROR(times.time("getSupportedOperations", [&] {
        return fine(client.supportedOperations(model, patience));
    }));
    HALYARD_RETURN_IF_ERROR(times.time("prepareModel", [&] {
        HALYARD_ASSIGN_OR_RETURN(const uint32_t prepared, client.prepare(model, patience));
        client.link().release(prepared);
        return Status();
    }));
    HALYARD_RETURN_IF_ERROR(times.time(
            "execute", [&] { return fine(client.execute(kept, request, {}, patience)); }));
    return times.time("executeSynchronously", [&] {
        return fine(client.executeSynchronously(kept, request, {}, patience));
    });
}

}  // namespace

Status runSteadyClient(const Settings& settings) {
    Stopwatches times;
    const Clock::time_point end = endOf(settings);
    std::unique_ptr<Client> client;
    HALYARD_RETURN_IF_ERROR(times.time("connect", [&] {
        HALYARD_ASSIGN_OR_RETURN(client, Client::connect(settings.instance, settings.patience));
        return Status();
    }));
    Status done;
    if (settings.against == "essentials") {
        while (done.ok() && Clock::now() < end) {
            done = callEssentials(*client, settings.patience, times);
            std::this_thread::sleep_for(kPause);
        }
        times.print();
        return done;
    }
    ModelBuilder model;
    addModel(model, kElements);
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(2 * kBytes));
    const RequestBuilder request(pool, kBytes, kBytes);
    uint32_t kept = 0;
    done = times.time("prepareModel", [&] {
        HALYARD_ASSIGN_OR_RETURN(kept, client->prepare(model.finish(), settings.patience));
        return Status();
    });
    // Each kind of call at least once, however long the first one took.
    for (bool first = true; done.ok() && (first || Clock::now() < end); first = false) {
        done = callAll(*client, model.finish(), request.request(), kept, settings.patience, times);
        std::this_thread::sleep_for(kPause);
    }
    times.print();
    return done;
}

}  // namespace halyard::attacker
