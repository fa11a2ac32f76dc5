// SPDX-License-Identifier: Apache-2.0
//
// Backends in shared libraries: the sample, and libraries that do one thing wrong each.

#include "engine/backends/loaded/loaded_backend.h"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/loaded/library.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/trusted_path.h"
#include "engine/plan/profile.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

namespace fs = std::filesystem;

const std::string kBackends = HALYARD_BACKENDS;
const std::string kSample = kBackends + "/sample/sample_backend.so";

std::string bad(const std::string& fault) {
    return kBackends + "/" + fault + "/bad.so";
}

// Where there is a loader; what is without one is tested last.
class LoadedBackend : public testing::Test {
  protected:
    void SetUp() override {
        if (!Library::canOpenAny()) {
            GTEST_SKIP() << "this program is linked statically, and can't load backends";
        }
        if (const auto folder = trustedPath(kBackends); !folder.ok()) {
            GTEST_SKIP() << "no backend of this build is loaded for this user: "
                         << folder.status().message();
        }
    }
};
using LoadedBackends = LoadedBackend;

// A folder that is gone afterwards.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "halyard-backends-XXXXXX").string();
        mPath = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(mPath, ignored);
    }
    const std::string& path() const { return mPath; }
    void add(const std::string& file, const std::string& name) const {
        fs::copy_file(file, mPath + "/" + name);
    }

  private:
    std::string mPath;
};

// (x + y) * 2, and its RELU; the sum is an output, too.
Graph sample(const Shape& x = {2, 3}, const Shape& y = {3}) {
    Graph graph;
    const TensorId a = graph.addTensor(float32(x));
    const TensorId b = graph.addTensor(float32(y));
    graph.setInputs({a, b});
    const TensorId two = addConstant<float>(graph, float32({1}), {2.0F});
    const TensorId sum = addSum(graph, a, b, "operation 0 (ADD)");
    const TensorId product =
            addNode(graph, Binary{.function = Binary::Function::MUL}, {sum, two}, "operation 1");
    graph.setOutputs({addActivate(graph, product, "operation 2"), sum});
    return graph;
}

std::string refusalOf(const Backend& backend, const Graph& graph, NodeId node = 0) {
    const Status answer = backend.supports(graph, node);
    EXPECT_EQ(answer.code(), StatusCode::UNSUPPORTED);
    return std::string(answer.message());
}

// Why a program of the sample can't be built on this library, or run.
Status tried(const std::string& library) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> backend, loadBackend(library));
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                             Program::build(sample(), {backend.get()}, nullptr,
                                            std::make_shared<Budget>(size_t{1} << 30)));
    HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
    const Floats x(6);
    const Floats y(3);
    Floats product(6);
    Floats sum(6);
    return runOnce(execution, {bindInput<float>(x, {2, 3}), bindInput(y)},
                   {bindOutput(product), bindOutput(sum)});
}

TEST_F(LoadedBackend, ComputesWhatCpuRefDoes) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    const std::unique_ptr<const Backend> cpuRef = makeCpuRef();
    EXPECT_EQ(library->name(), "Sample");
    const Floats x = {-1, 2, -3, 4, -5, 6};
    const Floats y = {0.5F, 1, std::numeric_limits<float>::quiet_NaN()};
    std::array<Floats, 2> products;
    std::array<Floats, 2> sums;
    for (const size_t i : {0U, 1U}) {
        const auto program = buildOrDie(sample(), {i == 0 ? library.get() : cpuRef.get()});
        EXPECT_EQ(program->partitionCount(), 1U);
        Execution execution = Execution::create(program).value();
        products[i].resize(6);
        sums[i].resize(6);
        ASSERT_TRUE(runOnce(execution, {bindInput<float>(x, {2, 3}), bindInput(y)},
                            {bindOutput(products[i]), bindOutput(sums[i])})
                            .ok());
    }
    for (size_t i = 0; i < 6; ++i) {
        EXPECT_TRUE(products[0][i] == products[1][i] ||
                    (std::isnan(products[0][i]) && std::isnan(products[1][i])));
        EXPECT_TRUE(sums[0][i] == sums[1][i] || (std::isnan(sums[0][i]) && std::isnan(sums[1][i])));
    }
    EXPECT_EQ(products[0][1], 6.0F);
}

TEST_F(LoadedBackend, TakesShapesThatTheRequestTells) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    const auto program = buildOrDie(sample({-1, -1}, {-1}), {library.get()});
    Execution execution = Execution::create(program).value();
    for (const int32_t rows : {1, 3, 2}) {
        const Floats x(static_cast<size_t>(rows) * 2, 1.0F);
        const Floats y = {1, -5};
        Floats product(x.size());
        Floats sum(x.size());
        ExecutionReport report;
        ASSERT_TRUE(runOnce(execution, {bindInput<float>(x, {rows, 2}), bindInput(y)},
                            {bindOutput(product), bindOutput(sum)}, &report)
                            .ok());
        EXPECT_EQ(report.outputs[0].shape, Shape({rows, 2}));
        EXPECT_EQ(product.back(), 0.0F);
        EXPECT_EQ(product[0], 4.0F);
        EXPECT_EQ(sum.back(), -4.0F);
    }
}

TEST_F(LoadedBackend, SharesAGraphWithCpuRefByItsOwnWord) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    const std::unique_ptr<const Backend> cpuRef = makeCpuRef();
    Graph graph = sample();
    const TensorId out = addNode(graph, Unary(), {graph.outputs()[0]}, "operation 3 (ABS)");
    graph.setOutputs({out, graph.outputs()[1]});
    const auto program = buildOrDie(graph, {library.get(), cpuRef.get()});
    EXPECT_EQ(program->partitionCount(), 2U);
    EXPECT_EQ(program->placement()[0].backend, "Sample");
    EXPECT_EQ(program->placement()[0].kernel, "Sample");
    EXPECT_EQ(program->placement()[3].backend, "CpuRef");
    EXPECT_EQ(program->placement()[3].refusals.at(0).reason, "runs ADD, MUL and RELU only");
    EXPECT_EQ(program->bytesBetweenPartitions(), 6U * 4);
}

TEST_F(LoadedBackend, RefusesWithTheLibrarysReason) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    Graph graph;
    const TensorId x = graph.addTensor(int32({4}));
    graph.setInputs({x});
    const TensorId y = graph.addTensor(int32({4}));
    graph.addNode({.descriptor = Binary(),
                   .inputs = {x, x},
                   .outputs = {y},
                   .label = "sum",
                   .sources = {}});
    EXPECT_EQ(refusalOf(*library, graph), "takes FLOAT32 only");
}

TEST_F(LoadedBackend, IsNotAskedWhereOnlyARunTellsShapes) {
    const std::unique_ptr<const Backend> library = loadBackend(bad("fails_to_run")).value();
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    addNode(graph, Reshape(), {x, shape});
    EXPECT_EQ(refusalOf(*library, graph), "runs no node with computed control inputs");
}

TEST_F(LoadedBackend, StopsWhenItIsTold) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    Execution execution = Execution::create(buildOrDie(sample(), {library.get()})).value();
    // Holds from its second look on: the planner itself takes the first.
    struct Second : StopCondition {
        bool holds() const override { return ++looks > 1; }
        mutable std::atomic<int> looks = 0;
    } second;
    const Floats x(6);
    const Floats y(3);
    Floats product(6);
    Floats sum(6);
    const Status status = execution.run(std::array{bindInput<float>(x, {2, 3}), bindInput(y)},
                                        std::array{bindOutput(product), bindOutput(sum)},
                                        {.stop = &second}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE) << status.toString();
}

TEST_F(LoadedBackend, TellsWhatAPartitionTookInOneLine) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    const auto program = buildOrDie(sample(), {library.get()});
    Execution execution = Execution::create(program).value();
    Profile profile(program);
    const Floats x(6);
    const Floats y(3);
    Floats product(6);
    Floats sum(6);
    ASSERT_TRUE(execution
                        .run(std::array{bindInput<float>(x, {2, 3}), bindInput(y)},
                             std::array{bindOutput(product), bindOutput(sum)}, {.trace = &profile},
                             nullptr)
                        .ok());
    profile.endRun();
    ASSERT_EQ(profile.nodes().size(), 1U);
    EXPECT_EQ(profile.nodes()[0].placement, (std::vector<size_t>{0, 1, 2}));
    EXPECT_EQ(profile.nodes()[0].kernel, "Sample");
    EXPECT_EQ(profile.nodes()[0].bytes, 4U * (6 + 3 + 6 + 6));
}

TEST_F(LoadedBackend, CountsWhatTheLibraryIsHanded) {
    const std::unique_ptr<const Backend> library = loadBackend(kSample).value();
    const auto memory = std::make_shared<Budget>(size_t{1} << 30);
    const auto program = Program::build(sample(), {library.get()}, nullptr, memory).value();
    EXPECT_GT(memory->reserved(), 0U);
    const auto none = std::make_shared<Budget>(16);
    EXPECT_EQ(Program::build(sample(), {library.get()}, nullptr, none).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(LoadedBackend, CountsWhatTheLibraryReservesForPartitionsAndStates) {
    const std::unique_ptr<const Backend> library = loadBackend(bad("computes_nothing")).value();
    const auto memory = std::make_shared<Budget>(size_t{1} << 30);
    const auto device = std::make_shared<Budget>(101);
    const auto build = [&] {
        Graph graph = sample();
        AnalyzedGraph analyzed = analyze(std::move(graph), {library.get()}, memory).value();
        return Program::build(std::move(analyzed), {library.get()},
                              {.memory = memory, .deviceMemory = device});
    };
    auto program = build().value();
    const size_t ofPartition = memory->reserved();
    EXPECT_GE(ofPartition, 1000U);
    EXPECT_EQ(device->reserved(), 100U);
    const Status tooMuch = build().status();
    EXPECT_EQ(tooMuch.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(tooMuch.message().starts_with("Bad: 100 bytes")) << tooMuch.message();
    {
        const Execution execution = Execution::create(program).value();
        EXPECT_EQ(memory->reserved(), ofPartition + 10);
        EXPECT_EQ(device->reserved(), 101U);
        EXPECT_EQ(Execution::create(program).status().code(), StatusCode::RESOURCE_EXHAUSTED);
        EXPECT_EQ(memory->reserved(), ofPartition + 10) << "nothing is left of what failed";
    }
    EXPECT_EQ(memory->reserved(), ofPartition);
    program = nullptr;
    EXPECT_EQ(memory->reserved(), 0U);
    EXPECT_EQ(device->reserved(), 0U);
}

TEST_F(LoadedBackend, StopsBeforeAPartitionIsFinished) {
    const std::unique_ptr<const Backend> library = loadBackend(bad("computes_nothing")).value();
    // Holds once the partition has been compiled.
    struct Later : StopCondition {
        bool holds() const override { return ++looks > 40; }
        mutable std::atomic<int> looks = 0;
    };
    bool stoppedThere = false;
    for (int first = 0; first < 40 && !stoppedThere; ++first) {
        Later later;
        later.looks = first;
        AnalyzedGraph analyzed = analyze(sample(), {library.get()}, nullptr).value();
        const Status status = Program::build(std::move(analyzed), {library.get()},
                                             {.checkpoint = Checkpoint().unless(&later)})
                                      .status();
        stoppedThere =
                status.message().find("while a library made things ready") != std::string::npos;
    }
    EXPECT_TRUE(stoppedThere);
}

TEST_F(LoadedBackend, IsRefusedWhereTheLibraryIsNotAsTheHeaderSays) {
    const auto expect = [](const std::string& fault, const std::string& reason) {
        const Status status = loadBackend(bad(fault)).status();
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED) << fault;
        EXPECT_NE(status.message().find(bad(fault) + ": " + reason), std::string::npos)
                << status.toString();
    };
    expect("is_of_a_wrong_version", "it is for version 9 of the interface; this is version 3");
    expect("has_no_entry", "it is no backend: it has no halyard_backend_open()");
    expect("cant_work_here", "it can't work here");
    expect("has_a_wrong_size", "its description has 8 bytes instead of ");
    expect("has_no_name", "it has no name");
    expect("is_called_like_a_path", "its name is not up to 32 letters");
    expect("lacks_a_function", "it lacks a function");
    expect("keeps_its_states", "it lacks a function");
}

TEST_F(LoadedBackend, IsRefusedWhereTheFileIsNoLibrary) {
    const Folder folder;
    const std::string text = folder.path() + "/text.so";
    std::ofstream(text) << "no library";
    EXPECT_EQ(loadBackend(text).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(loadBackend(folder.path()).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(loadBackend(folder.path() + "/none.so").status().code(), StatusCode::UNSUPPORTED);
    const Status relative = loadBackend("sample_backend.so").status();
    EXPECT_EQ(relative.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(relative.message().find("absolute"), std::string::npos);
    folder.add(kSample, "open.so");
    fs::permissions(folder.path() + "/open.so", fs::perms::all);
    EXPECT_NE(loadBackend(folder.path() + "/open.so").status().message().find("may write"),
              std::string::npos);
}

// By what lies in its file: programs that one build of a library compiled are none of another's.
TEST_F(LoadedBackend, IsToldFromOtherBuildsOfTheLibrary) {
    const auto one = loadBackend(bad("fails_to_run")).value();
    const auto other = loadBackend(bad("fails_to_finish")).value();
    EXPECT_EQ(one->name(), other->name());
    EXPECT_NE(one->identity(), other->identity());
    const Folder folder;
    folder.add(bad("fails_to_run"), "copy.so");
    EXPECT_EQ(loadBackend(folder.path() + "/copy.so").value()->identity(), one->identity());
}

TEST_F(LoadedBackend, FailsWhereTheLibraryTalksRubbish) {
    const auto expect = [](const std::string& fault, StatusCode code, const std::string& reason) {
        const Status status = tried(bad(fault));
        EXPECT_EQ(status.code(), code) << fault << ": " << status.toString();
        EXPECT_NE(status.message().find("Bad"), std::string::npos) << status.toString();
        EXPECT_NE(status.message().find(reason), std::string::npos) << status.toString();
    };
    expect("answers_rubbish", StatusCode::UNSUPPORTED, "returned 4711, which is no status");
    expect("talks_without_end", StatusCode::UNSUPPORTED, std::string(255, 'x'));
    expect("compiles_nothing", StatusCode::INTERNAL, "compiled nothing");
    expect("gives_wrong_shapes", StatusCode::INTERNAL, "gives output 0 rank 1000, which has to be");
    expect("gives_wrong_extents", StatusCode::INTERNAL,
           "gives output 0 [3, 3], which has to be [2, 3]");
    expect("wants_all_memory", StatusCode::INTERNAL,
           "asks for a workspace of 18446744073709551615");
    expect("stops_unasked", StatusCode::INTERNAL, "stopped without being asked to");
    expect("fails_to_run", StatusCode::INTERNAL, "is out of order");
    expect("fails_to_finish", StatusCode::INTERNAL, "has burnt its programs");
    expect("makes_no_state", StatusCode::INTERNAL, "made no state");
}

Result<std::vector<std::string>> namesIn(const std::string& folder) {
    HALYARD_ASSIGN_OR_RETURN(const auto backends, loadBackends(folder, {"CpuRef"}));
    std::vector<std::string> names;
    for (const std::unique_ptr<const Backend>& backend : backends) {
        names.emplace_back(backend->name());
    }
    return names;
}

TEST_F(LoadedBackends, AreTheGoodOnesOfAFolder) {
    const Folder folder;
    folder.add(kSample, "b.so");
    folder.add(kSample, "c.so");
    folder.add(bad("is_of_a_wrong_version"), "a.so");
    folder.add(bad("is_called_cpuref"), "d.so");
    folder.add(bad("fails_to_run"), "e.so");
    folder.add(bad("fails_to_run"), "f.txt");
    fs::create_directory(folder.path() + "/g.so");
    EXPECT_EQ(namesIn(folder.path()).value(), (std::vector<std::string>{"Sample", "Bad"}));
}

TEST_F(LoadedBackends, ComeFromAnAbsoluteFolderThatNotEverybodyMayWriteTo) {
    EXPECT_EQ(namesIn("backends").status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(namesIn(kSample).status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(namesIn(kBackends + "/none").status().code(), StatusCode::INVALID_ARGUMENT);
    const Folder folder;
    EXPECT_TRUE(namesIn(folder.path()).value().empty());
    fs::permissions(folder.path(), fs::perms::all);
    EXPECT_EQ(namesIn(folder.path()).status().code(), StatusCode::INVALID_ARGUMENT);
}

// Who may replace a folder, or what leads to it, decides on what is in it.
TEST_F(LoadedBackends, ComeFromNowhereThatOthersDecideOn) {
    const Folder outer;
    const Folder elsewhere;
    fs::create_directory(outer.path() + "/inner");
    fs::copy_file(kSample, outer.path() + "/inner/sample.so");
    fs::create_directory_symlink(outer.path() + "/inner", elsewhere.path() + "/link");
    const std::string direct = outer.path() + "/inner";
    const std::string linked = elsewhere.path() + "/link";
    const std::vector<std::string> names = {"Sample"};
    EXPECT_EQ(namesIn(direct).value(), names);
    EXPECT_EQ(namesIn(linked).value(), names);
    fs::permissions(elsewhere.path(), fs::perms::all);
    EXPECT_EQ(namesIn(direct).value(), names);
    EXPECT_EQ(namesIn(linked).status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(loadBackend(linked + "/sample.so").status().code(), StatusCode::UNSUPPORTED);
    fs::permissions(elsewhere.path(), fs::perms::owner_all);
    fs::permissions(outer.path(), fs::perms::all);
    for (const std::string& path : {direct, linked}) {
        EXPECT_EQ(namesIn(path).status().code(), StatusCode::INVALID_ARGUMENT);
        const Status library = loadBackend(path + "/sample.so").status();
        EXPECT_EQ(library.code(), StatusCode::UNSUPPORTED);
        EXPECT_NE(library.message().find(outer.path() + ": everybody may write to it"),
                  std::string_view::npos)
                << library.toString();
    }
}

// What dl_iterate_phdr() calls back with, of objects whose segments are of these types.
template <uint32_t... kTypes>
int oneObject(int (*look)(dl_phdr_info*, size_t, void*), void* data) {
    std::array<ElfW(Phdr), sizeof...(kTypes)> headers = {};
    size_t index = 0;
    ((headers[index++].p_type = kTypes), ...);
    dl_phdr_info object = {};
    object.dlpi_phdr = headers.data();
    object.dlpi_phnum = headers.size();
    return look(&object, sizeof object, data);
}

TEST(ALoader, IsFoundWhereverTheProgramStandsAmongTheObjects) {
    // bionic has its loader first, glibc the program.
    EXPECT_TRUE(Library::canOpenAny([](auto* look, void* data) {
        const int loader = oneObject<PT_LOAD, PT_DYNAMIC>(look, data);
        return loader != 0 ? loader : oneObject<PT_PHDR, PT_INTERP, PT_LOAD>(look, data);
    }));
    EXPECT_TRUE(Library::canOpenAny([](auto* look, void* data) {
        const int program = oneObject<PT_PHDR, PT_INTERP, PT_LOAD>(look, data);
        return program != 0 ? program : oneObject<PT_LOAD, PT_DYNAMIC>(look, data);
    }));
}

TEST(ALoader, IsNotThereInAStaticProgram) {
    EXPECT_FALSE(Library::canOpenAny(
            [](auto* look, void* data) { return oneObject<PT_LOAD, PT_DYNAMIC>(look, data); }));
}

TEST(LoadedBackendsOfStaticPrograms, AreNone) {
    const Status file = loadBackend(kSample).status();
    const Status folder = namesIn(kBackends).status();
    for (const Status& status : {file, folder}) {
        EXPECT_EQ(status.message().find("linked statically") == std::string::npos,
                  Library::canOpenAny())
                << status.toString();
    }
}

}  // namespace
}  // namespace halyard::engine
