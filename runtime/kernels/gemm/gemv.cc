#include "runtime/kernels/gemm/gemv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int64_t kMostRows = 8;
constexpr int64_t kVectorBits = 128;      // per load of a column
constexpr int64_t kMostExtent = 1 << 30;  // of the matrix

constexpr Rule kOnlyCast = {"only a Cast of its rows from f32 is done before the product",
                            "none: the op before it writes its result"};
constexpr Rule kNotInFormula = {"it computes cast(relu(x·w + bias)), with any part absent",
                                "none: cuDNN's epilogues take more"};

const Node& ProductOf(absl::Span<const Node* const> nodes) {
  return **std::find_if(nodes.begin(), nodes.end(), [](const Node* n) { return IsGemv(*n); });
}

Support TakesProduct(const Unit& core) { return CheckGemv(core.node()); }

const Rule* JoinsPrologue(const GrowthStep& step) {
  if (&step.edge != &ProductOf(step.nodes).input(0)) return &kUnreported;
  const bool is_cast = IsPointwise(step.node) && step.node.op() == "Cast" &&
                       step.node.input(0).dtype() == DType::kF32;
  return is_cast ? nullptr : &kOnlyCast;
}

// Position in the formula; -1: none.
int PlaceOf(const Node& node) {
  if (IsGemv(node)) return 0;
  if (node.op() == "Add") return 1;
  if (node.op() == "Relu") return 2;
  return node.op() == "Cast" && kTypes.Has(node.output(0).dtype()) ? 3 : -1;
}

double Us(const Unit&, const Cost& roofline, const Target& target) {
  const KernelCalibration& calibration = target.info.calibration.kernels;
  const double arithmetic_us = static_cast<double>(roofline.flops) /
                               (calibration.arithmetic.gemv * target.info.f32_flops_per_us);
  const double traffic_us = static_cast<double>(roofline.bytes) / calibration.gemv.bytes_per_us;
  return calibration.gemv.fixed_us + std::max(traffic_us, arithmetic_us);
}

}  // namespace

bool IsGemv(const Node& node) { return node.op() == "Gemm" || node.op() == "MatMul"; }

bool IsBias(const Value& addend, const Value& result) {
  const int64_t columns = result.dim(result.rank() - 1);
  return addend.is_constant() && addend.dtype() == result.dtype() && addend.rank() > 0 &&
         addend.elements() == columns && addend.dim(addend.rank() - 1) == columns;
}

Support CheckConstantMatrix(const Node& product) {
  const Value& w = product.input(1);
  if (w.is_constant() && w.rank() == 2) return Support::Yes();
  return Support::No(absl::StrCat(w.name(), " is not a constant matrix"));
}

Support CheckUnscaled(const Node& product) {
  const Attrs& attrs = product.attrs();
  if (attrs.Int("transA", 0) != 0) return Support::No("its input 0 is transposed");
  if (attrs.Float("alpha", 1) == 1 && attrs.Float("beta", 1) == 1) return Support::Yes();
  return Support::No("alpha or beta is not 1");
}

Support CheckBias(const Node& product) {
  if (!product.has_input(2) || IsBias(product.input(2), product.output(0))) return Support::Yes();
  return Support::No(
      absl::StrCat(product.input(2).name(), " is not a constant of one number a column"));
}

const Value& Addend(const Node& add, const Value& edge) {
  return add.input(&add.input(0) == &edge ? 1 : 0);
}

Support CheckGemv(const Node& product) {
  const Value &w = product.input(1), &y = product.output(0);
  if (Support s = CheckConstantMatrix(product); !s) return s;
  if (std::max(w.dim(0), w.dim(1)) > kMostExtent) {
    return Support::No(absl::StrCat(w.name(), " is ", ToString(w.type()), ", too large"));
  }
  if (Support s = CheckUnscaled(product); !s) return s;
  if (y.elements() == 0) return Support::No("its result is empty");
  const int64_t rows = y.elements() / y.dim(y.rank() - 1);
  const int64_t depth = product.input(0).dim(product.input(0).rank() - 1);
  if (rows > kMostRows) {
    return Support::No(absl::StrCat(rows, " rows are more than ", kMostRows));
  }
  if (depth * BitsOf(w.dtype()) % kVectorBits != 0) {
    return Support::No(absl::StrCat("a depth of ", depth, " is no multiple of 16 bytes"));
  }
  return CheckBias(product);
}

const Rule* JoinsGemvEpilogue(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!step.edge.has_one_use()) return &kWritesOneResult;
  if (PlaceOf(step.node) <= PlaceOf(*step.edge.producer())) return &kNotInFormula;
  if (step.node.op() != "Add") return nullptr;
  if (ProductOf(step.nodes).has_input(2)) return &kNotInFormula;
  return IsBias(Addend(step.node, step.edge), step.edge) ? nullptr : &kNotInFormula;
}

// Products of up to 8 rows with a constant matrix, in f32, f16 or bf16, as matrix-vector products
// without tensor cores: Gemm and MatMul with a Cast of the rows from f32, one bias per column,
// Relu, and a Cast of the result. Sums in f32, in a fixed order. Every weight is read once, and as
// many as fit the registers are read before the rows are available.
Kernel GemvKernel() {
  return {.ops = {"Gemm", "MatMul"},
          .types = kTypes,
          .takes = TakesProduct,
          .growth =
              [](const Unit&) {
                return GrowthOptions{.forward = JoinsGemvEpilogue, .backward = JoinsPrologue};
              },
          .us = Us};
}

}  // namespace onnx_cudnn
