// Einsum: for every output element a sum over the labels that the output lacks.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::string_view kBroadcastLabels = "0123456789";  // of the axes of an ellipsis

struct Equation {
  std::vector<std::string> terms;  // a label for each axis of each operand
  std::string output;
};

// The labels of a term of `rank` axes.
absl::StatusOr<std::string> LabelsOf(std::string_view term, size_t rank) {
  const size_t ellipsis = term.find(kEllipsis);
  const size_t letters = term.size() - (ellipsis == term.npos ? 0 : kEllipsis.size());
  const bool fits = ellipsis == term.npos
                        ? letters == rank
                        : letters <= rank && rank - letters <= kBroadcastLabels.size();
  if (!fits)
    return absl::InvalidArgumentError(
        absl::StrCat("term \"", term, "\" is not one of ", rank, " axes"));
  if (ellipsis == term.npos) return std::string(term);
  const std::string_view axes = kBroadcastLabels.substr(kBroadcastLabels.size() - (rank - letters));
  return absl::StrCat(term.substr(0, ellipsis), axes, term.substr(ellipsis + kEllipsis.size()));
}

// Without "->": an ellipsis's axes, then every letter that stands once, sorted.
std::string ImpliedOutput(const std::vector<std::string>& terms) {
  std::map<char, int> count;
  for (const std::string& term : terms) {
    for (char label : term) ++count[label];
  }
  std::string output;
  for (const auto& [label, times] : count) {
    if (times == 1 || kBroadcastLabels.find(label) != kBroadcastLabels.npos) output += label;
  }
  return output;
}

absl::StatusOr<Equation> EquationOf(const std::string& text, absl::Span<const size_t> ranks) {
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || inputs.size() != ranks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("equation \"", text, "\" is not one of ", ranks.size(), " operands"));
  }
  Equation equation;
  std::string all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(equation.terms.emplace_back(), LabelsOf(inputs[i], ranks[i]));
    all += equation.terms.back();
  }
  if (sides.size() == 1) {
    equation.output = ImpliedOutput(equation.terms);
    return equation;
  }
  size_t broadcast = 0;  // the most axes that an ellipsis stands for
  for (const std::string& term : equation.terms)
    broadcast =
        std::max<size_t>(broadcast, std::count_if(term.begin(), term.end(), absl::ascii_isdigit));
  const bool has_ellipsis = sides[1].find(kEllipsis) != sides[1].npos;
  const size_t letters = sides[1].size() - (has_ellipsis ? kEllipsis.size() : 0);
  ASSIGN_OR_RETURN(equation.output, LabelsOf(sides[1], letters + (has_ellipsis ? broadcast : 0)));
  for (char label : equation.output) {
    const bool once = std::count(equation.output.begin(), equation.output.end(), label) == 1;
    if (once && all.find(label) != all.npos) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "equation \"", text, "\" gives no output axis \"", std::string(1, label), "\""));
  }
  return equation;
}

// One axis of the output, or one that is summed over.
struct Loop {
  int64_t extent = 1;
  std::vector<int64_t> strides;  // of each operand
};

// Equal extents, but 1 fits any.
absl::StatusOr<std::map<char, Loop>> LoopsOf(const Equation& equation,
                                             absl::Span<const TensorRef> in) {
  std::map<char, Loop> loops;
  for (size_t i = 0; i < in.size(); ++i) {
    const std::vector<int64_t> strides = RowMajorStrides(in[i].dims);
    for (size_t a = 0; a < in[i].dims.size(); ++a) {
      Loop& loop = loops[equation.terms[i][a]];
      const int64_t extent = in[i].dims[a];
      loop.strides.resize(in.size(), 0);
      if (extent == 1) continue;
      if (loop.extent != 1 && loop.extent != extent)
        return absl::InvalidArgumentError(absl::StrCat("operand ", i, " is ", ToString(in[i].dims),
                                                       ", an earlier extent of axis ", a, " is ",
                                                       loop.extent));
      loop.extent = extent;
      loop.strides[i] += strides[a];
    }
  }
  return loops;
}

struct Sums {
  std::vector<Loop> kept, summed;
  int64_t kept_count = 1, summed_count = 1;
};

absl::StatusOr<Sums> SumsOf(const ReferenceArgs& args) {
  std::vector<size_t> ranks;
  for (const TensorRef& in : args.in) ranks.push_back(in.dims.size());
  ASSIGN_OR_RETURN(const Equation equation,
                   EquationOf(args.node.attrs().String("equation", ""), ranks));
  ASSIGN_OR_RETURN(const auto loops, LoopsOf(equation, args.in));
  Sums sums;
  Dims dims;
  for (char label : equation.output) {
    sums.kept.push_back(loops.at(label));
    dims.push_back(sums.kept.back().extent);
  }
  for (const auto& [label, loop] : loops) {
    if (equation.output.find(label) != std::string::npos) continue;
    sums.summed.push_back(loop);
    sums.summed_count *= loop.extent;
  }
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  sums.kept_count = ElementsOf(dims);
  return sums;
}

// Adds to `at`, an offset for each operand, those of iteration `i` of nested loops.
void AddOffsets(const std::vector<Loop>& loops, int64_t i, std::vector<int64_t>& at) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); i /= loop->extent, ++loop) {
    for (size_t o = 0; o < at.size(); ++o) at[o] += i % loop->extent * loop->strides[o];
  }
}

template <typename T>
void SumAll(const ReferenceArgs& args, const Sums& sums) {
  using Wide = AccumulatorOf<T>;
  std::vector<const T*> x;
  for (const TensorRef& in : args.in) x.push_back(static_cast<const T*>(in.data));
  T* y = static_cast<T*>(args.out[0].data);
  const size_t operands = x.size();
  const Loop last =
      sums.summed.empty() ? Loop{1, std::vector<int64_t>(operands, 0)} : sums.summed.back();
  std::vector<Loop> outer = sums.summed;
  if (!outer.empty()) outer.pop_back();
  const int64_t runs = sums.summed_count / std::max<int64_t>(1, last.extent);
  const auto sum_of = [&](const std::vector<int64_t>& base) {
    Wide sum = 0;
    std::vector<int64_t> at;
    for (int64_t run = 0; run < runs; ++run) {
      at = base;
      AddOffsets(outer, run, at);
      for (int64_t i = 0; i < last.extent; ++i) {
        Wide product = 1;
        for (size_t o = 0; o < operands; ++o)
          product *= static_cast<Wide>(x[o][at[o] + i * last.strides[o]]);
        sum += product;
      }
    }
    return sum;
  };
  args.threads.ParallelFor(sums.kept_count, GrainFor(4 * sums.summed_count),
                           [&](int64_t i, int64_t end) {
                             for (; i < end; ++i) {
                               std::vector<int64_t> base(operands, 0);
                               AddOffsets(sums.kept, i, base);
                               y[i] = static_cast<T>(sum_of(base));
                             }
                           });
}

absl::Status ReferenceEinsum(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Sums sums, SumsOf(args));
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    SumAll<decltype(type)>(args, sums);
    return absl::OkStatus();
  });
}

Support CheckEinsum(const Node& node) {
  std::vector<size_t> ranks;
  for (const Value* v : node.inputs()) {
    if (v == nullptr) return Support::No("an operand is absent");
    ranks.push_back(v->rank());
  }
  const absl::StatusOr<Equation> equation = EquationOf(node.attrs().String("equation", ""), ranks);
  if (!equation.ok()) return Support::No(std::string(equation.status().message()));
  return CheckSameDType(node, static_cast<int>(ranks.size()));
}

}  // namespace

OpDef EinsumOp() {
  return {.type = "Einsum",
          .since = {28},
          .types = kNumberTypes,
          .check = CheckEinsum,
          .reference = Widened<ReferenceEinsum>,
          .workspace = WidenedBytes};
}

}  // namespace onnx_cudnn
