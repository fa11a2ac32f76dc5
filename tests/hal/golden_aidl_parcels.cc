// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/golden_aidl_parcels.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "hal/aidl/types.h"

namespace halyard::hal::testing {
namespace {

Status misfit(std::string_view what) {
    return internalError("the JSON has no " + std::string(what));
}

template <typename T>
Status fill(const Json& json, const Stand& stand, T& value);

template <typename T, size_t index = 0>
Status fillMember(const Json& json, const Stand& stand, T& value) {
    if constexpr (index == std::variant_size_v<decltype(value.value)>) {
        return misfit("known member");
    } else {
        return json[0].text == T::kMembers[index]
                       ? fill(json[1], stand, value.value.template emplace<index>())
                       : fillMember<T, index + 1>(json, stand, value);
    }
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

// The JSON of a value of the type.
template <typename T>
Status fill(const Json& json, const Stand& stand, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        value = json.truth;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        value = static_cast<T>(json.number());
    } else if constexpr (std::is_same_v<T, float>) {
        value = static_cast<float>(json.real());
    } else if constexpr (std::is_same_v<T, std::string>) {
        value = json.text;
    } else if constexpr (std::is_same_v<T, ObjectRef>) {
        value = json.isNull() ? ObjectRef() : stand.object;
    } else if constexpr (std::is_same_v<T, aidl::MarkedObject>) {
        value.object = json.isNull() ? ObjectRef() : stand.object;
        value.stability = aidl::Release().stabilityWord(json.isNull() ? aidl::Stability::UNDECLARED
                                                                      : aidl::Stability::VINTF);
    } else if constexpr (std::is_same_v<T, aidl::BorrowedDescriptor>) {
        value.fd = stand.fd;
    } else if constexpr (IsOptional<T>::value) {
        return json.isNull() ? Status() : fill(json, stand, value.emplace());
    } else if constexpr (std::is_same_v<T, std::array<uint8_t, 32>>) {
        for (size_t i = 0; i < value.size(); ++i) {
            value[i] = static_cast<uint8_t>(json[i].number());
        }
    } else if constexpr (IsVector<T>::value) {
        for (const Json& item : json.items) {
            typename T::value_type element = {};
            HALYARD_RETURN_IF_ERROR(fill(item, stand, element));
            value.push_back(std::move(element));
        }
    } else if constexpr (requires { T::kIsUnion; }) {
        return fillMember(json, stand, value);
    } else {
        return T::forEachField(value, [&](std::string_view name, auto& field) {
            return json.members.contains(name) ? fill(json[name], stand, field) : misfit(name);
        });
    }
    return {};
}

template <typename T>
AidlFields fieldsOf() {
    return {.encode =
                    [](const Json& values, const Stand& stand, aidl::AidlWriter& writer) {
                        T fields;
                        HALYARD_RETURN_IF_ERROR(fill(values, stand, fields));
                        aidl::writeFields(writer, fields);
                        return Status();
                    },
            .copy =
                    [](aidl::AidlReader& reader, aidl::AidlWriter& writer) {
                        T fields;
                        HALYARD_RETURN_IF_ERROR(readFields(reader, fields));
                        aidl::writeFields(writer, fields);
                        return Status();
                    }};
}

struct MethodFields {
    uint32_t code = 0;
    AidlFields arguments;
    AidlFields results;
};

std::map<std::string, MethodFields> allMethods() {
    std::map<std::string, MethodFields> methods;
    aidl::forEachMethod([&methods]<typename Method>(Method) {
        methods[std::string(Method::Interface::info().descriptor) + "." +
                std::string(Method::kName)] = {.code = Method::kCode,
                                               .arguments = fieldsOf<typename Method::Arguments>(),
                                               .results = fieldsOf<typename Method::Results>()};
    });
    return methods;
}

SentParcel parcelOf(const Json& recorded) {
    SentParcel sent;
    const std::string& text = recorded["data"].text;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        sent.data.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    for (const Json& offset : recorded["offsets"].items) {
        sent.offsets.push_back(offset.number());
        sent.buffers.emplace_back();
    }
    return sent;
}

[[noreturn]] void stop(const std::string& why) {
    std::cerr << "golden_aidl_parcels.json: " << why << "\n";
    std::exit(1);
}

struct Golden {
    std::vector<GoldenAidlParcel> parcels;
    std::vector<GoldenMetaParcel> meta;
};

Golden loadAll() {
    std::ifstream file(HALYARD_SOURCE_DIR "/tests/hal/golden_aidl_parcels.json");
    std::ostringstream text;
    text << file.rdbuf();
    const Result<Json> json = parseJson(text.str());
    if (!json.ok()) {
        stop(json.status().toString());
    }
    const std::map<std::string, MethodFields> methods = allMethods();
    Golden golden;
    for (const Json& recorded : (*json)["cases"].items) {
        const std::string& descriptor = recorded["interface"].text;
        const auto code = static_cast<uint32_t>(recorded["code"].number());
        if (descriptor.empty()) {
            golden.meta.push_back({.name = recorded["method"].text,
                                   .code = code,
                                   .reply = parcelOf(recorded["reply"])});
            continue;
        }
        const auto found = methods.find(descriptor + "." + recorded["method"].text);
        if (found == methods.end() || found->second.code != code) {
            stop("no " + descriptor + "." + recorded["method"].text);
        }
        GoldenAidlParcel parcel = {
                .name = found->first.substr(found->first.rfind('.', found->first.rfind('.') - 1) +
                                            1) +
                        " request",
                .descriptor = descriptor,
                .code = code,
                .reply = false,
                .fields = found->second.arguments,
                .values = recorded["args"],
                .exception = {},
                .stability = recorded["args"]["callback"].text == "cbobj" ? aidl::Stability::SYSTEM
                                                                          : aidl::Stability::VINTF,
                .sent = parcelOf(recorded["request"])};
        golden.parcels.push_back(parcel);
        if (!recorded["oneway"].truth) {
            parcel.name.replace(parcel.name.rfind("request"), std::string::npos, "reply");
            parcel.reply = true;
            parcel.fields = found->second.results;
            parcel.values = recorded["results"];
            parcel.exception = recorded["exception"];
            parcel.sent = parcelOf(recorded["reply"]);
            golden.parcels.push_back(parcel);
        }
    }
    return golden;
}

const Golden& golden() {
    static const Golden all = loadAll();
    return all;
}

}  // namespace

const std::vector<GoldenAidlParcel>& goldenAidlParcels() {
    return golden().parcels;
}

const std::vector<GoldenMetaParcel>& goldenMetaParcels() {
    return golden().meta;
}

}  // namespace halyard::hal::testing
