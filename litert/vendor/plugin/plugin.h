// SPDX-License-Identifier: Apache-2.0
//
// The contents of LiteRT's handles to a compiler plugin and to what it has compiled.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/status.h"
#include "litert/vendor/options.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// Modules of bytecode, one for each call: an island.
struct CompiledIslands {
    struct Island {
        std::string name;
        AlignedBuffer bytecode;
    };
    std::vector<Island> islands;
};

// Immutable; LiteRT keeps the table.
class Plugin {
  public:
    // UNSUPPORTED where the table lacks what is used; INVALID_ARGUMENT for options that there are
    // not.
    static Result<std::unique_ptr<const Plugin>> create(const abi::CompilerTable* table,
                                                        abi::Options options);

    // Version, build, and all else that decides on the bytecode: LiteRT compiles again where it is
    // another.
    const std::string& sdkVersion() const { return mSdkVersion; }
    // Puts the claimed operators of the subgraph on the list. There may be none.
    // UNSUPPORTED where the model runs no more once anything of it is claimed.
    // `processor`: null for that of the options.
    Status partition(const char* processor, abi::Subgraph subgraph, abi::OpList claimed) const;
    Result<std::unique_ptr<const CompiledIslands>> compile(const char* processor,
                                                           abi::Model islands) const;

  private:
    Plugin(const abi::CompilerTable& table, Options options);
    Status writeReport(const std::string& line) const;

    const abi::CompilerTable& mLiteRt;
    const Options mOptions;
    const std::string mSdkVersion;
};

}  // namespace halyard::vendor
