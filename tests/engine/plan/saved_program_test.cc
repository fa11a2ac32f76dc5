// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

FileBytes saved(const Program& program) {
    SectionWriter writer;
    program.save(writer, SavedBlobs::ALL);
    return FileBytes::of(writer);
}

Result<std::shared_ptr<const Program>> load(const FileBytes& file, const BackendList& backends,
                                            const BuildOptions& options = {},
                                            SavedBytes trust = SavedBytes::SHARED) {
    HALYARD_ASSIGN_OR_RETURN(
            const SectionFile opened,
            SectionFile::open(file.owner(), file.bytes(), options.memory, options.memory));
    return Program::load(opened, trust, backends, options);
}

// Two layers of the same weights and one of others, a constant that is added, one that steers, and
// a branch with weights of its own.
class SavedProgram : public testing::Test {
  protected:
    static constexpr int32_t kUnits = 24;

    SavedProgram() {
        const TensorId x = graph.addTensor(float32({2, kUnits}));
        const TensorId condition =
                graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
        graph.setInputs({x, condition});
        const TensorId weights = addNumbers(graph, {kUnits, kUnits}, 1);
        const TensorId bias = addNumbers(graph, {kUnits}, 2);
        const TensorId others = addNumbers(graph, {kUnits, kUnits}, 3);
        TensorId y = addNode(graph, FullyConnected(), {x, weights, bias}, "first");
        y = addNode(graph, FullyConnected(), {y, weights, bias}, "again");
        y = addNode(graph, FullyConnected(), {y, others, bias}, "other");
        y = addSum(graph, y, addNumbers(graph, {1, kUnits}, 4));
        y = addNode(graph, Reshape(), {y, addConstant<int32_t>(graph, int32({2}), {2, kUnits})});
        y = addNode(graph, If{.then = {.graph = branch(5)}, .otherwise = {.graph = branch(6)}},
                    {condition, y}, "branch");
        graph.setOutputs({y});
    }

    // Of even seeds bfloat16, which is packed in another way.
    static TensorId addNumbers(Graph& to, Shape shape, int seed) {
        std::vector<float> numbers(static_cast<size_t>(shape.elementCount().value()));
        for (size_t i = 0; i < numbers.size(); ++i) {
            numbers[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 5) % 11 - 5) /
                         static_cast<float>(seed % 2 == 0 ? 16 : 15);
        }
        return addConstant(to, float32(shape), numbers);
    }

    static std::shared_ptr<const Graph> branch(int seed) {
        Graph inside;
        const TensorId x = inside.addTensor(float32({2, kUnits}));
        inside.setInputs({x});
        inside.setOutputs({addNode(inside, FullyConnected(),
                                   {x, addNumbers(inside, {kUnits, kUnits}, seed),
                                    addNumbers(inside, {kUnits}, seed)})});
        return std::make_shared<const Graph>(std::move(inside));
    }

    // The results of both branches; nothing of a run that fails.
    static std::vector<Floats> run(const std::shared_ptr<const Program>& program) {
        std::vector<Floats> results;
        for (const uint8_t condition : {uint8_t{0}, uint8_t{1}}) {
            Floats x(2 * kUnits);
            for (size_t i = 0; i < x.size(); ++i) {
                x[i] = static_cast<float>(i) / 10;
            }
            Floats y(x.size());
            Result<Execution> execution = Execution::create(program);
            if (execution.ok() && runOnce(*execution,
                                          {bindInput(std::span<const float>(x), {2, kUnits}),
                                           bindInput(std::span(&condition, 1), {1})},
                                          {bindOutput(y)})
                                          .ok()) {
                results.push_back(y);
            }
        }
        return results;
    }

    Graph graph;
    const std::unique_ptr<const Backend> tuned = makeCpuAcc();
    const std::unique_ptr<const Backend> reference = makeCpuRef();
    const BackendList both = {tuned.get(), reference.get()};
};

TEST_F(SavedProgram, ComesBackWithoutPackingAnything) {
    const auto program = buildOrDie(graph, both);
    const std::vector<Floats> expected = run(program);
    ASSERT_EQ(expected.size(), 2U);
    EXPECT_NE(expected[0], expected[1]) << "the branches differ";
    const FileBytes file = saved(*program);
    const auto loaded = load(file, both);
    ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
    EXPECT_EQ(run(*loaded), expected);
    EXPECT_GT(program->constantsFilled(), 0U);
    EXPECT_EQ((*loaded)->constantsFilled(), 0U);
    EXPECT_EQ((*loaded)->constantBytes(), program->constantBytes());
    EXPECT_EQ((*loaded)->partitionCount(), program->partitionCount());
    ASSERT_EQ((*loaded)->placement().size(), program->placement().size());
    for (size_t i = 0; i < program->placement().size(); ++i) {
        EXPECT_EQ((*loaded)->placement()[i].kernel, program->placement()[i].kernel);
        EXPECT_EQ((*loaded)->placement()[i].backend, program->placement()[i].backend);
        EXPECT_EQ((*loaded)->placement()[i].label, program->placement()[i].label);
    }
    EXPECT_TRUE((*loaded)->graph() == program->graph());
}

TEST_F(SavedProgram, ComesBackAgainFromWhatCameBack) {
    const FileBytes file = saved(*buildOrDie(graph, both));
    const auto loaded = load(file, both).value();
    const FileBytes again = saved(*loaded);
    ASSERT_EQ(again.bytes().size(), file.bytes().size());
    const auto different = std::ranges::mismatch(again.bytes(), file.bytes()).in1;
    EXPECT_EQ(different - again.bytes().begin(), static_cast<ptrdiff_t>(again.bytes().size()));
}

TEST_F(SavedProgram, LiesInTheFile) {
    const FileBytes file = saved(*buildOrDie(graph, both));
    const auto memory = std::make_shared<Budget>(size_t{1} << 20);
    const auto loaded = load(file, both, {.threads = nullptr, .memory = memory}).value();
    size_t left = 0;
    for (const Tensor& tensor : loaded->graph().tensors()) {
        if (!tensor.constant.bytes.empty() && tensor.constant.shared) {
            ++left;
            EXPECT_GE(tensor.constant.bytes.data(), file.bytes().data());
            EXPECT_LT(tensor.constant.bytes.data(), file.bytes().data() + file.bytes().size());
        }
    }
    EXPECT_GT(left, 0U);
    EXPECT_GE(memory->reserved(), file.bytes().size()) << "which is charged";
    // Graphs inside and what an execution takes are charged, too: about as much where sets of short
    // vectors pack the constants.
    EXPECT_LT(memory->reserved(), file.bytes().size() + 2 * loaded->constantBytes());
    EXPECT_EQ(
            load(file, both,
                 {.threads = nullptr, .memory = std::make_shared<Budget>(file.bytes().size() - 1)})
                    .status()
                    .code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

// ---- What does not fit --------------------------------------------------------------------------

TEST_F(SavedProgram, IsRefusedByBackendsThatCompileOtherwise) {
    const FileBytes file = saved(*buildOrDie(graph, both));
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const std::unique_ptr<const Backend> other = makeCpuAcc(set);
        const Status status = load(file, {other.get(), reference.get()}).status();
        if (set == cpu::bestInstructionSet()) {
            EXPECT_TRUE(status.ok());
            continue;
        }
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
        EXPECT_EQ(status.message(), "the program was built for '" + tuned->identity() +
                                            "', and here is '" + other->identity() + "'");
    }
    EXPECT_EQ(load(file, {reference.get()}).status().message(),
              "the program was built for CpuAcc, and there is no such backend");
    EXPECT_EQ(
            load(file, both, {.threads = nullptr, .memory = nullptr, .compile = {.fastMath = true}})
                    .status()
                    .message(),
            "the program was built with other settings");
}

TEST_F(SavedProgram, FindsItsBackendsInAnyOrder) {
    const FileBytes file = saved(*buildOrDie(graph, both));
    EXPECT_TRUE(load(file, {reference.get(), tuned.get()}).ok());
}

// A backend that packs by one recipe today and by another tomorrow, and forgets to say so.
class FickleBackend : public FakeBackend {
  public:
    using FakeBackend::FakeBackend;
    bool packs = true;
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        HALYARD_ASSIGN_OR_RETURN(auto partition, FakeBackend::compile(arguments));
        if (packs) {
            for (const NodeId node : arguments.partition.nodes) {
                mPacked.push_back(arguments.graph->node(node).inputs[1]);
            }
        }
        return std::unique_ptr<CompiledPartition>(
                std::make_unique<Packing>(std::move(partition), packs ? mPacked : kNothing));
    }

  private:
    static inline const std::vector<TensorId> kNothing = {};
    class Packing : public CompiledPartition {
      public:
        Packing(std::unique_ptr<CompiledPartition> partition, std::vector<TensorId> packed)
            : mPartition(std::move(partition)), mPacked(std::move(packed)) {}
        Result<std::unique_ptr<const SpecializedPartition>> specialize(
                std::span<const TensorType* const> inputs,
                const Checkpoint& checkpoint) const override {
            return mPartition->specialize(inputs, checkpoint);
        }
        std::span<const TensorId> packed() const override { return mPacked; }

      private:
        const std::unique_ptr<CompiledPartition> mPartition;
        const std::vector<TensorId> mPacked;
    };
    mutable std::vector<TensorId> mPacked;
};

TEST(SavedPrograms, AreRefusedWhereANodeWouldReadWhatIsGone) {
    FickleBackend backend("Fickle", kAllFakeKinds);
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    graph.setOutputs({addSum(graph, x, addConstant<float>(graph, float32({1}), {1}))});
    const FileBytes file = saved(*buildOrDie(graph, {&backend}));
    EXPECT_TRUE(load(file, {&backend}).ok());
    backend.packs = false;
    const Status status = load(file, {&backend}).status();
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(), "constant 1 was packed away, and a node is to read its elements");
}

TEST_F(SavedProgram, IsRefusedOrRightWhateverByteIsFlipped) {
    const auto program = buildOrDie(graph, both);
    const std::vector<Floats> expected = run(program);
    FileBytes file = saved(*program);
    size_t refused = 0;
    for (size_t at = 0; at < file.bytes().size(); ++at) {
        file.flip(at);
        const auto loaded = load(file, both);
        if (loaded.ok()) {
            ASSERT_EQ(run(*loaded), expected) << at;
        } else {
            ++refused;
        }
        file.flip(at);
    }
    EXPECT_EQ(refused, file.bytes().size());
}

// As if the checksum had been made for it: what a client could write.
TEST_F(SavedProgram, DoesNoHarmWhereverItComesFrom) {
    SectionWriter whole;
    const auto program = buildOrDie(graph, both);
    program->save(whole, SavedBlobs::ALL);
    const FileBytes file = FileBytes::of(whole);
    const SectionFile opened = SectionFile::open(file.owner(), file.bytes()).value();
    const auto copyOf = [](std::span<const uint8_t> bytes) {
        return std::vector<uint8_t>(bytes.begin(), bytes.end());
    };
    const std::vector<uint8_t> manifest = copyOf(opened.description("program").value());
    const std::vector<uint8_t> description = copyOf(opened.description("graph").value());
    const std::vector<uint8_t> store = copyOf(opened.mapped("store").value());
    const std::vector<uint8_t> constants = copyOf(opened.mapped("constants").value());
    const auto attempt = [&](std::vector<uint8_t> said, std::vector<uint8_t> described) {
        SectionWriter writer;
        writer.addDescription("program", std::move(said));
        writer.addDescription("graph", std::move(described));
        ByteParts bytes;
        bytes.addView(constants);
        writer.addMapped("constants", std::move(bytes));
        bytes = ByteParts();
        bytes.addView(store);
        writer.addMapped("store", std::move(bytes));
        const FileBytes made = FileBytes::of(writer);
        const auto loaded =
                load(made, both,
                     {.threads = nullptr, .memory = std::make_shared<Budget>(size_t{64} << 20)});
        if (loaded.ok()) {
            run(*loaded);
        }
        return loaded.ok();
    };
    ASSERT_TRUE(attempt(manifest, description));
    size_t accepted = 0;
    for (size_t at = 0; at < manifest.size(); ++at) {
        std::vector<uint8_t> other = manifest;
        other[at] ^= at % 2 == 0 ? 1 : 0x80;
        accepted += attempt(std::move(other), description) ? 1 : 0;
    }
    for (size_t at = 0; at < description.size(); ++at) {
        std::vector<uint8_t> other = description;
        other[at] ^= 1;
        accepted += attempt(manifest, std::move(other)) ? 1 : 0;
    }
    for (size_t size = 0; size < manifest.size(); ++size) {
        std::vector<uint8_t> other = manifest;
        other.resize(size);
        EXPECT_FALSE(attempt(std::move(other), description)) << size;
    }
    for (size_t size = 0; size < description.size(); ++size) {
        std::vector<uint8_t> other = description;
        other.resize(size);
        EXPECT_FALSE(attempt(manifest, std::move(other))) << size;
    }
    EXPECT_GT(accepted, 0U) << "a label may be anything";
}

// ---- What backends keep -------------------------------------------------------------------------

std::string textOf(std::span<const uint8_t> bytes) {
    return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> bytesOf(const std::string& text) {
    return {text.begin(), text.end()};
}

TEST(SavedPrograms, BringBackWhatTheirBackendsKept) {
    FakeBackend backend("Keeps", kAllFakeKinds);
    FakeBackend other("Other", {NodeKind::Activate});
    std::string found = "nothing";
    backend.onCompile = [&](const CompileArguments& arguments) {
        const std::optional<Blob> blob = arguments.blobs.get("binary");
        found = blob.has_value() ? textOf(blob->bytes) : "nothing";
        return arguments.blobs.put("binary", bytesOf("of a kernel"));
    };
    other.onCompile = [&](const CompileArguments& arguments) {
        EXPECT_FALSE(arguments.blobs.get("binary").has_value()) << "which is another backend's";
        return Status();
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    const TensorId y = addSum(graph, x, x);
    graph.setOutputs({addActivate(graph, y)});
    const auto program = buildOrDie(graph, {&other, &backend});
    EXPECT_EQ(found, "nothing");
    const FileBytes file = saved(*program);
    ASSERT_TRUE(load(file, {&other, &backend}, {}, SavedBytes::AUTHENTIC).ok());
    EXPECT_EQ(found, "of a kernel");
    for (const SavedBytes trust : {SavedBytes::SHARED, SavedBytes::PRIVATE}) {
        ASSERT_TRUE(load(file, {&other, &backend}, {}, trust).ok());
        EXPECT_EQ(found, "nothing") << "anybody may have put it there";
    }
}

TEST(Blobs, AreReservedAndStayWhereSomebodyHasThem) {
    const auto memory = std::make_shared<Budget>(100);
    const Blobs blobs = Blobs(std::make_shared<BlobStore>(memory), {}).of("Fake");
    ASSERT_TRUE(blobs.put("tuning", bytesOf("first")).ok());
    const Blob first = blobs.get("tuning").value();
    ASSERT_TRUE(blobs.put("tuning", bytesOf("second")).ok());
    EXPECT_EQ(textOf(first.bytes), "first");
    EXPECT_EQ(textOf(blobs.get("tuning")->bytes), "second");
    EXPECT_EQ(memory->reserved(), 11U);
    EXPECT_EQ(blobs.put("large", std::vector<uint8_t>(90)).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_FALSE(blobs.get("large").has_value());
    EXPECT_TRUE(Blobs().put("tuning", {}).ok()) << "where nothing is kept";
    EXPECT_FALSE(Blobs().get("tuning").has_value());
}

}  // namespace
}  // namespace halyard::engine
