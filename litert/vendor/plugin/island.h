// SPDX-License-Identifier: Apache-2.0
//
// Islands: claimed operators that LiteRT has put into subgraphs of their own, each compiled alone.

#pragma once

#include <string>

#include "engine/base/aligned_buffer.h"
#include "engine/base/status.h"
#include "importers/tflite/model.h"
#include "litert/vendor/options.h"

namespace halyard::vendor {

// Bytecode of the model's only subgraph, for the processor of the options. UNSUPPORTED names the
// operator that is not taken after all. Where constants can't be packed for the processor on this
// one it is a graph, which is compiled when it is loaded, and the log says so.
Result<AlignedBuffer> compileIsland(const tflite::Model& model, const std::string& processor,
                                    const Options& options);

}  // namespace halyard::vendor
