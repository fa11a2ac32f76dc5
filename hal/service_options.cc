// SPDX-License-Identifier: Apache-2.0

#include "hal/service_options.h"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace halyard::hal {
namespace {

constexpr size_t kMaxThreads = 64;
// Above every code of an NNAPI operation but the OEM one, which nobody can deny by name.
constexpr int32_t kOperationCodeLimit = 1000;

// Long options without a letter.
enum : int {
    NUMBER_OF_THREADS = 256,
    MAX_MEMORY,
    MAX_CLIENT_MEMORY,
    MAX_RUNNING_TIME,
    MAX_PARTITIONS,
    MIN_NODES_PER_PARTITION,
    CPU_FEATURES,
    REQUIRE_BACKEND,
    BACKEND_HINT,
    BACKEND_DIR,
    SECCOMP,
    BF16_ENABLED,
    NO_OPTIMIZE,
    DUMP_GRAPH,
    LIST_OPERATIONS
};

constexpr option kLongOptions[] = {
        {"compute", required_argument, nullptr, 'c'},
        {"service-name", required_argument, nullptr, 'n'},
        {"verbose-logging", no_argument, nullptr, 'v'},
        {"version", no_argument, nullptr, 'V'},
        {"help", no_argument, nullptr, 'h'},
        {"number-of-threads", required_argument, nullptr, NUMBER_OF_THREADS},
        {"max-memory", required_argument, nullptr, MAX_MEMORY},
        {"max-client-memory", required_argument, nullptr, MAX_CLIENT_MEMORY},
        {"max-running-time", required_argument, nullptr, MAX_RUNNING_TIME},
        {"max-partitions", required_argument, nullptr, MAX_PARTITIONS},
        {"min-nodes-per-partition", required_argument, nullptr, MIN_NODES_PER_PARTITION},
        {"cpu-features", required_argument, nullptr, CPU_FEATURES},
        {"require-backend", required_argument, nullptr, REQUIRE_BACKEND},
        {"backend-hint", required_argument, nullptr, BACKEND_HINT},
        {"backend-dir", required_argument, nullptr, BACKEND_DIR},
        {"seccomp", required_argument, nullptr, SECCOMP},
        {"enable-fast-math", no_argument, nullptr, 'a'},
        {"unsupported-operations", required_argument, nullptr, 'u'},
        {"request-inputs-and-outputs-dump-dir", required_argument, nullptr, 'd'},
        {"fp16-enabled", no_argument, nullptr, 'f'},
        {"bf16-enabled", no_argument, nullptr, BF16_ENABLED},
        {"no-optimize", no_argument, nullptr, NO_OPTIMIZE},
        {"dump-graph", required_argument, nullptr, DUMP_GRAPH},
        {"list-operations", no_argument, nullptr, LIST_OPERATIONS},
        {nullptr, 0, nullptr, 0},
};

std::vector<std::string> split(std::string_view list, std::string_view separators) {
    std::vector<std::string> items;
    size_t start = 0;
    while ((start = list.find_first_not_of(separators, start)) != std::string_view::npos) {
        const size_t end = std::min(list.find_first_of(separators, start), list.size());
        items.emplace_back(list.substr(start, end - start));
        start = end;
    }
    return items;
}

std::optional<size_t> parseNumber(std::string_view text) {
    size_t number = 0;
    const char* end = text.data() + text.size();
    auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc() || stopped != end) {
        return std::nullopt;
    }
    return number;
}

// By name, in any case, or by code.
std::optional<driver::OperationType> parseOperation(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    });
    const std::optional<size_t> number = parseNumber(text);
    for (int32_t code = 0; code < kOperationCodeLimit; ++code) {
        const auto type = static_cast<driver::OperationType>(code);
        const std::string_view name = nameOf(type);
        if (!name.empty() && (name == text || number == static_cast<size_t>(code))) {
            return type;
        }
    }
    return std::nullopt;
}

Status parseOperations(std::string_view list, std::set<driver::OperationType>& operations) {
    for (const std::string& item : split(list, ", ")) {
        const std::optional<driver::OperationType> type = parseOperation(item);
        if (!type.has_value()) {
            return invalidArgument("--unsupported-operations: there is no operation " + item +
                                   "; --list-operations prints their names and codes");
        }
        operations.insert(*type);
    }
    return {};
}

Result<size_t> parseMib(std::string_view option, std::string_view text) {
    const std::optional<size_t> mib = parseNumber(text);
    if (!mib.has_value() || *mib > driver::kMostMemoryMib) {
        return invalidArgument(std::string(option) + ": " + std::string(text) +
                               " is not a number of MiB up to " +
                               std::to_string(driver::kMostMemoryMib));
    }
    return *mib;
}

Result<size_t> parsePartitions(std::string_view option, std::string_view text) {
    const std::optional<size_t> number = parseNumber(text);
    if (!number.has_value() || *number > driver::kMostPartitionNodes) {
        return invalidArgument(std::string(option) + ": " + std::string(text) +
                               " is not a number up to " +
                               std::to_string(driver::kMostPartitionNodes));
    }
    return *number;
}

Result<std::vector<std::string>> parseRequired(std::string_view text) {
    std::vector<std::string> names = split(text, ",");
    if (names.empty()) {
        return invalidArgument("--require-backend: the name of a backend is missing");
    }
    return names;
}

Result<SeccompMode> parseSeccomp(std::string_view text) {
    if (text == "off") {
        return SeccompMode::OFF;
    }
    if (text == "log") {
        return SeccompMode::LOG;
    }
    if (text == "enforce") {
        return SeccompMode::ENFORCE;
    }
    return invalidArgument("--seccomp: " + std::string(text) + " is not off, log or enforce");
}

// What getopt stopped at: "-x" or "--word".
std::string offender(int argc, char** argv) {
    if (optopt > 0 && optopt < NUMBER_OF_THREADS) {
        return std::string("-") + static_cast<char>(optopt);
    }
    return optind > 0 && optind <= argc ? argv[optind - 1] : "";
}

}  // namespace

Result<ServiceOptions> parseServiceOptions(int argc, char** argv) {
    ServiceOptions options;
    bool firstCompute = true;
    opterr = 0;
    // Where getopt stands in an earlier list of arguments is forgotten.
    optind = 0;
    int letter = 0;
    while ((letter = getopt_long(argc, argv, ":c:n:vVhau:d:f", kLongOptions, nullptr)) != -1) {
        switch (letter) {
            case 'c': {
                if (firstCompute) {
                    options.driver.backends.clear();
                    firstCompute = false;
                }
                for (std::string& backend : split(optarg, ",")) {
                    options.driver.backends.push_back(std::move(backend));
                }
                break;
            }
            case 'n':
                options.serviceName = optarg;
                if (options.serviceName.empty() ||
                    options.serviceName.find('/') != std::string::npos) {
                    return invalidArgument("--service-name: not a name: \"" + options.serviceName +
                                           "\"");
                }
                break;
            case 'v':
                options.verbose = true;
                break;
            case 'V':
                options.action = ServiceOptions::Action::PRINT_VERSION;
                break;
            case 'h':
                options.action = ServiceOptions::Action::PRINT_HELP;
                break;
            case 'a':
                options.driver.fastMath = true;
                break;
            case 'u':
                HALYARD_RETURN_IF_ERROR(
                        parseOperations(optarg, options.driver.unsupportedOperations));
                break;
            case 'd':
                options.driver.dumpDirectory = optarg;
                break;
            case NUMBER_OF_THREADS: {
                const std::optional<size_t> threads = parseNumber(optarg);
                if (!threads.has_value() || *threads > kMaxThreads) {
                    return invalidArgument(std::string("--number-of-threads: ") + optarg +
                                           " is not between 1 and 64, nor 0 for one per core");
                }
                options.driver.threads = *threads;
                break;
            }
            case MAX_MEMORY: {
                HALYARD_ASSIGN_OR_RETURN(options.driver.maxMemoryMib,
                                         parseMib("--max-memory", optarg));
                break;
            }
            case MAX_CLIENT_MEMORY: {
                HALYARD_ASSIGN_OR_RETURN(options.driver.maxClientMemoryMib,
                                         parseMib("--max-client-memory", optarg));
                break;
            }
            case MAX_RUNNING_TIME: {
                const std::optional<size_t> seconds = parseNumber(optarg);
                if (!seconds.has_value() || *seconds > driver::kMostRunningSeconds) {
                    return invalidArgument(std::string("--max-running-time: ") + optarg +
                                           " is not a number of seconds up to " +
                                           std::to_string(driver::kMostRunningSeconds));
                }
                options.driver.maxRunningSeconds = *seconds;
                break;
            }
            case MAX_PARTITIONS: {
                HALYARD_ASSIGN_OR_RETURN(options.driver.maxPartitions,
                                         parsePartitions("--max-partitions", optarg));
                break;
            }
            case MIN_NODES_PER_PARTITION: {
                HALYARD_ASSIGN_OR_RETURN(options.driver.minNodesPerPartition,
                                         parsePartitions("--min-nodes-per-partition", optarg));
                break;
            }
            case CPU_FEATURES:
                options.driver.cpuFeatures = optarg;
                break;
            case REQUIRE_BACKEND: {
                HALYARD_ASSIGN_OR_RETURN(options.driver.requiredBackends, parseRequired(optarg));
                break;
            }
            case BACKEND_HINT:
                options.driver.backendHintFile = optarg;
                break;
            case BACKEND_DIR:
                options.driver.backendDirectory = optarg;
                break;
            case SECCOMP: {
                HALYARD_ASSIGN_OR_RETURN(options.seccomp, parseSeccomp(optarg));
                break;
            }
            case 'f':
            case BF16_ENABLED: {
                const engine::FloatPrecision asked = letter == 'f'
                                                             ? engine::FloatPrecision::FLOAT16
                                                             : engine::FloatPrecision::BFLOAT16;
                if (options.driver.precision != engine::FloatPrecision::FLOAT32 &&
                    options.driver.precision != asked) {
                    return invalidArgument("--fp16-enabled and --bf16-enabled exclude each other");
                }
                options.driver.precision = asked;
                break;
            }
            case NO_OPTIMIZE:
                options.driver.optimize = false;
                break;
            case DUMP_GRAPH:
                options.driver.graphDumpDirectory = optarg;
                break;
            case LIST_OPERATIONS:
                options.action = ServiceOptions::Action::LIST_OPERATIONS;
                break;
            case ':':
                return invalidArgument(offender(argc, argv) + ": an argument is missing");
            default:
                return invalidArgument(offender(argc, argv) + ": no such option");
        }
    }
    if (optind < argc) {
        return invalidArgument(std::string(argv[optind]) + ": only options are taken");
    }
    return options;
}

std::string serviceHelp() {
    std::string backends;
    for (std::string_view name : driver::knownBackends()) {
        backends.append(backends.empty() ? "" : ", ").append(name);
    }
    return "Usage: android.hardware.neuralnetworks@1.3-service-halyard [OPTION]...\n"
           "Serves the Android Neural Networks HAL 1.0-1.3.\n"
           "\n"
           "  -c, --compute BACKENDS       backends in order of preference, separated by commas;\n"
           "                               may be repeated. CpuRef comes last in any case.\n"
           "                               Default: CpuAcc,GpuAcc. Known: " +
           backends +
           "\n"
           "  -n, --service-name NAME      the instance to register as (halyard-default)\n"
           "      --number-of-threads N    threads to compute with, 1-64; 0, the default: one per\n"
           "                               core\n"
           "      --max-memory MIB         memory that all models and executions together may\n"
           "                               take beyond what clients share with the service; more\n"
           "                               is refused. 0, the default: half of the machine's\n"
           "      --max-client-memory MIB  what those of one client may take. 0, the default:\n"
           "                               half of the service's\n"
           "      --max-running-time S     the longest that preparing a model or executing a\n"
           "                               request may take, in seconds (300); 0: no limit\n"
           "      --cpu-features NAME      let CpuAcc use this instruction set and no better one:\n"
           "                               portable, sse4, avx2, avx512, avx512vnni, neon,\n"
           "                               neondot, neoni8mm\n"
           "      --require-backend NAMES  run operations on these backends alone; those that none "
           "of\n"
           "                               them takes are not supported\n"
           "      --backend-hint FILE      which backend to ask first: lines of an operation's "
           "name,\n"
           "                               or its index in the model, and a backend's name\n"
           "      --backend-dir DIR        shared libraries there (*.so) are backends, too, for -c "
           "to\n"
           "                               name; an absolute path. Their code runs in the service\n"
           "      --max-partitions N       of a model; where there are more, the smallest fall to\n"
           "                               the next backend. 0, the default: no limit\n"
           "      --min-nodes-per-partition N\n"
           "                               smaller ones fall to the next backend. 0: none do\n"
           "      --seccomp MODE           for system calls that the service is not known to "
           "make:\n"
           "                               enforce: end with a line that names the call; log: "
           "have\n"
           "                               the kernel's log tell; off, the default: nothing\n"
           "  -a, --enable-fast-math       compute float32 as fast as can be, with rougher "
           "results\n"
           "  -u, --unsupported-operations LIST\n"
           "                               operations to report as unsupported, by name or code,\n"
           "                               separated by commas or spaces. (Arm's driver takes the\n"
           "                               positions of operations in a model instead.)\n"
           "  -d, --request-inputs-and-outputs-dump-dir DIR\n"
           "                               write the inputs and outputs of every request there\n"
           "  -f, --fp16-enabled           compute FLOAT32 as FLOAT16, in models that are not\n"
           "                               relaxed as well; less memory for tensors\n"
           "      --bf16-enabled           round the FLOAT32 weights of sums of products to\n"
           "                               bfloat16\n"
           "      --no-optimize            run models as they are, without the optimiser's passes\n"
           "      --dump-graph DIR         write the graphs of the first 100 models there, before\n"
           "                               and after the passes, and what each pass changed\n"
           "      --list-operations        print the supported operations as JSON, and exit\n"
           "  -v, --verbose-logging        log what is prepared and executed\n"
           "  -V, --version                print the version, and exit\n"
           "  -h, --help                   print this, and exit\n";
}

}  // namespace halyard::hal
