// SPDX-License-Identifier: Apache-2.0
//
// Options: the settings that a driver is started with. Parsed once (by the service or the runner)
// and passed down.

#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/codes.h"
#include "driver/options/call_limits.h"
#include "engine/base/status.h"
#include "engine/passes/optimize_options.h"

namespace halyard::driver {

struct Options {
    // -c: in order of preference, as engine::parseBackendChoice() reads them ("CpuAcc",
    // "CpuAcc:features=avx2"). CpuRef is added at the end unless it is there.
    // Without GpuAcc a service loads no vendor's library, which takes tens of megabytes.
    std::vector<std::string> backends = {"CpuAcc"};
    // --cpu-features: short for CpuAcc:features=. CpuAcc's kernels use this instruction set and no
    // better one; empty: the best that the processor has.
    std::string cpuFeatures;
    // --cl-tuned-parameters-file, --cl-tuned-parameters-mode, --cl-tuning-level: short for GpuAcc's
    // options tuning-file, tuning-mode and tuning-level, in the words of Arm's driver: which
    // kernels GpuAcc takes is read from the file, or measured and written there. Empty: no file,
    // UseTunedParameters, rapid.
    std::string clTunedParametersFile;
    std::string clTunedParametersMode;
    std::string clTuningLevel;
    // --require-backend: operations run on these alone, or not at all; empty: on any.
    std::vector<std::string> requiredBackends;
    // --backend-hint: a file of what backend_hints.h says; empty: none.
    std::string backendHintFile;
    // --capabilities: a file of what capabilities_file.h says, which the device claims of its speed
    // and power; empty: that it is faster than the system's own processor path.
    std::string capabilitiesFile;
    // --backend-dir: a folder of shared libraries that are backends, each to be named in
    // `backends`; empty: none. Its code runs in this process: never a path that a client chose.
    std::string backendDirectory;
    // --cache-key-dir: a folder of the driver's own, where it keeps the key that it authenticates
    // with what it keeps in clients' files (prepare/cache_key.h); empty: none.
    std::string cacheKeyDirectory;
    // --max-partitions, --min-nodes-per-partition: where a model would be cut into more or smaller
    // partitions, nodes fall back to less preferred backends; 0: no limit.
    size_t maxPartitions = 0;
    size_t minNodesPerPartition = 0;
    // -u: operations the device denies; for experiments and for working round defects.
    std::set<OperationType> unsupportedOperations;
    // --number-of-threads: 1–64; 0: one per core.
    size_t threads = 0;
    // --max-memory: what all models and executions together may take, in MiB, beyond the memory
    // that clients share with the device; 0: half of the machine's memory.
    size_t maxMemoryMib = 0;
    // --max-client-memory: what those of one client may, in MiB; 0: half of the device's.
    size_t maxClientMemoryMib = 0;
    // --max-device-memory: what they may take together of the memory of backends' devices, in MiB;
    // 0: all that these have.
    size_t maxDeviceMemoryMib = 0;
    // --max-running-time: the longest that preparing a model or executing a request may take once
    // it has begun, in seconds; 0: as long as it takes.
    size_t maxRunningSeconds = 300;
    // Whether work that computes for long gets a higher nice value than what is shorter, where the
    // system lets its threads have their own back afterwards.
    bool longWorkGivesWay = false;
    // How many calls at once may hold the thread they come on: of one client, of one user's, and of
    // all. A service sets them below the number of its threads.
    CallLimits calls = {.perClient = std::numeric_limits<size_t>::max(),
                        .perGroup = std::numeric_limits<size_t>::max(),
                        .shared = std::numeric_limits<size_t>::max(),
                        .most = std::numeric_limits<size_t>::max()};
    // -d: a folder that receives the inputs and outputs of every request; empty: none.
    std::string dumpDirectory;
    // -f, --bf16-enabled: what FLOAT32 is computed as, in every model. Models that say that they
    // are relaxed get FLOAT16 without it where the first backend says that it is faster so
    // (Backend::prefersFloat16WhereRelaxed()).
    engine::FloatPrecision precision = engine::FloatPrecision::FLOAT32;
    // --no-optimize: graphs run as they were lowered, to find out whether a pass is to blame.
    bool optimize = true;
    // -a: results may leave the tolerance of float32 where that is faster.
    bool fastMath = false;
    // --trace: a folder that receives what the first executions did, and when (request_trace.h);
    // empty: none.
    std::string traceDirectory;
    // --atrace: a file that receives marks of what is done, as it is done (trace_marker.h); empty:
    // none.
    std::string traceMarkerFile;
    // -p: where nodes are traced, GpuAcc's device tells what each took there.
    bool gpuProfiling = false;
    // --dump-graph: a folder that receives the graphs of models (graph_dump.h); empty: none.
    std::string graphDumpDirectory;
};

// The most that maxMemoryMib, maxClientMemoryMib and maxDeviceMemoryMib may be, so that its bytes
// can be counted.
inline constexpr size_t kMostMemoryMib = std::numeric_limits<size_t>::max() >> 20;

// The most that maxRunningSeconds may be: about a month.
inline constexpr size_t kMostRunningSeconds = size_t{30} * 24 * 60 * 60;

// The most that maxPartitions and minNodesPerPartition may be.
inline constexpr size_t kMostPartitionNodes = size_t{1} << 30;

}  // namespace halyard::driver
