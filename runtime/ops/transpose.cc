// Permutations of axes: Transpose, DepthToSpace, SpaceToDepth.
#include "runtime/ops/transpose.h"
#include "runtime/ops/scalar_us.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// out[i] = in[i'], where axis a of the output is axis perm[a] of the input.
void Permute(const void* in, absl::Span<const int64_t> in_dims, absl::Span<const int64_t> perm,
             void* out, int element_bytes, ThreadPool& threads) {
  const std::vector<int64_t> strides = RowMajorStrides(in_dims);
  std::vector<CopyAxis> axes;
  for (int64_t from : perm) axes.push_back({in_dims[from], strides[from], 1});
  for (size_t a = axes.size(); a-- > 1;) axes[a - 1].to = axes[a].to * axes[a].extent;
  StridedCopy(in, out, element_bytes, std::move(axes), threads);
}

Support CheckTranspose(const Node& node) {
  const std::vector<int64_t> perm = TransposePerm(node, node.input(0).rank());
  std::vector<int64_t> axes(node.input(0).rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (perm.size() == axes.size() && std::is_permutation(perm.begin(), perm.end(), axes.begin())) {
    return Support::Yes();
  }
  return Support::No(absl::StrCat("perm ", ToString(absl::MakeConstSpan(perm)),
                                  " is not a permutation of rank ", axes.size()));
}

absl::Status ReferenceTranspose(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const std::vector<int64_t> perm = TransposePerm(args.node, static_cast<int>(in.dims.size()));
  Dims dims;
  for (int64_t from : perm) dims.push_back(in.dims[from]);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  Permute(in.data, in.dims, perm, args.out[0].data, ElementBytes(in.dtype), args.threads);
  return absl::OkStatus();
}

// If the last axis moves, adjacent outputs come from different cache lines.
Cost TransposeCost(const Node& node) {
  constexpr int64_t kElementsOfStep = 8;  // tiles use whole cache lines
  const std::vector<int64_t> perm = TransposePerm(node, node.input(0).rank());
  const bool moves = !perm.empty() && perm.back() + 1 != static_cast<int64_t>(perm.size());
  const int64_t elements = moves ? node.output(0).elements() : 0;
  return {.us = ScalarUs(elements / kElementsOfStep), .bytes = IoBytes(node)};
}

// So that its square and products with extents cannot overflow.
constexpr int64_t kMostBlock = 1 << 16;

bool IsDepthFirst(const Node& node) { return node.attrs().String("mode", "DCR") == "DCR"; }

Support CheckBlocks(const Node& node) {
  if (node.input(0).rank() != 4)
    return Support::No(absl::StrCat("rank ", node.input(0).rank(), " is not 4"));
  const std::string mode = node.attrs().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
  const int64_t block = node.attrs().Int("blocksize", 0);
  if (block > 0 && block <= kMostBlock) return Support::Yes();
  return Support::No(absl::StrCat("blocksize ", block, " is outside [1, ", kMostBlock, "]"));
}

absl::Status ReferenceDepthToSpace(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const int64_t b = args.node.attrs().Int("blocksize", 1);
  const int64_t n = in.dims[0], c = in.dims[1] / (b * b), h = in.dims[2], w = in.dims[3];
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, {n, c, h * b, w * b}));
  RETURN_IF_ERROR(ExpectDims("input", in.dims, {n, c * b * b, h, w}));
  const int bytes = ElementBytes(in.dtype);
  if (IsDepthFirst(args.node)) {
    Permute(in.data, {n, b, b, c, h, w}, {0, 3, 4, 1, 5, 2}, args.out[0].data, bytes, args.threads);
  } else {
    Permute(in.data, {n, c, b, b, h, w}, {0, 1, 4, 2, 5, 3}, args.out[0].data, bytes, args.threads);
  }
  return absl::OkStatus();
}

absl::Status ReferenceSpaceToDepth(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const int64_t b = args.node.attrs().Int("blocksize", 1);
  const int64_t n = in.dims[0], c = in.dims[1], h = in.dims[2] / b, w = in.dims[3] / b;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, {n, c * b * b, h, w}));
  RETURN_IF_ERROR(ExpectDims("input", in.dims, {n, c, h * b, w * b}));
  const int64_t depth_first[] = {0, 3, 5, 1, 2, 4}, column_first[] = {0, 1, 3, 5, 2, 4};
  Permute(in.data, {n, c, h, b, w, b}, IsDepthFirst(args.node) ? depth_first : column_first,
          args.out[0].data, ElementBytes(in.dtype), args.threads);
  return absl::OkStatus();
}

OpDef BlocksOp(decltype(OpDef::reference) reference) {
  return {.types = kMovableTypes,
          .check = CheckBlocks,
          .reference = reference,
          .traits = {.moves_bytes = true, .keeps_range = true}};
}

}  // namespace

std::vector<int64_t> InversePerm(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return inverse;
}

std::vector<int64_t> TransposePerm(const Node& transpose, int rank) {
  std::vector<int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return transpose.attrs().Ints("perm", reversed);
}

OpDef TransposeOp() {
  return {.types = kMovableTypes,
          .check = CheckTranspose,
          .reference = ReferenceTranspose,
          .cost = TransposeCost,
          .traits = {.moves_bytes = true, .keeps_range = true}};
}
OpDef DepthToSpaceOp() { return BlocksOp(ReferenceDepthToSpace); }
OpDef SpaceToDepthOp() { return BlocksOp(ReferenceSpaceToDepth); }

}  // namespace onnx_cudnn
