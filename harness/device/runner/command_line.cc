// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/command_line.h"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace halyard::runner {

namespace {

constexpr const char* kUsage =
        "Usage: halyard-runner --target TARGET --bundle FILE --options FILE --results FILE\n"
        "Runs test cases and writes a result for each.\n"
        "  --target TARGET        in-process, or hidl:INSTANCE for the service of that name\n"
        "  --bundle FILE          length-delimited TestCase messages\n"
        "  --options FILE         a RunOptions message\n"
        "  --results FILE         receives length-delimited CaseResult messages\n"
        "  --jobs N               cases at a time, each in a process of its own; 0 or left out: "
        "one\n"
        "                         per core in-process, one on a service\n"
        "  --until-crash          end after a case that crashed or hung, or when the target is "
        "gone,\n"
        "                         with exit status 3\n"
        "  -c, --compute LIST     backends of an in-process target, in order of preference\n"
        "  --number-of-threads N  threads of an in-process target; 0: one per core\n"
        "  --cpu-features NAME, --require-backend NAMES, --backend-hint FILE, --backend-dir DIR,\n"
        "  --max-partitions N, --min-nodes-per-partition N\n"
        "                         of an in-process target, as the service has them\n"
        "  --max-memory MIB       that its executions may take together; 0: half of the machine's\n"
        "  -f, --fp16-enabled, --bf16-enabled\n"
        "                         of an in-process target, as the service has them\n"
        "  -a, --enable-fast-math let an in-process target compute with rougher results\n"
        "  --no-optimize          run models on an in-process target without the passes\n"
        "  --dump-graph DIR       write the graphs of an in-process target's first 100 models "
        "there,\n"
        "                         before and after the passes, and what each pass changed\n"
        "  --serve                run the bundle's first case alone, in this process: prepare it,\n"
        "                         execute it once, and then COUNT times for each line of input\n"
        "                         \"run COUNT WARMUP\"; a result for each. \"profile COUNT "
        "WARMUP\"\n"
        "                         tells what each node takes, \"load FROM UNTIL COUNT\" lets so\n"
        "                         many of the options' clients execute at the same time\n"
        "  --measure-peak         print, as JSON, what this machine computes and moves a second "
        "with\n"
        "                         --number-of-threads at most, and end\n"
        "  --lowest-hal           run nothing: each result holds the lowest HAL version that can\n"
        "                         carry the case; only --bundle and --results are needed\n"
        "  --list-backends        print the backends that -c may name, one a line, and end\n"
        "  --list-services        print interface/name of what hwservicemanager knows, and end\n"
        "  --report               print what a hidl: target says about itself, and end\n"
        "  -v, --verbose          log more\n"
        "  -h, --help             print this\n"
        "Exit status: 0 every case was attempted, 1 wrong usage or unreadable files,\n"
        "2 the target can't be reached, 3 ended early as --until-crash asks.\n";

constexpr std::string_view kInProcess = "in-process";
constexpr std::string_view kHidl = "hidl:";
constexpr size_t kMostThreads = 64;
constexpr size_t kMostJobs = 256;

Result<std::vector<std::string>> parseNames(std::string_view option, std::string_view list) {
    std::vector<std::string> names;
    for (;;) {
        const std::string_view name = list.substr(0, list.find(','));
        if (name.empty()) {
            return invalidArgument(std::string(option) + ": the name of a backend is empty");
        }
        names.emplace_back(name);
        if (name.size() == list.size()) {
            return names;
        }
        list.remove_prefix(name.size() + 1);
    }
}

// Those of libraries are known once these are loaded.
Status checkBackends(const driver::Options& options) {
    const std::vector<std::string_view> known = driver::knownBackends();
    for (const std::string& name : options.backends) {
        if (options.backendDirectory.empty() &&
            std::find(known.begin(), known.end(), name) == known.end()) {
            std::string message = "unknown backend " + name + "; known are";
            for (const std::string_view backend : known) {
                message += " " + std::string(backend);
            }
            return invalidArgument(std::move(message));
        }
    }
    return {};
}

Result<size_t> parseNumber(std::string_view option, std::string_view value, size_t most) {
    size_t number = 0;
    const char* end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number > most) {
        return invalidArgument(std::string(option) + " takes 0 to " + std::to_string(most) +
                               ", not " + std::string(value));
    }
    return number;
}

Status parseTarget(std::string_view target, CommandLine& line) {
    line.targetName = target;
    if (target.starts_with(kHidl) && target.size() > kHidl.size()) {
        line.instance = target.substr(kHidl.size());
    } else if (target != kInProcess) {
        return invalidArgument("unknown target " + std::string(target));
    }
    return {};
}

Status checkComplete(const CommandLine& line) {
    if (line.action == CommandLine::Action::LOWEST_HAL) {
        return line.bundle.empty() || line.results.empty()
                       ? invalidArgument("--lowest-hal needs --bundle and --results")
                       : Status();
    }
    if (line.targetName.empty()) {
        return invalidArgument("--target is missing");
    }
    if (line.action == CommandLine::Action::REPORT) {
        return line.instance.empty() ? invalidArgument("--report needs a hidl: target") : Status();
    }
    if (line.bundle.empty() || line.options.empty() || line.results.empty()) {
        return invalidArgument("--bundle, --options and --results are all needed");
    }
    return {};
}

}  // namespace

const char* usage() {
    return kUsage;
}

Result<CommandLine> parseCommandLine(int argc, char** argv) {
    enum Option : int {
        TARGET = 256,
        BUNDLE,
        OPTIONS,
        RESULTS,
        THREADS,
        MAX_MEMORY,
        CPU_FEATURES,
        REQUIRE_BACKEND,
        BACKEND_HINT,
        BACKEND_DIR,
        MAX_PARTITIONS,
        MIN_NODES_PER_PARTITION,
        BF16_ENABLED,
        NO_OPTIMIZE,
        DUMP_GRAPH,
        JOBS,
        UNTIL_CRASH,
        SERVE,
        MEASURE_PEAK,
        LOWEST_HAL,
        LIST_BACKENDS,
        LIST_SERVICES,
        REPORT
    };
    constexpr std::array<option, 29> kOptions = {{
            {"target", required_argument, nullptr, TARGET},
            {"bundle", required_argument, nullptr, BUNDLE},
            {"options", required_argument, nullptr, OPTIONS},
            {"results", required_argument, nullptr, RESULTS},
            {"compute", required_argument, nullptr, 'c'},
            {"number-of-threads", required_argument, nullptr, THREADS},
            {"max-memory", required_argument, nullptr, MAX_MEMORY},
            {"cpu-features", required_argument, nullptr, CPU_FEATURES},
            {"require-backend", required_argument, nullptr, REQUIRE_BACKEND},
            {"backend-hint", required_argument, nullptr, BACKEND_HINT},
            {"backend-dir", required_argument, nullptr, BACKEND_DIR},
            {"max-partitions", required_argument, nullptr, MAX_PARTITIONS},
            {"min-nodes-per-partition", required_argument, nullptr, MIN_NODES_PER_PARTITION},
            {"fp16-enabled", no_argument, nullptr, 'f'},
            {"bf16-enabled", no_argument, nullptr, BF16_ENABLED},
            {"enable-fast-math", no_argument, nullptr, 'a'},
            {"no-optimize", no_argument, nullptr, NO_OPTIMIZE},
            {"dump-graph", required_argument, nullptr, DUMP_GRAPH},
            {"jobs", required_argument, nullptr, JOBS},
            {"until-crash", no_argument, nullptr, UNTIL_CRASH},
            {"serve", no_argument, nullptr, SERVE},
            {"measure-peak", no_argument, nullptr, MEASURE_PEAK},
            {"lowest-hal", no_argument, nullptr, LOWEST_HAL},
            {"list-backends", no_argument, nullptr, LIST_BACKENDS},
            {"list-services", no_argument, nullptr, LIST_SERVICES},
            {"report", no_argument, nullptr, REPORT},
            {"verbose", no_argument, nullptr, 'v'},
            {"help", no_argument, nullptr, 'h'},
            {},
    }};
    CommandLine line;
    int choice = 0;
    while ((choice = getopt_long(argc, argv, "ac:fvh", kOptions.data(), nullptr)) != -1) {
        const std::string_view value = optarg != nullptr ? optarg : "";
        switch (choice) {
            case TARGET:
                HALYARD_RETURN_IF_ERROR(parseTarget(value, line));
                break;
            case BUNDLE:
                line.bundle = value;
                break;
            case OPTIONS:
                line.options = value;
                break;
            case RESULTS:
                line.results = value;
                break;
            case 'c': {
                HALYARD_ASSIGN_OR_RETURN(line.driver.backends, parseNames("-c", value));
                break;
            }
            case CPU_FEATURES:
                line.driver.cpuFeatures = value;
                break;
            case REQUIRE_BACKEND: {
                HALYARD_ASSIGN_OR_RETURN(line.driver.requiredBackends,
                                         parseNames("--require-backend", value));
                break;
            }
            case BACKEND_HINT:
                line.driver.backendHintFile = value;
                break;
            case BACKEND_DIR:
                line.driver.backendDirectory = value;
                break;
            case MAX_PARTITIONS: {
                HALYARD_ASSIGN_OR_RETURN(
                        line.driver.maxPartitions,
                        parseNumber("--max-partitions", value, driver::kMostPartitionNodes));
                break;
            }
            case MIN_NODES_PER_PARTITION: {
                HALYARD_ASSIGN_OR_RETURN(line.driver.minNodesPerPartition,
                                         parseNumber("--min-nodes-per-partition", value,
                                                     driver::kMostPartitionNodes));
                break;
            }
            case THREADS: {
                HALYARD_ASSIGN_OR_RETURN(line.driver.threads,
                                         parseNumber("--number-of-threads", value, kMostThreads));
                break;
            }
            case MAX_MEMORY: {
                HALYARD_ASSIGN_OR_RETURN(
                        line.driver.maxMemoryMib,
                        parseNumber("--max-memory", value, driver::kMostMemoryMib));
                break;
            }
            case 'f':
                line.driver.precision = engine::FloatPrecision::FLOAT16;
                break;
            case BF16_ENABLED:
                line.driver.precision = engine::FloatPrecision::BFLOAT16;
                break;
            case 'a':
                line.driver.fastMath = true;
                break;
            case NO_OPTIMIZE:
                line.driver.optimize = false;
                break;
            case DUMP_GRAPH:
                line.driver.graphDumpDirectory = value;
                break;
            case JOBS: {
                HALYARD_ASSIGN_OR_RETURN(line.jobs, parseNumber("--jobs", value, kMostJobs));
                break;
            }
            case UNTIL_CRASH:
                line.untilCrash = true;
                break;
            case SERVE:
                line.action = CommandLine::Action::SERVE;
                break;
            case MEASURE_PEAK:
                line.action = CommandLine::Action::MEASURE_PEAK;
                break;
            case LOWEST_HAL:
                line.action = CommandLine::Action::LOWEST_HAL;
                break;
            case LIST_BACKENDS:
                line.action = CommandLine::Action::LIST_BACKENDS;
                break;
            case LIST_SERVICES:
                line.action = CommandLine::Action::LIST_SERVICES;
                break;
            case REPORT:
                line.action = CommandLine::Action::REPORT;
                break;
            case 'v':
                line.verbose = true;
                break;
            case 'h':
                line.action = CommandLine::Action::HELP;
                return line;
            default:
                return invalidArgument("unknown option");
        }
    }
    if (optind != argc) {
        return invalidArgument(std::string("unexpected argument ") + argv[optind]);
    }
    HALYARD_RETURN_IF_ERROR(checkBackends(line.driver));
    if (line.action != CommandLine::Action::LIST_BACKENDS &&
        line.action != CommandLine::Action::LIST_SERVICES &&
        line.action != CommandLine::Action::MEASURE_PEAK) {
        HALYARD_RETURN_IF_ERROR(checkComplete(line));
    }
    return line;
}

}  // namespace halyard::runner
