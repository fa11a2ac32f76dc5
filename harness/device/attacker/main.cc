// SPDX-License-Identifier: Apache-2.0
//
// halyard-attacker: clients that break the rules of a service, or of a device's daemons, and the
// one that keeps them while they do.

#include <getopt.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "harness/device/attacker/attack.h"

namespace halyard::attacker {

namespace {

constexpr std::string_view kHidl = "hidl:";

constexpr std::array<std::span<const NamedAttack> (*)(), 6> kGroups = {
        descriptorAttacks, workAttacks, memoryAttacks, edgeAttacks, managerAttacks, clientRuns};

int usage() {
    fputs("Usage: halyard-attacker --target hidl:INSTANCE [--seconds N] [--clients N] [--seed N]\n"
          "                        [--against NAME] [--processes N] [--patience N] [--uid N]\n"
          "                        ATTACK\n"
          "With --processes as many accounts carry it out at once, each with --clients of its "
          "own.\n"
          "--uid: the user that carries it out, as an app has one of its own; takes root.\n"
          "--patience: the seconds that an honest client waits for an answer.\n"
          "Exit status: 0 done, 1 it could not be done or an honest call failed.\n",
          stderr);
    for (const auto group : kGroups) {
        for (const NamedAttack& attack : group()) {
            fprintf(stderr, "  %-18s %s\n", std::string(attack.name).c_str(),
                    std::string(attack.what).c_str());
        }
    }
    return 1;
}

int carryOut(const NamedAttack& attack, const Settings& settings) {
    const Status done = attack.attack(settings);
    if (!done.ok()) {
        fprintf(stderr, "halyard-attacker: %s: %s\n", std::string(attack.name).c_str(),
                done.toString().c_str());
    }
    return done.ok() ? 0 : 1;
}

// Group and user, for good: what needs root is not done any more.
bool becomeUser(uid_t uid) {
    if (setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
        setresuid(uid, uid, uid) == 0) {
        return true;
    }
    fprintf(stderr, "halyard-attacker: --uid %u: %s\n", uid, strerror(errno));
    return false;
}

// In as many processes, which are as many accounts of the service's. 0: all could.
int carryOutInProcesses(const NamedAttack& attack, const Settings& settings, int processes) {
    for (int i = 0; i < processes; ++i) {
        if (fork() == 0) {
            _exit(carryOut(attack, settings));
        }
    }
    int failed = 0;
    int status = 0;
    while (wait(&status) > 0) {
        failed += status != 0 ? 1 : 0;
    }
    return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
    constexpr std::array<option, 9> kOptions = {{
            {"target", required_argument, nullptr, 't'},
            {"seconds", required_argument, nullptr, 's'},
            {"clients", required_argument, nullptr, 'c'},
            {"seed", required_argument, nullptr, 'r'},
            {"against", required_argument, nullptr, 'a'},
            {"processes", required_argument, nullptr, 'p'},
            {"patience", required_argument, nullptr, 'w'},
            {"uid", required_argument, nullptr, 'u'},
            {},
    }};
    Settings settings;
    int processes = 1;
    std::optional<uid_t> user;
    int choice = 0;
    while ((choice = getopt_long(argc, argv, "", kOptions.data(), nullptr)) != -1) {
        switch (choice) {
            case 't':
                if (!std::string_view(optarg).starts_with(kHidl)) {
                    return usage();
                }
                settings.instance = std::string(optarg).substr(kHidl.size());
                break;
            case 's':
                settings.seconds = atoi(optarg);
                break;
            case 'c':
                settings.clients = atoi(optarg);
                break;
            case 'r':
                settings.seed = static_cast<uint32_t>(strtoul(optarg, nullptr, 10));
                break;
            case 'a':
                settings.against = optarg;
                break;
            case 'w':
                settings.patience = std::chrono::seconds(atoi(optarg));
                break;
            case 'p':
                processes = atoi(optarg);
                break;
            case 'u':
                user = static_cast<uid_t>(strtoul(optarg, nullptr, 10));
                break;
            default:
                return usage();
        }
    }
    if (optind + 1 != argc || settings.instance.empty()) {
        return usage();
    }
    if (user.has_value() && !becomeUser(*user)) {
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::string_view wanted = argv[optind];
    for (const auto group : kGroups) {
        for (const NamedAttack& attack : group()) {
            if (attack.name == wanted) {
                return processes > 1 ? carryOutInProcesses(attack, settings, processes)
                                     : carryOut(attack, settings);
            }
        }
    }
    return usage();
}

}  // namespace
}  // namespace halyard::attacker

int main(int argc, char** argv) {
    return halyard::attacker::run(argc, argv);
}
