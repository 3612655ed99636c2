// cuDNN's own verdict on the Candidates of networks, and on single cases.
#include <set>

#include "passes/partition/partitioners.h"
#include "tests/cudnn/cuda/without_gpu.h"
#include "tests/support/networks.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class CudnnPlansTest : public WithoutGpuTest {
 protected:
  // Confirms greedy's partitions of `graph`: every chosen signature gets a plan.
  void ExpectPlans(const Graph& graph, size_t least) {
    if (IsSkipped()) return;
    Refusals refused;
    const absl::StatusOr<std::vector<Partition>> partitions =
        PartitionGraph(graph, target_, Greedy, nullptr, PartitionExtras{.refused = &refused});
    ASSERT_TRUE(partitions.ok()) << partitions.status();
    for (const auto& [signature, reason] : refused) ADD_FAILURE() << reason << "\n" << signature;
    std::set<std::string> signatures;
    for (const Partition& p : *partitions) {
      if (p.chosen.engine == engine_.get()) signatures.insert(Signature(p.chosen, target_));
    }
    EXPECT_GE(signatures.size(), least);
  }

  Compiled CompileFirst(const Candidate& candidate) const {
    const absl::StatusOr<std::vector<Variant>> variants = engine_->Variants(candidate, target_);
    EXPECT_TRUE(variants.ok()) << variants.status();
    if (!variants.ok()) return Compiled::No("");
    absl::StatusOr<Compiled> compiled = engine_->Compile(candidate, variants->front(), target_);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.ok() ? *std::move(compiled) : Compiled::No("");
  }

  Graph Residual() const {
    return GraphWithWeights(
        "g (float16[1,64,14,14] x, float16[64,64,3,3] w0, float16[64] w1) => (y)"
        "{ a = Conv<pads = [1,1,1,1]>(x, w0, w1)\n b = Add(a, x)\n y = Relu(b) }");
  }
};

TEST_F(CudnnPlansTest, ResNet18InHalves) {
  for (const int64_t batch : {1, 32}) ExpectPlans(InHalves(ResNet18({.batch = batch})), 11);
}
TEST_F(CudnnPlansTest, ResNet50InHalves) {
  for (const int64_t batch : {1, 32}) ExpectPlans(InHalves(ResNet50({.batch = batch})), 20);
}
TEST_F(CudnnPlansTest, ResNet18InTf32) {
  target_.numerics.tf32 = true;
  for (const int64_t batch : {1, 32}) ExpectPlans(ResNet18({.batch = batch}), 11);
}
TEST_F(CudnnPlansTest, ResNet50InTf32) {
  target_.numerics.tf32 = true;
  for (const int64_t batch : {1, 32}) ExpectPlans(ResNet50({.batch = batch}), 20);
}

// Sizes of BERT, ViT, GPT-2 and Llama, and small ones.
TEST_F(CudnnPlansTest, Attentions) {
  const std::string_view cases[] = {
      "g (float16[1,12,128,64] q, float16[1,12,128,64] k, float16[1,12,128,64] v) => (y) "
      "{ y = Attention(q, k, v) }",
      "g (float16[8,197,12,64] q, float16[8,197,12,64] k, float16[8,197,12,64] v) => (y) "
      "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
      "c = Transpose<perm = [0,2,1,3]>(v) d = Attention(a, b, c) "
      "y = Transpose<perm = [0,2,1,3]>(d) }",
      "g (float16[8,128,2304] x) => (y) <int64[3] n = {768, 768, 768}, "
      "int64[4] heads = {8, 128, 12, 64}> { a, b, c = Split<axis = 2>(x, n) q = Reshape(a, heads) "
      "k = Reshape(b, heads) v = Reshape(c, heads) d = Transpose<perm = [0,2,1,3]>(q) "
      "e = Transpose<perm = [0,2,1,3]>(k) f = Transpose<perm = [0,2,1,3]>(v) "
      "o = Attention(d, e, f) y = Transpose<perm = [0,2,1,3]>(o) }",
      "g (float16[2,12,128,64] q, float16[2,12,128,64] k, float16[2,12,128,64] v, "
      "float16[2,1,128,128] m) => (y) { y = Attention(q, k, v, m) }",
      "g (float16[2,12,128,64] q, float16[2,12,128,64] k, float16[2,12,128,64] v, "
      "bool[2,1,1,128] c) => (y) <float zero = {0}, float low = {-1e30}> "
      "{ m = Where(c, zero, low) y = Attention(q, k, v, m) }",
      "g (bfloat16[1,32,512,128] q, bfloat16[1,8,512,128] k, bfloat16[1,8,512,128] v) => (y) "
      "{ y = Attention<is_causal = 1>(q, k, v) }",
      "g (float16[1,4,1,64] q, float16[1,4,77,64] k, float16[1,4,77,64] v) => (y) "
      "{ y = Attention(q, k, v) }",
      "g (float16[64,3,49,32] q, float16[64,3,49,32] k, float16[64,3,49,32] v, "
      "float16[1,3,49,49] w) => (y) { y = Attention(q, k, v, w) }",
      "g (float16[2,3,5,8] q, float16[2,3,7,8] k, float16[2,3,7,24] v) => (y) "
      "{ y = Attention(q, k, v) }",
      "g (float16[1,8,512,256] q, float16[1,4,512,256] k, float16[1,4,512,256] v) => (y) "
      "{ y = Attention<is_causal = 1>(q, k, v) }",
      "g (float16[2,8,2,136] q, float16[2,8,77,136] k, float16[2,8,77,136] v, "
      "float16[2,77] m) => (y) { y = Attention(q, k, v, m) }",
  };
  for (const std::string_view text : cases) {
    SCOPED_TRACE(text);
    const Graph graph = GraphWithWeights(text);
    const Compiled compiled = CompileFirst(LargestAt(*engine_, graph, "Attention", target_));
    ASSERT_NE(compiled.step(), nullptr) << compiled.reason();
    const absl::StatusOr<std::shared_ptr<const Step>> loaded =
        engine_->Load(compiled.step()->Save(), {}, target_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  }
}

TEST_F(CudnnPlansTest, VariantsNameEnginesAndKnobs) {
  const Graph graph =
      GraphWithWeights("g (float[1,64,14,14] x, float[64,64,3,3] w0) => (y) { y = Conv(x, w0) }");
  const Candidate conv = LargestAt(*engine_, graph, "Conv", target_);
  target_.numerics.tf32 = true;
  const absl::StatusOr<std::vector<Variant>> tf32 = engine_->Variants(conv, target_);
  ASSERT_TRUE(tf32.ok()) << tf32.status();
  std::set<std::string> texts;
  for (const Variant& v : *tf32) {
    EXPECT_TRUE(v.text.starts_with("engine ")) << v.text;
    texts.insert(v.text);
  }
  EXPECT_EQ(texts.size(), tf32->size());
  EXPECT_LE(texts.size(), 16u);

  target_.numerics.tf32 = false;
  const absl::StatusOr<std::vector<Variant>> strict = engine_->Variants(conv, target_);
  ASSERT_TRUE(strict.ok()) << strict.status();
  EXPECT_FALSE(strict->front().text.empty());
  EXPECT_NE(strict->front().text, tf32->front().text);  // no tensor cores
}

TEST_F(CudnnPlansTest, ARefusalHasAReason) {
  const Graph graph =
      GraphWithWeights("g (float[64,64] x, float[64,64] z) => (y) { y = MatMul(x, z) }");
  const Compiled compiled = CompileFirst(LargestAt(*engine_, graph, "MatMul", target_));
  EXPECT_EQ(compiled.step(), nullptr);
  EXPECT_EQ(compiled.reason(), "every engine of cuDNN for it breaks the precision asked for");
}

TEST_F(CudnnPlansTest, AVariantThatNamesNoEngineIsAnError) {
  const Graph graph = Residual();
  const Candidate conv = LargestAt(*engine_, graph, "Conv", target_);
  for (const char* text : {"lt algo 3", "engine x", "engine 4, k=1", "engine 4, k2"}) {
    const absl::StatusOr<Compiled> compiled = engine_->Compile(conv, {text}, target_);
    EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  const absl::StatusOr<Compiled> none = engine_->Compile(conv, {"engine 9999"}, target_);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->step(), nullptr);
}

TEST_F(CudnnPlansTest, PrefetchesInputsThatItDoesNotConvolve) {
  const std::string_view head =
      "g (float16[1,64,14,14] x, float16[1,64,14,14] r, float16[64,64,3,3] w0) => (y) {"
      "a = Conv<pads = [1,1,1,1]>(x, w0)\n";
  const std::pair<std::string_view, std::vector<int>> cases[] = {
      {"b = Add(r, a)\n y = Relu(b) }", {1}}, {"y = Relu(a) }", {}}};
  for (const auto& [tail, early] : cases) {
    const Graph graph = GraphWithWeights(absl::StrCat(head, tail));
    const Compiled compiled = CompileFirst(LargestAt(*engine_, graph, "Conv", target_));
    ASSERT_NE(compiled.step(), nullptr) << compiled.reason();
    EXPECT_EQ(compiled.step()->prefetched_inputs(), absl::MakeConstSpan(early)) << tail;
  }
}

TEST_F(CudnnPlansTest, AStepComesBackFromItsText) {
  const Graph graph = Residual();
  const Compiled compiled = CompileFirst(LargestAt(*engine_, graph, "Conv", target_));
  ASSERT_NE(compiled.step(), nullptr) << compiled.reason();
  const std::string text = compiled.step()->Save();
  ASSERT_FALSE(text.empty());
  const absl::StatusOr<std::shared_ptr<const Step>> loaded = engine_->Load(text, {}, target_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->workspace_bytes(), compiled.step()->workspace_bytes());
  EXPECT_EQ(compiled.step()->prefetched_inputs(),
            absl::MakeConstSpan({0}));  // it is the residual too
  EXPECT_EQ((*loaded)->prefetched_inputs(), compiled.step()->prefetched_inputs());
  ASSERT_EQ((*loaded)->constants().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Derived &read = (*loaded)->constants()[i], &made = compiled.step()->constants()[i];
    EXPECT_EQ(read.from, made.from);
    EXPECT_EQ(read.recipe, made.recipe);
    EXPECT_EQ(read.to, made.to);
  }
  EXPECT_EQ((*loaded)->Save(), text);
  EXPECT_EQ((*loaded)->Launch({}).code(), absl::StatusCode::kFailedPrecondition);

  std::string other = text;
  other.replace(other.find("H200"), 4, "H100");
  EXPECT_EQ(engine_->Load(other, {}, target_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(engine_->Load(text.substr(0, text.size() / 2), {}, target_).ok());
}

}  // namespace
}  // namespace onnx_cudnn
