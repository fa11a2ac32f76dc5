// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/golden_parcels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

namespace halyard::hal::testing {

namespace {

std::vector<uint8_t> fromHex(std::string_view text) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(
                static_cast<uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
    }
    return bytes;
}

SentParcel sentParcel(const Json& recorded) {
    SentParcel sent;
    sent.data = fromHex(recorded["data"].text);
    for (const Json& offset : recorded["offsets"].items) {
        sent.offsets.push_back(offset.number());
    }
    for (const Json& buffer : recorded["buffers"].items) {
        auto& content = sent.buffers.emplace_back();
        if (!buffer.isNull()) {
            content = fromHex(buffer.text);
        }
    }
    sent.buffersSize = recorded["buffers_size"].number();
    return sent;
}

std::vector<GoldenParcel> loadGoldenParcels() {
    std::ifstream file(HALYARD_SOURCE_DIR "/tests/hal/golden_parcels.json");
    std::ostringstream text;
    text << file.rdbuf();
    Result<Json> json = parseJson(text.str());
    std::vector<GoldenParcel> parcels;
    if (!json.ok()) {
        std::cerr << "golden_parcels.json: " << json.status().toString() << "\n";
        std::exit(1);
    }
    for (const Json& recorded : (*json)["cases"].items) {
        const std::string& descriptor = recorded["interface"].text;
        const hidl::InterfaceLayout* interface = hidl::findInterface(descriptor);
        const hidl::MethodLayout* method =
                interface == nullptr
                        ? nullptr
                        : hidl::findMethod(*interface,
                                           static_cast<uint32_t>(recorded["code"].number()));
        if (method == nullptr || method->name != recorded["method"].text) {
            std::cerr << "golden_parcels.json: no " << descriptor << "." << recorded["method"].text
                      << "\n";
            std::exit(1);
        }
        std::string name =
                descriptor.substr(descriptor.find("::") + 2) + "." + std::string(method->name);
        parcels.push_back({name + " request", method, false, recorded["args"],
                           sentParcel(recorded["request"])});
        if (!recorded["oneway"].truth) {
            parcels.push_back({name + " reply", method, true, recorded["results"],
                               sentParcel(recorded["reply"])});
        }
    }
    return parcels;
}

}  // namespace

const std::vector<GoldenParcel>& goldenParcels() {
    static const std::vector<GoldenParcel> parcels = loadGoldenParcels();
    return parcels;
}

}  // namespace halyard::hal::testing
