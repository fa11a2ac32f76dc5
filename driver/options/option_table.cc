// SPDX-License-Identifier: Apache-2.0

#include "driver/options/option_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "driver/ops/operation.h"
#include "engine/compile/backend_choice.h"
#include "engine/compile/backends.h"

namespace halyard::driver {
namespace {

constexpr size_t kMostThreads = 64;
// Above every code of an NNAPI operation but the OEM one, which has no name to be denied by.
constexpr int32_t kOperationCodeLimit = 1000;

// The field that an option fills, and how its value is read.
struct Flag {
    bool Options::*field;
    bool value;
};
struct Number {
    size_t Options::*field;
    size_t most;
};
struct Text {
    std::string Options::*field;
};
// One of several.
struct Word {
    std::string Options::*field;
    std::span<const std::string_view> words;
};
// With commas between; a repeated option adds to them.
struct Names {
    std::vector<std::string> Options::*field;
};
// By name or code, with commas or spaces between.
struct Operations {
    std::set<OperationType> Options::*field;
};
// One of several for the same thing, which exclude each other.
struct Precision {
    engine::FloatPrecision value;
    std::string_view conflict;  // said where another was asked for before
};

struct Row {
    std::string_view name;
    char letter;
    std::string_view valueName;
    std::variant<Flag, Number, Text, Names, Operations, Precision, Word> target;
    std::string_view help;
};

constexpr std::string_view kOnePrecision = "--fp16-enabled and --bf16-enabled exclude each other";

constexpr std::string_view kTuningModes[] = {"UseTunedParameters", "UpdateTunedParameters"};
constexpr std::string_view kTuningLevels[] = {"rapid", "normal", "exhaustive"};

// The backends that there are follow the help of the first.
constexpr std::array kRows = {
        Row{"compute", 'c', "BACKENDS", Names{&Options::backends},
            "Backends in order of preference, with commas between, each with options of its own "
            "after colons (CpuAcc:features=avx2); may be repeated. CpuRef comes last in any case. "
            "Default: CpuAcc. Known:"},
        Row{"number-of-threads", 0, "N", Number{&Options::threads, kMostThreads},
            "Threads to compute with, 1 to 64; 0, the default: one per core."},
        Row{"max-memory", 0, "MIB", Number{&Options::maxMemoryMib, kMostMemoryMib},
            "Memory that all models and executions together may take beyond what clients share "
            "with the driver; more is refused. 0, the default: half of the machine's."},
        Row{"max-client-memory", 0, "MIB", Number{&Options::maxClientMemoryMib, kMostMemoryMib},
            "What those of one client may take. 0, the default: half of the driver's."},
        Row{"max-device-memory", 0, "MIB", Number{&Options::maxDeviceMemoryMib, kMostMemoryMib},
            "What all models and executions together may take of a GPU's memory. 0, the default: "
            "all of it."},
        Row{"max-running-time", 0, "S", Number{&Options::maxRunningSeconds, kMostRunningSeconds},
            "The longest that preparing a model or executing a request may take, in seconds; 0: no "
            "limit. Default: 300."},
        Row{"cpu-features", 0, "NAME", Text{&Options::cpuFeatures},
            "Let CpuAcc use this instruction set and no better one: portable, sse4, avx2, avx512, "
            "avx512vnni, avx512amx, neon, neondot, neoni8mm."},
        Row{"cl-tuned-parameters-file", 't', "FILE", Text{&Options::clTunedParametersFile},
            "Which kernels are the fastest on the GPU, for GpuAcc."},
        Row{"cl-tuned-parameters-mode", 'm', "MODE",
            Word{&Options::clTunedParametersMode, kTuningModes},
            "UseTunedParameters, the default: do as that file says; UpdateTunedParameters: measure "
            "what it does not say, and write that into it."},
        Row{"cl-tuning-level", 'o', "LEVEL", Word{&Options::clTuningLevel, kTuningLevels},
            "How many kernels are measured for a layer: rapid, the default: 4; normal: 12; "
            "exhaustive: all."},
        Row{"require-backend", 0, "BACKENDS", Names{&Options::requiredBackends},
            "Run operations on these backends alone; those that none of them takes are not "
            "supported."},
        Row{"backend-hint", 0, "FILE", Text{&Options::backendHintFile},
            "Which backend to ask first: lines of an operation's name, or its index in the model, "
            "and a backend's name."},
        Row{"capabilities", 0, "FILE", Text{&Options::capabilitiesFile},
            "What to claim of the device's speed and power: lines of an operand type, a time and a "
            "power, as ratios to the system's CPU path; halyard calibrate measures them."},
        Row{"backend-dir", 0, "DIR", Text{&Options::backendDirectory},
            "Shared libraries there (*.so) are backends, too, for -c to name; an absolute path. "
            "Their code runs in the driver's process."},
        Row{"cache-key-dir", 0, "DIR", Text{&Options::cacheKeyDirectory},
            "A folder of the driver's own, in which no other user may read or write: for a key, "
            "made at the first start, by which it knows again what it has kept in "
            "clients' compilation caches. Without one, programs for the GPU are not kept there."},
        Row{"max-partitions", 0, "N", Number{&Options::maxPartitions, kMostPartitionNodes},
            "Of a model; where there are more, the smallest fall to the next backend. 0, the "
            "default: no limit."},
        Row{"min-nodes-per-partition", 0, "N",
            Number{&Options::minNodesPerPartition, kMostPartitionNodes},
            "Smaller ones fall to the next backend. 0, the default: none do."},
        Row{"enable-fast-math", 'a', "", Flag{&Options::fastMath, true},
            "Compute float32 as fast as can be, with rougher results."},
        Row{"unsupported-operations", 'u', "LIST", Operations{&Options::unsupportedOperations},
            "Operations to report as unsupported, by name or code, with commas or spaces between. "
            "(Arm's driver takes the positions of operations in a model instead.)"},
        Row{"request-inputs-and-outputs-dump-dir", 'd', "DIR", Text{&Options::dumpDirectory},
            "Write the inputs and outputs of every request there."},
        Row{"gpu-profiling", 'p', "", Flag{&Options::gpuProfiling, true},
            "Let GpuAcc's device tell how long it took for each node, and with which kernels, "
            "where executions are traced or profiled."},
        Row{"fp16-enabled", 'f', "", Precision{engine::FloatPrecision::FLOAT16, kOnePrecision},
            "Compute FLOAT32 as FLOAT16, in models that are not relaxed as well; less memory for "
            "tensors."},
        Row{"bf16-enabled", 0, "", Precision{engine::FloatPrecision::BFLOAT16, kOnePrecision},
            "Round the FLOAT32 weights of sums of products to bfloat16."},
        Row{"no-optimize", 0, "", Flag{&Options::optimize, false},
            "Run models as they are, without the optimiser's passes."},
        Row{"dump-graph", 0, "DIR", Text{&Options::graphDumpDirectory},
            "Write the graphs of the first 100 models there, before and after the passes, and what "
            "each pass changed."},
        Row{"trace", 0, "DIR", Text{&Options::traceDirectory},
            "Write what the first 100 executions did there, and when, for ui.perfetto.dev."},
        Row{"atrace", 0, "FILE", Text{&Options::traceMarkerFile},
            "Mark what is prepared and executed in the kernel's trace, for atrace and Perfetto: "
            "/sys/kernel/tracing/trace_marker, or an ordinary file."},
};

std::vector<std::string> split(std::string_view list, std::string_view separators) {
    std::vector<std::string> items;
    size_t start = 0;
    while (start <= list.size()) {
        const size_t end = std::min(list.find_first_of(separators, start), list.size());
        items.emplace_back(list.substr(start, end - start));
        start = end + 1;
    }
    return items;
}

std::optional<size_t> parseNumber(std::string_view text) {
    size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc() || stopped != end) {
        return std::nullopt;
    }
    return number;
}

// By name, in any case, or by code.
std::optional<OperationType> parseOperation(std::string text) {
    std::ranges::transform(text, text.begin(), [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    });
    const std::optional<size_t> number = parseNumber(text);
    for (int32_t code = 0; code < kOperationCodeLimit; ++code) {
        const auto type = static_cast<OperationType>(code);
        const std::string_view name = nameOf(type);
        if (!name.empty() && (name == text || number == static_cast<size_t>(code))) {
            return type;
        }
    }
    return std::nullopt;
}

// Puts a value into the field of a row.
class Reader {
  public:
    Reader(std::string_view value, bool isFirst, Options& options)
        : mValue(value), mIsFirst(isFirst), mOptions(options) {}

    Status operator()(const Flag& flag) const {
        mOptions.*flag.field = flag.value;
        return {};
    }
    Status operator()(const Number& number) const {
        const std::optional<size_t> read = parseNumber(mValue);
        if (!read.has_value() || *read > number.most) {
            return invalidArgument("takes a number up to " + std::to_string(number.most) +
                                   ", not \"" + std::string(mValue) + "\"");
        }
        mOptions.*number.field = *read;
        return {};
    }
    Status operator()(const Text& text) const {
        if (mValue.empty()) {
            return invalidArgument("its argument is empty");
        }
        mOptions.*text.field = mValue;
        return {};
    }
    Status operator()(const Word& word) const {
        if (std::ranges::find(word.words, mValue) == word.words.end()) {
            std::string known;
            for (const std::string_view each : word.words) {
                known.append(known.empty() ? "" : ", ").append(each);
            }
            return invalidArgument("is one of " + known + ", not \"" + std::string(mValue) + "\"");
        }
        mOptions.*word.field = mValue;
        return {};
    }
    Status operator()(const Names& names) const {
        std::vector<std::string>& field = mOptions.*names.field;
        std::vector<std::string> named = split(mValue, ",");
        if (std::ranges::find(named, "") != named.end()) {
            return invalidArgument("a name is empty in \"" + std::string(mValue) + "\"");
        }
        if (mIsFirst) {
            field.clear();
        }
        std::ranges::move(named, std::back_inserter(field));
        return {};
    }
    Status operator()(const Operations& operations) const {
        for (const std::string& item : split(mValue, ", ")) {
            const std::optional<OperationType> type = parseOperation(item);
            if (!item.empty() && !type.has_value()) {
                return invalidArgument("there is no operation " + item +
                                       "; the service's --list-operations prints their names and "
                                       "codes");
            }
            if (type.has_value()) {
                (mOptions.*operations.field).insert(*type);
            }
        }
        return {};
    }
    Status operator()(const Precision& precision) const {
        if (mOptions.precision != engine::FloatPrecision::FLOAT32 &&
            mOptions.precision != precision.value) {
            return invalidArgument(std::string(precision.conflict));
        }
        mOptions.precision = precision.value;
        return {};
    }

  private:
    std::string_view mValue;
    bool mIsFirst;
    Options& mOptions;
};

std::string helpOf(const Row& row) {
    std::string help(row.help);
    if (help.ends_with(':')) {
        for (const std::string_view name : engine::knownBackends()) {
            help.append(" ").append(name);
        }
        help += ".";
    }
    return help;
}

std::string inQuotes(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        result.append(letter == '"' || letter == '\\' ? "\\" : "").append(1, letter);
    }
    return result + "\"";
}

std::string_view kindOf(const Row& row) {
    constexpr std::array<std::string_view, 7> kKinds = {"flag",       "number", "text", "names",
                                                        "operations", "flag",   "word"};
    return kKinds[row.target.index()];
}

}  // namespace

std::vector<CommandLineOption> driverOptions(Options& options) {
    std::vector<CommandLineOption> rows;
    for (const Row& row : kRows) {
        rows.push_back({.name = row.name,
                        .letter = row.letter,
                        .valueName = row.valueName,
                        .help = helpOf(row),
                        .take = [&row, &options, isFirst = true](std::string_view value) mutable {
                            return std::visit(Reader(value, std::exchange(isFirst, false), options),
                                              row.target);
                        }});
    }
    return rows;
}

Status checkOptions(const Options& options) {
    const std::vector<std::string_view> known = engine::knownBackends();
    for (const std::string& item : options.backends) {
        const Result<engine::BackendChoice> choice = engine::parseBackendChoice(item);
        HALYARD_RETURN_IF_ERROR(choice.status().withContext("--compute"));
        if (options.backendDirectory.empty() &&
            std::ranges::find(known, choice->name) == known.end()) {
            std::string message =
                    "--compute: there is no backend \"" + choice->name + "\"; the known ones are";
            for (const std::string_view name : known) {
                message.append(name == known.front() ? " " : ", ").append(name);
            }
            return invalidArgument(std::move(message));
        }
    }
    return {};
}

std::string listOptions() {
    std::string text;
    for (const Row& row : kRows) {
        text += text.empty() ? "{\"options\": [\n" : ",\n";
        text += "    {\"name\": " + inQuotes(row.name);
        text += row.letter == 0 ? "" : ", \"letter\": " + inQuotes({&row.letter, 1});
        text += row.valueName.empty() ? "" : ", \"value\": " + inQuotes(row.valueName);
        text += ", \"kind\": " + inQuotes(kindOf(row));
        if (const auto* number = std::get_if<Number>(&row.target)) {
            text += ", \"most\": " + std::to_string(number->most);
        }
        if (const auto* word = std::get_if<Word>(&row.target)) {
            text += ", \"words\": [";
            for (const std::string_view each : word->words) {
                text += (each == word->words.front() ? "" : ", ") + inQuotes(each);
            }
            text += "]";
        }
        text += ",\n     \"help\": " + inQuotes(helpOf(row)) + "}";
    }
    return text + "\n]}\n";
}

}  // namespace halyard::driver
