// SPDX-License-Identifier: Apache-2.0
//
// halyard-attacker: clients that break the rules of a service, or of a device's daemons, and the
// one that keeps them while they do.

#include <getopt.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/device/attacker/attack.h"

namespace halyard::attacker {

namespace {

constexpr std::string_view kHidl = "hidl:";

constexpr std::array<std::span<const NamedAttack> (*)(), 10> kGroups = {
        descriptorAttacks, workAttacks,  memoryAttacks,  lastingAttacks,        waitingAttacks,
        edgeAttacks,       crowdAttacks, managerAttacks, serviceManagerAttacks, clientRuns};

int usage() {
    fputs("Usage: halyard-attacker --target hidl:INSTANCE [--seconds N] [--clients N] [--seed N]\n"
          "                        [--against NAME] [--processes N] [--patience N] [--uid N]\n"
          "                        [--uids N] ATTACK\n"
          "With --processes as many accounts carry it out at once, each with --clients of its "
          "own.\n"
          "--uid: the user that carries it out, as an app has one of its own; takes root.\n"
          "--uids: the processes are that many users, from --uid on.\n"
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

// Who carries an attack out.
struct Attackers {
    int processes = 1;
    std::optional<uid_t> uid;
    int uids = 1;  // from that one on
};

// In as many processes, which are as many accounts of the service's. 0: all could.
int carryOutInProcesses(const NamedAttack& attack, const Settings& settings,
                        const Attackers& attackers) {
    for (int i = 0; i < attackers.processes; ++i) {
        const pid_t child = fork();
        if (child < 0) {
            perror("halyard-attacker: fork");
            break;
        }
        if (child == 0) {
            if (attackers.uid.has_value() &&
                !becomeUser(*attackers.uid + static_cast<uid_t>(i % attackers.uids))) {
                _exit(1);
            }
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
    constexpr std::array<option, 10> kOptions = {{
            {"target", required_argument, nullptr, 't'},
            {"seconds", required_argument, nullptr, 's'},
            {"clients", required_argument, nullptr, 'c'},
            {"seed", required_argument, nullptr, 'r'},
            {"against", required_argument, nullptr, 'a'},
            {"processes", required_argument, nullptr, 'p'},
            {"patience", required_argument, nullptr, 'w'},
            {"uid", required_argument, nullptr, 'u'},
            {"uids", required_argument, nullptr, 'm'},
            {},
    }};
    Settings settings;
    Attackers attackers;
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
                attackers.processes = atoi(optarg);
                break;
            case 'u':
                attackers.uid = static_cast<uid_t>(strtoul(optarg, nullptr, 10));
                break;
            case 'm':
                attackers.uids = std::max(atoi(optarg), 1);
                break;
            default:
                return usage();
        }
    }
    if (optind + 1 != argc || settings.instance.empty()) {
        return usage();
    }
    if (attackers.processes == 1 && attackers.uid.has_value() && !becomeUser(*attackers.uid)) {
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::string_view wanted = argv[optind];
    for (const auto group : kGroups) {
        for (const NamedAttack& attack : group()) {
            if (attack.name == wanted) {
                return attackers.processes > 1 ? carryOutInProcesses(attack, settings, attackers)
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
