// SPDX-License-Identifier: Apache-2.0
//
// The clients that are not attacks: one that keeps the rules, and many that die in the middle of
// what they do.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"
#include "tests/device/attacker/steady_client.h"

namespace halyard::attacker {

namespace {

constexpr uint32_t kModelElements = 1024;
constexpr uint32_t kBytes = kModelElements * sizeof(float);

// One client's life until somebody ends it.
class ShortLife {
  public:
    ShortLife(Client& client, uint32_t seed) : mClient(&client), mRandom(seed) {
        addModel(mSmall, kModelElements);
        chainModel(mLong, 200, kModelElements);
        endlessModel(mEndless);
        const Result<Pool> pool = Pool::make(2 * kBytes);
        mPool = pool.ok() ? *pool : Pool{};
        mRequest = std::make_unique<RequestBuilder>(mPool, kBytes, kBytes,
                                                    std::vector<Pool>(below(4), mPool));
        mTiny = std::make_unique<RequestBuilder>(mPool, 4, 4);
    }

    void live() {
        for (;;) {
            act();
        }
    }

  private:
    uint32_t below(uint32_t count) { return static_cast<uint32_t>(mRandom() % count); }

    void act() {
        switch (below(10)) {
            case 0:
                static_cast<void>(mClient->getStatus());
                return;
            case 1:
                static_cast<void>(mClient->supportedOperations(mLong.finish()));
                return;
            case 2:
                static_cast<void>(
                        mClient->launchPrepare(mLong.finish(), std::make_shared<Notified>()));
                return;
            case 3:
            case 4:
                keep(mModels, mClient->prepare(mSmall.finish()));
                return;
            case 5:
                keep(mEndlessModels, mClient->prepare(mEndless.finish()));
                return;
            case 6:
                if (!mModels.empty()) {
                    static_cast<void>(mClient->execute(mModels.back(), mRequest->request()));
                }
                return;
            case 7:
                if (!mEndlessModels.empty()) {
                    static_cast<void>(mClient->launch(mEndlessModels.back(), mTiny->request(),
                                                      std::make_shared<Notified>(), kLongest));
                }
                return;
            case 8:
                if (!mEndlessModels.empty()) {
                    // Left waiting in a thread of its own.
                    std::thread([this, model = mEndlessModels.back()] {
                        static_cast<void>(mClient->executeSynchronously(
                                model, mTiny->request(), kLongest, std::chrono::minutes(1)));
                    }).detach();
                }
                return;
            default:
                static_cast<void>(mClient->debug(mPool.fd));
                return;
        }
    }

    void keep(std::vector<uint32_t>& models, const Result<uint32_t>& model) {
        if (model.ok()) {
            models.push_back(*model);
            if (models.size() > 4) {
                mClient->link().release(models.front());
                models.erase(models.begin());
            }
        }
    }

    Client* mClient;
    std::mt19937 mRandom;
    ModelBuilder mSmall;
    ModelBuilder mLong;
    ModelBuilder mEndless;
    Pool mPool;
    std::unique_ptr<RequestBuilder> mRequest;
    std::unique_ptr<RequestBuilder> mTiny;
    std::vector<uint32_t> mModels;
    std::vector<uint32_t> mEndlessModels;
};

// --clients clients in all, each killed after a random time; a few at a time.
Status dieOverAndOver(const Settings& settings) {
    constexpr size_t kAtOnce = 6;
    constexpr uint32_t kLongestLife = 400;  // milliseconds
    const uint32_t seed = settings.seed != 0 ? settings.seed : std::random_device()();
    printf("seed %u\n", seed);
    std::mt19937 random(seed);
    struct Life {
        pid_t pid;
        Clock::time_point end;
    };
    std::deque<Life> lives;
    int alive = 0;  // of those that were killed, by the time
    for (int begun = 0; begun < settings.clients || !lives.empty();) {
        while (begun < settings.clients && lives.size() < kAtOnce) {
            const auto own = static_cast<uint32_t>(random());
            const milliseconds life(random() % kLongestLife);
            const pid_t pid = fork();
            if (pid == 0) {
                const Result<std::unique_ptr<Client>> client = Client::connect(settings.instance);
                if (client.ok()) {
                    ShortLife(**client, own).live();
                }
                _exit(1);
            }
            lives.push_back({.pid = pid, .end = Clock::now() + life});
            ++begun;
        }
        const auto next = std::ranges::min_element(lives, {}, &Life::end);
        std::this_thread::sleep_until(next->end);
        kill(next->pid, SIGKILL);
        int status = 0;
        waitpid(next->pid, &status, 0);
        alive += WIFSIGNALED(status) ? 1 : 0;
        lives.erase(next);
    }
    printf("%d clients, %d of them killed\n", settings.clients, alive);
    return alive == settings.clients
                   ? Status()
                   : internalError("clients ended by themselves: the service can't be reached");
}

// Until somebody kills it, in whichever execution it is then. `--against launched`: it waits for
// callbacks; otherwise its calls wait.
Status executeOverAndOver(const Settings& settings) {
    ModelBuilder model;
    addModel(model, kModelElements);
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient prepared,
                             PreparedClient::connect(settings, model, kBytes));
    for (bool isFirst = true;; isFirst = false) {
        const wire::Request& request = prepared.request();
        const Result<ErrorStatus> done =
                settings.against == "launched"
                        ? prepared.client->execute(prepared.model, request)
                        : prepared.client->executeSynchronously(prepared.model, request);
        HALYARD_RETURN_IF_ERROR(done.status());
        if (isFirst) {
            puts("it executes");
            fflush(stdout);
        }
    }
}

constexpr std::array<NamedAttack, 3> kRuns = {{
        {"steady", runSteadyClient, "a client that keeps the rules, and times its calls"},
        {"dying", dieOverAndOver, "--clients clients in all, each killed after a random time"},
        {"executing", executeOverAndOver, "one that executes a model until it is killed"},
}};

}  // namespace

std::span<const NamedAttack> clientRuns() {
    return kRuns;
}

}  // namespace halyard::attacker
