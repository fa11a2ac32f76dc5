// SPDX-License-Identifier: Apache-2.0
//
// Which of several ways to compute a step is taken: with kernels of these tests' own, of which some
// have a thousand times as much to do as others.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/gpu_acc.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/gpu/tuning/tuner.h"
#include "engine/backends/gpu/tuning/tuning.h"
#include "engine/base/log.h"
#include "engine/plan/partition_layout.h"
#include "tests/engine/gpu_acc/on_device.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine::gpu {
namespace {

constexpr int32_t kCount = 1024;
constexpr int32_t kShort = 100;
constexpr int32_t kLong = 1000 * kShort;
constexpr const char* kKey = "busy of 1024";

constexpr KernelFamily kBusy = {.kernel = "busy",
                                .text = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void busy(
        IN(px), IN(pt), OUT(pr), const int rounds) {
    BIND_IN(F32, px);
    BIND_IN(F32, pt);
    BIND_OUT(F32, pr);
    const int at = (int)get_global_id(0);
    float x = LOAD(F32, px, at);
    for (int i = 0; i < rounds; ++i) {
        x = x * LOAD(F32, pt, i % 2) + 1.0f;
    }
    STORE(F32, pr, at, x);
}
)",
                                .local = {64, 1, 1}};
constexpr KernelFamily kBroken = {.kernel = "broken", .text = "this is no C", .local = {64, 1, 1}};

std::atomic<int> warnings;

class GpuTuner : public testing::Test {
  protected:
    void SetUp() override {
        if (gpu_test::backend() == nullptr) {
            GTEST_SKIP() << "there is no OpenCL device";
        }
        const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
        mDevice = Device::open({.library = "", .device = named != nullptr ? named : "pthread"})
                          .value();
        mMemory = std::make_unique<GpuMemory>(mDevice);
        mPrograms = std::make_unique<Programs>(mDevice,
                                               std::vector<std::unique_ptr<CompilerProcess>>());
        const TensorId x = mGraph->addTensor(float32({kCount}));
        addNode(*mGraph, Activate(), {x}, "node", {kCount});
        mLayout = layOut(mGraph, {.nodes = {0}, .inputs = {x}, .outputs = {x + 1}}).value();
        for (LocalId local = 0; local < mLayout.tensors.size(); ++local) {
            mTypes.push_back(float32({kCount}));
        }
        mPresent.assign(mTypes.size(), true);
        std::string folder = testing::TempDir() + "tunerXXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        mFolder = folder;
        warnings = 0;
        setLogSink([](LogLevel level, std::string_view) {
            warnings += level >= LogLevel::WARNING ? 1 : 0;
        });
    }
    void TearDown() override {
        setLogSink(nullptr);
        if (!mFolder.empty()) {
            std::filesystem::remove_all(mFolder);
        }
        EXPECT_EQ(mDeviceMemory->reserved(), 0U) << "what measuring took is given back";
    }

    std::string path() const { return mFolder + "/tuning"; }
    TuningSettings uses() const { return {.file = path()}; }
    TuningSettings updates(TuningLevel level = TuningLevel::RAPID) const {
        return {.file = path(), .mode = TuningMode::UPDATE, .level = level};
    }
    std::unique_ptr<Tuning> tuning(const TuningSettings& settings) const {
        return std::make_unique<Tuning>(settings, mDevice->facts().identity());
    }
    void say(const std::string& name) const {
        std::ofstream(path()) << tuningText({{kKey, name}}, mDevice->facts().identity());
    }

    // All of them count how often they are planned.
    Variant busy(const std::string& name, int32_t rounds) {
        return {.name = name, .plan = [this, name, rounds](StepPlan& step) -> Status {
                    ++mPlanned[name];
                    return launchBusy(step, step.in(0), step.out(), rounds);
                }};
    }
    // In two launches, with scratch memory in between.
    Variant twice(const std::string& name, int32_t rounds) {
        return {.name = name, .plan = [this, name, rounds](StepPlan& step) -> Status {
                    ++mPlanned[name];
                    const Operand between = step.scratch(kCount * sizeof(float));
                    HALYARD_RETURN_IF_ERROR(launchBusy(step, step.in(0), between, rounds));
                    return launchBusy(step, between, step.out(), rounds);
                }};
    }
    Variant broken(const std::string& name) {
        return {.name = name, .plan = [this, name](StepPlan& step) -> Status {
                    ++mPlanned[name];
                    step.scratch(1000);
                    HALYARD_RETURN_IF_ERROR(launchBusy(step, step.in(0), step.out(), 1));
                    return step.launch(kBroken, "").status();
                }};
    }
    // Builds, and can't be run: it has one argument too few.
    Variant unfit(const std::string& name) {
        return {.name = name, .plan = [this, name](StepPlan& step) -> Status {
                    ++mPlanned[name];
                    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kBusy, ""));
                    launch->with(step.in(0)).with(step.in(0)).with(step.out());
                    launch->workItems = {kCount, 1, 1};
                    return {};
                }};
    }
    static Status launchBusy(StepPlan& step, const Operand& in, const Operand& out,
                             int32_t rounds) {
        const std::vector<float> factors = {0.5F, 0.25F};
        const Operand table = step.table(std::span<const float>(factors));
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kBusy, ""));
        launch->with(in).with(table).with(out).with(rounds);
        launch->workItems = {kCount, 1, 1};
        launch->work = static_cast<uint64_t>(kCount) * static_cast<uint64_t>(rounds);
        return {};
    }

    // The name of the one that is taken: it was planned once more than it had been.
    Result<std::string> choose(Tuning& tuning, const std::vector<Variant>& variants,
                               const std::string& key = kKey, const Checkpoint& checkpoint = {}) {
        mPlanned.clear();
        mPlan = {.launches = {}, .tables = {}, .scratchBytes = {0}, .checks = {}};
        const Tuner tuner({.device = mDevice,
                           .memory = *mMemory,
                           .tuning = tuning,
                           .blobs = mBlobs,
                           .deviceMemory = mDeviceMemory,
                           .constant = [](LocalId) { return std::optional<Placed>(); },
                           .checkpoint = checkpoint});
        const MatrixFeatures matrixFeatures;
        const StepPlan::Environment environment = {.facts = mDevice->facts(),
                                                   .programs = *mPrograms,
                                                   .blobs = mBlobs,
                                                   .layout = mLayout,
                                                   .types = mTypes,
                                                   .present = mPresent,
                                                   .matrixFeatures = matrixFeatures,
                                                   .mayRound = false,
                                                   .plan = mPlan,
                                                   .chooser = tuning.isOff() ? nullptr : &tuner};
        StepPlan step(environment, 0);
        std::string last;
        std::vector<Variant> noting;
        for (const Variant& variant : variants) {
            noting.push_back({.name = variant.name, .plan = [&](StepPlan& plan) {
                                  last = variant.name;
                                  return variant.plan(plan);
                              }});
        }
        HALYARD_RETURN_IF_ERROR(step.choose(key, noting));
        HALYARD_RETURN_IF_ERROR(step.buildPrograms());
        return last;
    }
    // The same; why none was taken.
    std::string taken(Tuning& tuning, const std::vector<Variant>& variants,
                      const std::string& key = kKey) {
        const Result<std::string> name = choose(tuning, variants, key);
        return name.ok() ? *name : name.status().toString();
    }
    int planned() const {
        int all = 0;
        for (const auto& [name, times] : mPlanned) {
            all += times;
        }
        return all;
    }

    std::shared_ptr<const Device> mDevice;
    std::unique_ptr<GpuMemory> mMemory;
    std::unique_ptr<Programs> mPrograms;
    std::shared_ptr<Budget> mDeviceMemory = std::make_shared<Budget>(size_t{1} << 24);
    std::shared_ptr<Graph> mGraph = std::make_shared<Graph>();
    PartitionLayout mLayout;
    std::vector<TensorType> mTypes;
    std::vector<bool> mPresent;
    Blobs mBlobs;
    PartitionPlan mPlan;
    std::map<std::string, int> mPlanned;
    std::string mFolder;
};

TEST_F(GpuTuner, TakesTheBestGuessUnlessItIsTold) {
    const auto none = tuning({});
    EXPECT_EQ(taken(*none, {busy("slow", kLong), busy("quick", kShort)}), "slow");
    EXPECT_EQ(planned(), 1) << "nothing is measured";
    EXPECT_EQ(mPlan.launches.size(), 1U);
}

TEST_F(GpuTuner, TakesTheFastestOfThoseItMeasures) {
    const auto updated = tuning(updates());
    const std::vector<Variant> variants = {busy("slow", kLong), twice("slower", kLong),
                                           busy("quick", kShort)};
    EXPECT_EQ(taken(*updated, variants), "quick");
    EXPECT_EQ(mPlan.launches.size(), 1U);
    EXPECT_EQ(mPlan.scratchBytes[0], 0U) << "what was measured leaves nothing behind";
    EXPECT_EQ(taken(*updated, {busy("slow", kLong), twice("two", kShort)}, "other"), "two");
    EXPECT_EQ(mPlan.launches.size(), 2U);
}

TEST_F(GpuTuner, MeasuresEqualStepsOnce) {
    const auto updated = tuning(updates());
    const std::vector<Variant> variants = {busy("slow", kLong), busy("quick", kShort)};
    EXPECT_EQ(taken(*updated, variants), "quick");
    EXPECT_EQ(planned(), 3);
    EXPECT_EQ(taken(*updated, variants), "quick");
    EXPECT_EQ(planned(), 1);
    EXPECT_EQ(taken(*updated, variants, "another"), "quick");
    EXPECT_EQ(planned(), 3);
    EXPECT_EQ(taken(*updated, {busy("alone", kLong)}, "single"), "alone");
    EXPECT_EQ(planned(), 1) << "there is nothing to choose";
}

TEST_F(GpuTuner, MeasuresAsManyAsItsLevelSays) {
    std::vector<Variant> variants;
    for (int i = 0; i < 20; ++i) {
        variants.push_back(busy("variant " + std::to_string(i), kShort));
    }
    const std::map<TuningLevel, size_t> expected = {
            {TuningLevel::RAPID, 4}, {TuningLevel::NORMAL, 12}, {TuningLevel::EXHAUSTIVE, 20}};
    for (const auto& [level, count] : expected) {
        const auto updated = tuning(updates(level));
        ASSERT_TRUE(choose(*updated, variants).ok());
        EXPECT_EQ(mPlanned.size(), count);
        EXPECT_TRUE(mPlanned.contains("variant 0"));
        EXPECT_TRUE(mPlanned.contains("variant " + std::to_string(count - 1)));
    }
}

TEST_F(GpuTuner, DoesWithoutVariantsThatFail) {
    const auto updated = tuning(updates());
    const std::vector<Variant> variants = {broken("broken"), unfit("unfit"), busy("slow", kLong),
                                           busy("quick", kShort)};
    EXPECT_EQ(taken(*updated, variants), "quick");
    EXPECT_EQ(warnings, 2);
    EXPECT_EQ(taken(*updated, variants, "another"), "quick");
    EXPECT_EQ(warnings, 2) << "each is said once";
}

TEST_F(GpuTuner, FailsAsTheFirstWhereAllFail) {
    const auto updated = tuning(updates());
    const Status status = choose(*updated, {broken("broken"), unfit("unfit")}).status();
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_NE(status.message().find("kernel broken"), std::string_view::npos) << status.toString();
    EXPECT_EQ(updated->find(kKey), std::nullopt);
}

TEST_F(GpuTuner, DoesWhatTheFileSaysAndMeasuresNothing) {
    const std::vector<Variant> variants = {busy("slow", kLong), busy("quick", kShort),
                                           busy("slowest", 2 * kLong)};
    for (const TuningSettings& settings : {uses(), updates()}) {
        say("slowest");
        EXPECT_EQ(taken(*tuning(settings), variants), "slowest");
        EXPECT_EQ(planned(), 1);
    }
    say("of an earlier version");
    EXPECT_EQ(taken(*tuning(uses()), variants), "slow");
    EXPECT_EQ(planned(), 1);
    EXPECT_EQ(taken(*tuning(updates()), variants), "quick");
}

TEST_F(GpuTuner, TakesTheBestGuessWhereWhatTheFileSaysFails) {
    say("broken");
    const auto used = tuning(uses());
    EXPECT_EQ(taken(*used, {busy("first", kShort), broken("broken")}), "first");
    EXPECT_EQ(warnings, 1);
    EXPECT_EQ(mPlan.launches.size(), 1U) << "nothing is left of what failed";
    EXPECT_EQ(mPlan.scratchBytes[0], 0U);
}

TEST_F(GpuTuner, WritesWhatTheNextProcessUses) {
    const std::vector<Variant> variants = {busy("slow", kLong), busy("quick", kShort)};
    {
        const auto updated = tuning(updates());
        ASSERT_TRUE(choose(*updated, variants).ok());
        updated->save();
    }
    EXPECT_EQ(taken(*tuning(uses()), variants), "quick");
    EXPECT_EQ(planned(), 1);
}

TEST_F(GpuTuner, FindsWhatItTookInTheProgramThatComesBack) {
    const auto store = std::make_shared<BlobStore>(nullptr);
    mBlobs = Blobs(store, "GpuAcc");
    const std::vector<Variant> variants = {busy("slow", kLong), busy("quick", kShort)};
    EXPECT_EQ(taken(*tuning(updates()), variants), "quick");
    const auto again = tuning(updates());
    EXPECT_EQ(taken(*again, variants), "quick");
    EXPECT_EQ(planned(), 1);
    EXPECT_EQ(again->find(kKey), std::nullopt) << "a client's file tells nothing to others";
    EXPECT_EQ(taken(*again, {busy("slow", kLong), busy("new", kShort)}), "new");
    EXPECT_EQ(planned(), 3) << "a name that is not known is as none";
    for (const auto& [name, blob] : store->all()) {
        ASSERT_TRUE(store->put(name, std::vector<uint8_t>(3, 'x')).ok());
    }
    EXPECT_EQ(taken(*tuning(updates()), variants), "quick");
    EXPECT_EQ(planned(), 3);
}

TEST_F(GpuTuner, TakesTheBestGuessWhereThereIsNoRoomToMeasure) {
    mDeviceMemory = std::make_shared<Budget>(kCount * sizeof(float));
    const auto updated = tuning(updates());
    const auto store = std::make_shared<BlobStore>(nullptr);
    mBlobs = Blobs(store, "GpuAcc");
    EXPECT_EQ(taken(*updated, {busy("slow", kLong), busy("quick", kShort)}), "slow");
    EXPECT_EQ(updated->find(kKey), std::nullopt) << "another time there may be";
    for (const auto& [name, blob] : store->all()) {
        EXPECT_EQ(name.find("tuned"), std::string::npos) << name;
    }
}

TEST_F(GpuTuner, StopsWhenItMust) {
    const auto updated = tuning(updates());
    const std::vector<Variant> variants = {busy("slow", kLong), busy("quick", kShort)};
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(choose(*updated, variants, kKey, Checkpoint({}, &cancelled)).status().code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(choose(*updated, variants, kKey, Checkpoint(std::chrono::steady_clock::now()))
                      .status()
                      .code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(warnings, 0) << "no variant is to blame";
    const auto measuring = updated->startMeasuring({});
    EXPECT_EQ(choose(*updated, variants, kKey, Checkpoint({}, &cancelled)).status().code(),
              StatusCode::UNAVAILABLE)
            << "a thread that waits for others stops, too";
}

TEST(GpuAccTuned, ComputesTheSameAndWritesTheFile) {
    HALYARD_NEEDS_DEVICE();
    const std::string path = testing::TempDir() + "tuned";
    std::filesystem::remove(path);
    const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
    const auto open = [&](TuningMode mode) {
        return makeGpuAcc(
                       {.choice = {.library = "", .device = named != nullptr ? named : "pthread"},
                        .tuning = {.file = path, .mode = mode}})
                .value();
    };
    const auto run = [](const Backend& backend) {
        Graph graph;
        const TensorId x = graph.addTensor(float32({300}));
        graph.setInputs({x});
        graph.setOutputs({addNode(graph, Softmax(), {x})});
        Execution execution = Execution::create(buildOrDie(std::move(graph), {&backend})).value();
        const Floats in(300, 1.0F);
        Floats out(300);
        EXPECT_TRUE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
        for (const float each : out) {
            EXPECT_NEAR(each, 1.0F / 300, 1e-7F);
        }
    };
    run(*open(TuningMode::UPDATE));
    Result<std::string> text = readTuningFile(path);
    ASSERT_TRUE(text.ok()) << text.status().toString();
    EXPECT_NE(text->find("softmax #define X F32 rows 1 of 300 apart 1\t"), std::string::npos)
            << *text;
    // Another choice than that of the cost model is taken, too.
    text->replace(text->rfind('\t') + 1, std::string::npos, "256\nend 1\n");
    std::ofstream(path) << *text;
    run(*open(TuningMode::USE));
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace halyard::engine::gpu
