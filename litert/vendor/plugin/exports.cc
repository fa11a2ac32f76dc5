// SPDX-License-Identifier: Apache-2.0
//
// The functions that LiteRT looks up in a compiler plugin. Handles that LiteRT was not given may be
// null: where no operator of the whole model was claimed it asks for the modules of nothing.

#include <memory>
#include <utility>

#include "litert/vendor/plugin/plugin.h"
#include "litert/vendor/processor.h"
#include "litert/vendor/tables.h"

namespace {

using halyard::Result;
using halyard::Status;
using halyard::vendor::answer;
using halyard::vendor::CompiledIslands;
using halyard::vendor::Plugin;
namespace abi = halyard::vendor::abi;

constexpr abi::Status kOk = static_cast<abi::Status>(abi::StatusCode::OK);

const Plugin* of(abi::CompilerPlugin handle) {
    return reinterpret_cast<const Plugin*>(handle);
}

const CompiledIslands* of(abi::CompiledResult handle) {
    return reinterpret_cast<const CompiledIslands*>(handle);
}

abi::Status answerMissing(const char* function) {
    return answer(halyard::invalidArgument("an argument is null"), function);
}

Result<const CompiledIslands::Island*> islandOf(abi::CompiledResult result, size_t index) {
    if (result == nullptr || index >= of(result)->islands.size()) {
        return halyard::invalidArgument("there is no module " + std::to_string(index));
    }
    return &of(result)->islands[index];
}

}  // namespace

extern "C" {

#define HALYARD_EXPORT __attribute__((visibility("default")))

HALYARD_EXPORT abi::Status LiteRtGetCompilerPluginVersion(abi::ApiVersion* version) {
    if (version == nullptr) {
        return answerMissing("LiteRtGetCompilerPluginVersion");
    }
    *version = abi::kApiVersion;
    return kOk;
}

HALYARD_EXPORT const char* LiteRtGetCompilerPluginSocManufacturer() {
    return "Halyard";
}

HALYARD_EXPORT abi::Status LiteRtCreateCompilerPlugin(const abi::CompilerTable* table,
                                                      abi::CompilerPlugin* plugin,
                                                      abi::EnvironmentOptions /*environment*/,
                                                      abi::Options options) {
    if (plugin == nullptr) {
        return answerMissing("LiteRtCreateCompilerPlugin");
    }
    // Before LiteRT 2.2 the arguments were others: what is no table may be followed by no place
    // for the plugin.
    Result<std::unique_ptr<const Plugin>> created = Plugin::create(table, options);
    if (!created.ok()) {
        return answer(created.status(), "Halyard's compiler plugin");
    }
    *plugin = reinterpret_cast<abi::CompilerPlugin>(const_cast<Plugin*>(created->release()));
    return kOk;
}

HALYARD_EXPORT void LiteRtDestroyCompilerPlugin(abi::CompilerPlugin plugin) {
    delete of(plugin);
}

HALYARD_EXPORT abi::Status LiteRtGetCompilerPluginSupportedHardware(abi::CompilerPlugin plugin,
                                                                    int32_t* hardware) {
    if (plugin == nullptr || hardware == nullptr) {
        return answerMissing("LiteRtGetCompilerPluginSupportedHardware");
    }
    *hardware = static_cast<int32_t>(abi::Accelerator::NPU);
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtGetNumCompilerPluginSupportedSocModels(
        abi::CompilerPlugin /*plugin*/, size_t* count) {
    if (count == nullptr) {
        return answerMissing("LiteRtGetNumCompilerPluginSupportedSocModels");
    }
    *count = halyard::vendor::processorNames().size();
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtGetCompilerPluginSupportedSocModel(abi::CompilerPlugin /*plugin*/,
                                                                    size_t index,
                                                                    const char** name) {
    if (name == nullptr || index >= halyard::vendor::processorNames().size()) {
        return answer(halyard::invalidArgument("there is no SoC model " + std::to_string(index)),
                      "LiteRtGetCompilerPluginSupportedSocModel");
    }
    *name = halyard::vendor::processorNames()[index].data();
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtGetCompilerPluginSDKVersion(abi::CompilerPlugin plugin,
                                                             const char** version) {
    if (plugin == nullptr || version == nullptr) {
        return answerMissing("LiteRtGetCompilerPluginSDKVersion");
    }
    *version = of(plugin)->sdkVersion().c_str();
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtCompilerPluginPartition(abi::CompilerPlugin plugin,
                                                         const char* processor,
                                                         abi::Subgraph subgraph,
                                                         abi::OpList claimed) {
    if (plugin == nullptr || subgraph == nullptr || claimed == nullptr) {
        return answerMissing("LiteRtCompilerPluginPartition");
    }
    return answer(of(plugin)->partition(processor, subgraph, claimed), "partition");
}

HALYARD_EXPORT abi::Status LiteRtCompilerPluginCompile(abi::CompilerPlugin plugin,
                                                       const char* processor, abi::Model islands,
                                                       abi::CompiledResult* result) {
    if (plugin == nullptr || islands == nullptr || result == nullptr) {
        return answerMissing("LiteRtCompilerPluginCompile");
    }
    *result = nullptr;
    Result<std::unique_ptr<const CompiledIslands>> compiled =
            of(plugin)->compile(processor, islands);
    if (!compiled.ok()) {
        return answer(compiled.status(), "compile");
    }
    *result = reinterpret_cast<abi::CompiledResult>(
            const_cast<CompiledIslands*>(compiled->release()));
    return kOk;
}

HALYARD_EXPORT void LiteRtDestroyCompiledResult(abi::CompiledResult result) {
    delete of(result);
}

HALYARD_EXPORT abi::Status LiteRtGetCompiledResultByteCode(abi::CompiledResult result, size_t index,
                                                           const void** bytes, size_t* size) {
    const Result<const CompiledIslands::Island*> island = islandOf(result, index);
    if (!island.ok() || bytes == nullptr || size == nullptr) {
        return answer(
                island.ok() ? halyard::invalidArgument("an argument is null") : island.status(),
                "LiteRtGetCompiledResultByteCode");
    }
    *bytes = (*island)->bytecode.data();
    *size = (*island)->bytecode.size();
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtCompiledResultNumByteCodeModules(abi::CompiledResult result,
                                                                  size_t* count) {
    if (count == nullptr) {
        return answerMissing("LiteRtCompiledResultNumByteCodeModules");
    }
    *count = 0;
    if (result == nullptr) {
        // So LiteRT leaves the model as it is, which it else would write again for nothing.
        return answer(halyard::unsupported("nothing of the model is taken"), "compile");
    }
    *count = of(result)->islands.size();
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtGetCompiledResultCallInfo(abi::CompiledResult result, size_t index,
                                                           const void** info, size_t* size,
                                                           size_t* module) {
    const Result<const CompiledIslands::Island*> island = islandOf(result, index);
    if (!island.ok() || info == nullptr || size == nullptr || module == nullptr) {
        return answer(
                island.ok() ? halyard::invalidArgument("an argument is null") : island.status(),
                "LiteRtGetCompiledResultCallInfo");
    }
    *info = (*island)->name.data();
    *size = (*island)->name.size();
    *module = index;
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtGetNumCompiledResultCalls(abi::CompiledResult result,
                                                           size_t* count) {
    return LiteRtCompiledResultNumByteCodeModules(result, count);
}

HALYARD_EXPORT abi::Status LiteRtCompilerPluginRegisterAllTransformations(
        abi::CompilerPlugin /*plugin*/, void** transformations, size_t* count) {
    if (transformations == nullptr || count == nullptr) {
        return answerMissing("LiteRtCompilerPluginRegisterAllTransformations");
    }
    *transformations = nullptr;
    *count = 0;
    return kOk;
}

HALYARD_EXPORT abi::Status LiteRtCompilerPluginCheckCompilerCompatibility(
        abi::ApiVersion version, abi::CompilerPlugin /*plugin*/,
        abi::EnvironmentOptions /*environment*/, abi::Options /*options*/, const char* processor) {
    const auto check = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(halyard::vendor::checkApiVersion(version));
        return processor == nullptr ? Status() : halyard::vendor::checkName(processor);
    };
    const Status status = check();
    return status.ok() ? kOk
                       : (answer(status, "Halyard's compiler plugin"),
                          static_cast<abi::Status>(abi::StatusCode::UNSUPPORTED_COMPILER));
}

}  // extern "C"
