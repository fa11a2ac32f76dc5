// SPDX-License-Identifier: Apache-2.0

#include "nnapi/configuration.h"

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "driver/options/command_line.h"
#include "driver/options/option_table.h"
#include "driver/options/text_lines.h"

namespace halyard::nnapi {
namespace {

constexpr const char* kFile = "/etc/halyard-nnapi.yaml";
constexpr size_t kMostFileBytes = 1 << 16;
constexpr std::string_view kSpaces = " \t\r";
constexpr std::string_view kInProcess = "in-process";

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kSpaces);
    return begin == std::string_view::npos
                   ? std::string_view()
                   : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::vector<std::string> wordsOf(std::string_view text) {
    std::vector<std::string> words;
    while (!(text = trimmed(text)).empty()) {
        const size_t end = std::min(text.find_first_of(kSpaces), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

// "1.2", "AIDL-2", as the versions are called everywhere.
Result<driver::HalVersion> parseVersion(std::string_view text, bool isAidl) {
    for (const driver::HalVersion version : driver::allVersions()) {
        std::string_view name = toString(version);
        if ((version >= driver::HalVersion::AIDL_V1) == isAidl) {
            if (isAidl && !text.starts_with("AIDL-")) {
                name.remove_prefix(std::string_view("AIDL-").size());
            }
            if (text == name) {
                return version;
            }
        }
    }
    return invalidArgument("there is no version " + std::string(text));
}

Status parseInstance(std::string_view word, bool isAidl, DeviceEntry& entry) {
    entry.door = isAidl ? DeviceEntry::Door::AIDL : DeviceEntry::Door::HIDL;
    const size_t at = word.find('@');
    entry.instance = word.substr(0, at);
    if (entry.instance.empty()) {
        return invalidArgument("the instance has no name");
    }
    entry.name = entry.instance;
    if (at != std::string_view::npos) {
        HALYARD_ASSIGN_OR_RETURN(entry.version, parseVersion(word.substr(at + 1), isAidl));
    }
    return {};
}

Status parseWords(std::vector<std::string>& words, DeviceEntry& entry) {
    const std::string& door = words.front();
    if (door == kInProcess) {
        entry.name = "halyard";
    } else if (door.starts_with("hidl:") || door.starts_with("aidl:")) {
        HALYARD_RETURN_IF_ERROR(
                parseInstance(std::string_view(door).substr(5), door.starts_with("aidl:"), entry));
    } else {
        return invalidArgument("a device is in-process, hidl:INSTANCE or aidl:INSTANCE, not " +
                               door);
    }
    std::vector<driver::CommandLineOption> options;
    if (entry.door == DeviceEntry::Door::IN_PROCESS) {
        options = driverOptions(entry.options);
    }
    options.push_back({.name = "name",
                       .valueName = "NAME",
                       .help = "What programs see.",
                       .take = [&](std::string_view value) {
                           entry.name = value;
                           return value.empty() ? invalidArgument("is empty") : Status();
                       }});
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    // The program around this library may be about to parse its own.
    const auto kept = std::tuple(optarg, optind, opterr, optopt);
    const Status parsed = parseOptions(static_cast<int>(words.size()), arguments.data(), options);
    std::tie(optarg, optind, opterr, optopt) = kept;
    HALYARD_RETURN_IF_ERROR(parsed);
    return checkOptions(entry.options);
}

std::string_view withoutComment(std::string_view line) {
    if (line.starts_with('#')) {
        return {};
    }
    return line.substr(0, line.find(" #"));
}

Status takeKey(std::string_view line, Configuration& configuration, bool& isOfDevices) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
        return invalidArgument("is neither \"key: value\" nor an entry of a list");
    }
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    isOfDevices = false;
    if (key == "feature-level") {
        if (configuration.level.has_value()) {
            return invalidArgument("feature-level is there twice");
        }
        HALYARD_ASSIGN_OR_RETURN(configuration.level, parseLevel(value));
        return {};
    }
    if (key == "devices") {
        if (!configuration.devices.empty()) {
            return invalidArgument("devices is there twice");
        }
        isOfDevices = true;
        return value.empty() ? Status() : invalidArgument("devices is a list, an entry a line");
    }
    return invalidArgument("there is no key " + std::string(key) +
                           ", but feature-level and devices");
}

Status checkNames(std::span<const DeviceEntry> devices) {
    std::set<std::string_view> names;
    for (const DeviceEntry& device : devices) {
        if (!names.insert(device.name).second) {
            return invalidArgument("two devices are called " + device.name +
                                   "; --name gives one another name");
        }
    }
    return {};
}

const char* environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

Result<Configuration> readFile() {
    const char* const named = environment("HALYARD_NNAPI_CONFIG");
    if (named == nullptr && access(kFile, F_OK) != 0) {
        return Configuration{};
    }
    const std::string path = named == nullptr ? kFile : named;
    HALYARD_ASSIGN_OR_RETURN(const std::string text, driver::readTextFile(path, kMostFileBytes));
    Result<Configuration> configuration = parseConfiguration(text);
    return configuration.ok() ? std::move(configuration)
                              : Result<Configuration>(configuration.status().withContext(path));
}

}  // namespace

Result<DeviceEntry> parseDevice(std::string_view text) {
    std::vector<std::string> words = wordsOf(text);
    if (words.empty()) {
        return invalidArgument("a device is empty");
    }
    DeviceEntry entry;
    HALYARD_RETURN_IF_ERROR(parseWords(words, entry).withContext(words.front()));
    return entry;
}

Result<std::vector<DeviceEntry>> parseDevices(std::string_view text) {
    std::vector<DeviceEntry> devices;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(';', begin), text.size());
        HALYARD_ASSIGN_OR_RETURN(DeviceEntry device, parseDevice(text.substr(begin, end - begin)));
        devices.push_back(std::move(device));
        begin = end + 1;
    }
    HALYARD_RETURN_IF_ERROR(checkNames(devices));
    return devices;
}

Result<driver::HalVersion> parseLevel(std::string_view text) {
    constexpr size_t kLevels = 8;
    size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 ||
        number > kLevels) {
        return invalidArgument("a feature level is 1 to 8, not " + std::string(text));
    }
    return driver::allVersions()[number - 1];
}

Result<Configuration> parseConfiguration(std::string_view yaml) {
    Configuration configuration;
    bool isOfDevices = false;
    size_t number = 0;
    for (size_t begin = 0; begin < yaml.size();) {
        ++number;
        const size_t end = std::min(yaml.find('\n', begin), yaml.size());
        const std::string_view line = yaml.substr(begin, end - begin);
        begin = end + 1;
        const std::string_view said = withoutComment(line);
        const std::string_view text = trimmed(said);
        if (text.empty() || text == "---") {
            continue;
        }
        const std::string place = "line " + std::to_string(number);
        if (isOfDevices && (text.starts_with("- ") || text == "-")) {
            Result<DeviceEntry> device = parseDevice(text.substr(1));
            HALYARD_RETURN_IF_ERROR(device.status().withContext(place));
            configuration.devices.push_back(*std::move(device));
        } else if (said.find_first_not_of(kSpaces) != 0) {
            return invalidArgument(place + ": is no entry of a list, and is indented");
        } else {
            HALYARD_RETURN_IF_ERROR(takeKey(text, configuration, isOfDevices).withContext(place));
        }
    }
    HALYARD_RETURN_IF_ERROR(checkNames(configuration.devices));
    return configuration;
}

Result<Configuration> readConfiguration() {
    const char* const devices = environment("HALYARD_NNAPI_DEVICES");
    const char* const level = environment("HALYARD_NNAPI_FEATURE_LEVEL");
    Configuration configuration;
    if (devices == nullptr || level == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(configuration, readFile());
    }
    if (devices != nullptr) {
        Result<std::vector<DeviceEntry>> parsed = parseDevices(devices);
        HALYARD_RETURN_IF_ERROR(parsed.status().withContext("HALYARD_NNAPI_DEVICES"));
        configuration.devices = *std::move(parsed);
    }
    if (level != nullptr) {
        Result<driver::HalVersion> parsed = parseLevel(level);
        HALYARD_RETURN_IF_ERROR(parsed.status().withContext("HALYARD_NNAPI_FEATURE_LEVEL"));
        configuration.level = *parsed;
    }
    if (configuration.devices.empty()) {
        DeviceEntry driver;
        driver.name = "halyard";
        configuration.devices.push_back(std::move(driver));
    }
    return configuration;
}

}  // namespace halyard::nnapi
