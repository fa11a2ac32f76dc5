// SPDX-License-Identifier: Apache-2.0
//
// Users' settings of where operations run, from the options to the prepared model.

#include "driver/options/placement_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using engine::NodeKind;

// CpuRef under another name, for some kinds.
class Choosy final : public engine::Backend {
  public:
    Choosy(std::string name, std::set<NodeKind> kinds)
        : mName(std::move(name)), mKinds(std::move(kinds)) {}

    std::string_view name() const override { return mName; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        return mKinds.contains(graph.node(node).kind()) ? mCpuRef->supports(graph, node)
                                                        : unsupported("has no such kernel");
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        return mCpuRef->compile(arguments);
    }

  private:
    const std::string mName;
    const std::set<NodeKind> mKinds;
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

class HintFile {
  public:
    explicit HintFile(const std::string& text) {
        char name[] = "/tmp/halyard-hints-XXXXXX";
        close(mkstemp(name));
        mPath = name;
        std::ofstream(mPath) << text;
    }
    ~HintFile() { std::remove(mPath.c_str()); }
    const std::string& path() const { return mPath; }

  private:
    std::string mPath;
};

// RELU, ADD, RELU, RELU, ADD in a chain.
Model chain() {
    ModelBuilder builder;
    const OperandSpec type = floats({4});
    const uint32_t none = builder.int32(0);
    uint32_t last = builder.input(type);
    for (const char kind : std::string_view("RARRA")) {
        const uint32_t next = builder.temporary(type);
        if (kind == 'A') {
            builder.operation(OperationType::ADD, {last, last, none}, {next});
        } else {
            builder.operation(OperationType::RELU, {last}, {next});
        }
        last = next;
    }
    builder.operand(last).lifetime = OperandLifeTime::SUBGRAPH_OUTPUT;
    Model model = builder.build();
    model.main.outputIndexes = {last};
    return model;
}

Result<std::unique_ptr<Device>> deviceWith(Options options) {
    std::vector<std::unique_ptr<const engine::Backend>> backends;
    backends.push_back(std::make_unique<Choosy>("Fast", std::set{NodeKind::Activate}));
    backends.push_back(
            std::make_unique<Choosy>("Any", std::set{NodeKind::Activate, NodeKind::Binary}));
    options.threads = 1;
    return Device::create(std::move(options), std::move(backends));
}

// Of the nodes as they are lowered, unless the passes are asked for.
Result<std::vector<std::string>> placed(Options options, const Model& model = chain(),
                                        bool optimize = false) {
    options.optimize = optimize;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, deviceWith(std::move(options)));
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<PreparedModel> prepared,
                             device->prepare(model, HalVersion::V1_3, {}));
    std::vector<std::string> backends;
    for (const engine::NodePlacement& node : prepared->program().placement()) {
        backends.push_back(node.backend);
    }
    return backends;
}

using Names = std::vector<std::string>;

TEST(PlacementPolicy, WithoutOptionsIsTheOrderOfBackends) {
    EXPECT_EQ(placed({}).value(), (Names{"Fast", "Any", "Fast", "Fast", "Any"}));
}

TEST(PlacementPolicy, LimitsPartitions) {
    Options options;
    options.minNodesPerPartition = 2;
    EXPECT_EQ(placed(options).value(), (Names{"Any", "Any", "Fast", "Fast", "Any"}));
    options = {};
    options.maxPartitions = 1;
    EXPECT_EQ(placed(options).value(), (Names{"Any", "Any", "Any", "Any", "Any"}));
}

// The first RELU goes into nothing, the second into the ADD before it.
TEST(PlacementPolicy, IsThatOfTheNodesThatThePassesLeave) {
    EXPECT_EQ(placed({}, chain(), true).value(), (Names{"Fast", "Any", "Fast", "Any"}));
    Options options;
    options.maxPartitions = 1;
    EXPECT_EQ(placed(options, chain(), true).value(), (Names{"Any", "Any", "Any", "Any"}));
    const HintFile file("0 Any\n");
    options = {};
    options.backendHintFile = file.path();
    EXPECT_EQ(placed(options, chain(), true).value(), (Names{"Any", "Any", "Fast", "Any"}));
}

TEST(PlacementPolicy, FollowsHintsByIndexBeforeThoseByName) {
    const HintFile file("RELU Any\n3 Fast\n");
    Options options;
    options.backendHintFile = file.path();
    EXPECT_EQ(placed(options).value(), (Names{"Any", "Any", "Any", "Fast", "Any"}));
}

TEST(PlacementPolicy, TakesAHintToABackendThatRefusesForNoMoreThanThat) {
    const HintFile file("ADD Fast\n");
    Options options;
    options.backendHintFile = file.path();
    EXPECT_EQ(placed(options).value(), (Names{"Fast", "Any", "Fast", "Fast", "Any"}));
}

TEST(PlacementPolicy, RefusesHintsToWhatIsNoBackend) {
    const HintFile file("RELU Any\nADD Fats\n");
    Options options;
    options.backendHintFile = file.path();
    const Status status = placed(options).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              file.path() + ": line 2: no backend \"Fats\" is in use; those are Fast, Any");
    options.backendHintFile = "/nowhere/hints";
    EXPECT_EQ(placed(options).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST(PlacementPolicy, LeavesOutHintsToBackendsThatThisBuildLacks) {
    const HintFile file("RELU GpuAcc\n");
    Options options;
    options.backendHintFile = file.path();
    EXPECT_EQ(placed(options).value()[0], "Fast");
}

TEST(PlacementPolicy, RequiringABackendRefusesWhatItDoes) {
    Options options;
    options.requiredBackends = {"Fast"};
    const std::unique_ptr<Device> device = deviceWith(options).value();
    const Model model = chain();
    const Status refused = device->prepare(model, HalVersion::V1_3, {}).status();
    EXPECT_EQ(refused.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(refused.message().find("operation 1 (ADD): no backend takes this Binary: Fast has no "
                                     "such kernel; Any may run nothing: another one is required"),
              std::string::npos)
            << refused.toString();
    EXPECT_EQ(device->supportedOperations(model, HalVersion::V1_3).value(),
              (std::vector<bool>{true, false, true, true, false}))
            << "supported is what prepares";
    options.requiredBackends = {"Any"};
    EXPECT_EQ(placed(options).value(), Names(5, "Any"));
    options.requiredBackends = {"Fast", "Any"};
    EXPECT_TRUE(placed(options).ok());
}

TEST(PlacementPolicy, RequiringABackendThatIsNotThereIsRefused) {
    Options options;
    options.requiredBackends = {"CpuAcc"};
    const Status status = deviceWith(options).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "--require-backend: no backend \"CpuAcc\" is in use; those are Fast, Any");
    const HintFile file("RELU Any\n");
    options.requiredBackends = {"Fast"};
    options.backendHintFile = file.path();
    EXPECT_EQ(deviceWith(options).status().message(),
              file.path() + ": line 1: backend Any is none of those required (Fast)");
}

TEST(PlacementPolicy, RequiredPartitionsDoNotFallElsewhere) {
    Options options;
    options.requiredBackends = {"Fast"};
    options.minNodesPerPartition = 9;
    ModelBuilder builder;
    const OperandSpec type = floats({4});
    builder.operation(OperationType::RELU, {builder.input(type)}, {builder.output(type)});
    EXPECT_EQ(placed(options, builder.build()).value(), Names{"Fast"});
}

TEST(PlacementPolicy, FolderOfBackendsHasToBeThere) {
    Options options;
    options.backends = {"CpuRef"};
    options.backendDirectory = "relative";
    EXPECT_EQ(Device::create(options).status().code(), StatusCode::INVALID_ARGUMENT);
    options.backendDirectory = "/nowhere";
    EXPECT_EQ(Device::create(options).status().message(), "/nowhere: No such file or directory");
}

TEST(PlacementPolicy, SupportsWhatPreparesWhateverTheLimits) {
    for (const size_t most : {1U, 2U, 3U}) {
        for (const size_t least : {1U, 2U, 5U}) {
            Options options;
            options.maxPartitions = most;
            options.minNodesPerPartition = least;
            const std::unique_ptr<Device> device = deviceWith(options).value();
            EXPECT_EQ(device->supportedOperations(chain(), HalVersion::V1_3).value(),
                      std::vector<bool>(5, true));
            EXPECT_TRUE(device->prepare(chain(), HalVersion::V1_3, {}).ok());
        }
    }
}

}  // namespace
}  // namespace halyard::driver
