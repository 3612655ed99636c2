#include <algorithm>

#include "gtest/gtest.h"
#include "passes/explain/explanation.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kNoSoftmax = {"a Softmax is no epilogue", "nothing yet"};

// Supports every Node alone, except Softmax, which it refuses with a reason.
class PickyEngine final : public Engine {
 public:
  std::string_view name() const override { return "picky"; }
  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
    for (const Use& use : anchor.output(0).uses()) {
      if (use.node->op() != "Softmax") continue;
      sink.NotFused(*this, anchor.output(0), *use.node, kNoSoftmax);
    }
  }
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    return host_->Compile(candidate, variant, target);
  }

 private:
  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice);
};

class ExplainTest : public ::testing::Test {
 protected:
  static Explanation Of(std::string_view text, std::vector<const Engine*> engines,
                        BuildOptions options = {}) {
    const auto explanation =
        Explain(GraphFromText(text), {}, TargetOf(std::move(engines)), options);
    EXPECT_TRUE(explanation.ok()) << explanation.status();
    return explanation.ok() ? *explanation : Explanation();
  }

  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice);
  const std::unique_ptr<Engine> view_ = MakeViewEngine();
  const PickyEngine picky_;
};

TEST_F(ExplainTest, DescribesPartitionsInTheOrderOfLaunch) {
  const TestEngine fused(
      {.name = "fused", .ops = {"Conv", "Relu"}, .most_nodes = 2, .channels_last = true, .us = 3});
  const Explanation e = Of(R"(
      g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1,2,3,4}>
      { c = Conv(x, w)
        y = Relu(c) })",
                           {&fused, host_.get()});
  ASSERT_EQ(e.partitions.size(), 3u);
  const PartitionReport& p = e.partitions[1];
  EXPECT_EQ(p.engine, "fused");
  EXPECT_EQ(p.ops, (std::vector<std::string>{"Conv", "Relu"}));
  EXPECT_EQ(p.inputs[0].format, "NHWC");
  EXPECT_EQ(p.outputs[0].type, "f32[1,2,2,2]");
  EXPECT_EQ(p.cost.us, 3);
  EXPECT_GT(p.floor_us, 0);
  EXPECT_EQ(e.totals.launches, 3);
  EXPECT_EQ(e.totals.us, e.partitions[0].cost.us + 3 + e.partitions[2].cost.us);
  EXPECT_TRUE(e.edges.empty());
}

TEST_F(ExplainTest, NamesWhatElseWouldRunTheSameOps) {
  const TestEngine quick({.name = "quick", .ops = {"Relu"}, .most_nodes = 2, .us = 2});
  const TestEngine dear({.name = "dear", .ops = {"Relu"}, .most_nodes = 2, .us = 4});
  const TestEngine last({.name = "last", .ops = {"Relu"}, .channels_last = true, .us = 1.5});
  const TestEngine late(
      {.name = "late", .ops = {"Relu"}, .most_nodes = 2, .channels_last = true, .us = 3});
  const Explanation e =
      Of("g (float[1,2,2,2] x) => (float[1,2,2,2] y) { a = Relu(x) y = Relu(a) }",
         {&dear, &last, &late, &quick}, {.pins = ParsePins("pin quick a y", "pins.txt").value()});
  ASSERT_EQ(e.partitions.size(), 1u);
  const std::vector<LostCandidate>& lost = e.partitions[0].lost;  // not of `last`: one op at most
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].engine, "late");
  EXPECT_EQ(lost[0].formats, "NHWC");
  EXPECT_EQ(lost[0].us, 3);
  EXPECT_EQ(lost[1].engine, "dear");
  EXPECT_EQ(lost[1].formats, "NCHW");
  EXPECT_EQ(lost[1].us, 4);
}

TEST_F(ExplainTest, BillsReformats) {
  const TestEngine last({.name = "last", .ops = {"Relu"}, .channels_last = true});
  const Explanation e =
      Of("g (float[1,2,2,2] x) => (float[1,2,2,2] y) { y = Relu(x) }", {&last, host_.get()},
         {.pins = ParsePins("forbid host y", "pins.txt").value()});
  ASSERT_EQ(e.formats.size(), 2u);
  EXPECT_EQ(e.formats[0].kind, "Reformat");
  EXPECT_EQ(e.formats[0].value, "x");
  EXPECT_EQ(e.formats[0].from, "NCHW");
  EXPECT_EQ(e.formats[0].to, "NHWC");
  EXPECT_EQ(e.formats[0].bytes, 64);
  EXPECT_EQ(e.totals.format_bytes, 128);
  EXPECT_DOUBLE_EQ(e.totals.format_us, e.formats[0].us + e.formats[1].us);
}

TEST_F(ExplainTest, PricesTheCopiesOfCallersTensors) {
  const OwnedTarget h200 = *MakeTarget("h200");
  const Graph graph = GraphFromText("g (float[1024] x) => (float[1024] y) { y = Relu(x) }");
  const Explanation e = Explain(graph, {}, h200.target, {}).value();
  const DeviceInfo& info = h200.target.info;
  EXPECT_EQ(e.copies.bytes, 8192);
  EXPECT_DOUBLE_EQ(e.copies.device_us, 2 * (8192 / info.bytes_per_us + info.launch_us));
  EXPECT_DOUBLE_EQ(e.copies.host_us, 2 * (4096 / info.bus_bytes_per_us + info.bus_us));
  EXPECT_EQ(Of("g (float[4] x) => (float[4] y) { y = Relu(x) }", {host_.get()}).copies.bytes, 0);
}

TEST_F(ExplainTest, EdgesCarryTheRuleThatSaidNo) {
  const Explanation e =
      Of("g (float[2,2] x) => (float[2,2] y) { a = Relu(x) y = Softmax(a) }", {&picky_});
  ASSERT_EQ(e.edges.size(), 1u);
  EXPECT_EQ(e.edges[0].producer_op, "Relu");
  EXPECT_EQ(e.edges[0].consumer_op, "Softmax");
  EXPECT_FALSE(e.edges[0].offer.has_value());
  EXPECT_EQ(e.edges[0].refusals,
            (std::vector<Refusal>{{"picky", "a Softmax is no epilogue", "nothing yet"}}));
}

TEST_F(ExplainTest, EdgesThatWereNeverTriedListWhatEnginesSupport) {
  const Explanation e =
      Of("g (float[2,2] x) => (float[2,2] y) { a = Relu(x) b = Softmax(a) c = Neg(b) y = Abs(c) }",
         {&picky_});
  ASSERT_EQ(e.edges.size(), 3u);
  EXPECT_EQ(e.edges[1].refusals,
            (std::vector<Refusal>{{"picky", "takes both ends, but offers nothing over them", ""}}));
  const TestEngine relus({.name = "relus", .ops = {"Relu"}, .most_nodes = 2});
  const Explanation f = Of("g (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = Neg(b) }",
                           {&relus, host_.get()});
  ASSERT_EQ(f.edges.size(), 1u);
  EXPECT_EQ(f.edges[0].refusals,
            (std::vector<Refusal>{{"relus", "does not take Neg: not one of its ops", ""}}));
}

TEST_F(ExplainTest, ATargetWithoutFusionIsReported) {
  const Explanation e =
      Of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {view_.get(), host_.get()});
  ASSERT_EQ(e.edges.size(), 1u);
  EXPECT_EQ(e.edges[0].refusals,
            (std::vector<Refusal>{{"", "no engine of this target fuses", ""}}));
}

TEST_F(ExplainTest, EdgesCarryTheOfferThatWasNotChosen) {
  const TestEngine fused({.name = "fused", .most_nodes = 2, .us = 1, .us_more = 4});
  const Explanation e = Of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {&fused},
                           {.partitioner = CostSearch});
  ASSERT_EQ(e.edges.size(), 1u);
  ASSERT_TRUE(e.edges[0].offer.has_value());
  EXPECT_EQ(e.edges[0].offer->engine, "fused");
  EXPECT_EQ(e.edges[0].offer->us, 5);
  EXPECT_EQ(e.edges[0].offer->chosen_us, 2);
  EXPECT_EQ(e.edges[0].offer->other_ops, 0);
}

TEST_F(ExplainTest, AnOfferSaysHowManyOpsTheChosenPartitionsHoldBesides) {
  const TestEngine pairs({.name = "pairs", .most_nodes = 2, .us = 1, .us_more = 0.5});
  const Explanation e = Of("g (float[2] x) => (float[2] y) { a = Relu(x) b = Exp(a) y = Neg(b) }",
                           {&pairs}, {.partitioner = CostSearch});
  ASSERT_EQ(e.edges.size(), 1u);
  ASSERT_TRUE(e.edges[0].offer.has_value());
  EXPECT_EQ(e.edges[0].offer->us, 1.5);
  EXPECT_EQ(e.edges[0].offer->chosen_us, 2.5);
  EXPECT_EQ(e.edges[0].offer->other_ops, 1);
}

TEST_F(ExplainTest, WhatWasRefusedWhenCompiledIsNoOffer) {
  const TestEngine fused({.name = "fused", .most_nodes = 2, .compiles_at_most = 1});
  const Explanation e = Of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {&fused});
  ASSERT_EQ(e.edges.size(), 1u);
  EXPECT_FALSE(e.edges[0].offer.has_value());
  EXPECT_EQ(e.edges[0].refusals, (std::vector<Refusal>{{"fused", "more than 1 nodes", ""}}));
}

TEST_F(ExplainTest, MemoryHoldsEveryBufferWithItsLife) {
  const Explanation e =
      Of("g (float[256] x) => (float[256] y) { a = Neg(x) b = Softmax(a) y = Add(a, b) }",
         {host_.get()});
  const MemoryReport& m = e.memory;
  ASSERT_EQ(m.buffers.size(), 2u);
  EXPECT_EQ(m.buffers[0].name, "a");
  EXPECT_EQ(m.buffers[0].bytes, 1024);
  EXPECT_EQ(m.buffers[0].first, 0);
  EXPECT_EQ(m.buffers[0].last, 2);
  EXPECT_EQ(m.buffers[1].first, 1);
  EXPECT_EQ(m.live_bytes, (std::vector<int64_t>{1024, 2048, 2048}));
  EXPECT_EQ(m.peak_bytes, 2048);
  EXPECT_EQ(m.arena_bytes, 2048);
}

TEST_F(ExplainTest, ReportsWhetherTheDeviceHasTheMemory) {
  const Graph graph =
      GraphFromText("g (float[256] x) => (float[256] y) <float[256] w> { a = Neg(x) y = Abs(a) }");
  Target target = TargetOf({host_.get()});
  for (const int64_t bytes : {int64_t{0}, int64_t{3 * 1024}, int64_t{3 * 1024 - 1}}) {
    target.info.memory_bytes = bytes;
    const auto e = Explain(graph, {}, target, {});
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_EQ(e->memory.needed_bytes, 3 * 1024);  // x, a and y
    EXPECT_EQ(e->memory.device_bytes, bytes);
    EXPECT_EQ(e->memory.fits(), bytes != 3 * 1024 - 1);
  }
}

TEST_F(ExplainTest, BuffersThatShareBytesCountOnce) {
  const Explanation e =
      Of("g (float[256] x) => (float[256] y) { a = Neg(x) b = Relu(a) y = Abs(b) }", {host_.get()});
  EXPECT_EQ(e.memory.live_bytes, (std::vector<int64_t>{1024, 1024, 1024}));
}

TEST_F(ExplainTest, PinsReachIt) {
  const TestEngine fused({.name = "fused", .most_nodes = 2});
  const auto pins = ParsePins("forbid * a y", "pins.txt").value();
  const Explanation e =
      Of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {&fused}, {.pins = pins});
  EXPECT_EQ(e.partitions.size(), 2u);
}

TEST_F(ExplainTest, NamesFormats) {
  const Dims image = {1, 3, 4, 5}, row = {2, 3};
  EXPECT_EQ(FormatName({Format::RowMajor(image)}, image), "NCHW");
  EXPECT_EQ(FormatName({Format::ChannelsLast(image)}, image), "NHWC");
  EXPECT_EQ(FormatName({Format::ChannelsLast(image, 4)}, image), "NHWC4");
  const Format part = Format::Of({{2, 1, 4, 4}, {3, 1, 5, 5}, {1, 1, 3, 8}});
  EXPECT_EQ(FormatName({part}, image), "NHWC^8");
  EXPECT_EQ(FormatName({Format::RowMajor(row), Space::kHost}, row), "row-major, host");
  const int order[] = {3, 2, 1, 0};
  EXPECT_EQ(FormatName({Format::Permuted(image, order)}, image), "3:5 2:4 1:3");
}

}  // namespace
}  // namespace onnx_cudnn
