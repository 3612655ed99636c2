#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/conv_op.h"
#include "runtime/ops/depthwise.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/im2col.h"

namespace onnx_cudnn {
namespace {

// Bytes of input columns that a product reads at once, to stay in the L2 cache of a core.
constexpr int64_t kPanelBytes = int64_t{1} << 20;
constexpr int64_t kColumnStep = 16;  // the columns of a block are a multiple of it
constexpr int64_t kFewColumns = 64;  // with fewer, threads share one block and split the filters

// How the columns of an image are divided into blocks. Either each thread builds blocks of its own,
// in `slots` panels, or all threads build one block after the other in one panel.
struct ConvBlocks {
  int64_t columns = 0;  // outputs per block
  int64_t count = 0;    // blocks per group of an image
  int64_t slots = 1;
  bool shared = false;
};

bool NeedsColumns(const ConvShape& shape) { return !shape.window.trivial(); }
bool IsDepthwise(const ConvShape& shape) { return shape.channels == 1 && shape.groups > 1; }

ConvBlocks BlocksOf(const ConvShape& shape, int64_t element_bytes) {
  const int64_t slots = ThreadPool::Default().threads();
  const int64_t outs = std::max<int64_t>(1, shape.out_size());
  const int64_t row_bytes = std::max<int64_t>(1, shape.rows()) * element_bytes;
  const int64_t most = std::max(kFewColumns, kPanelBytes / row_bytes / kColumnStep * kColumnStep);
  const int64_t images = std::max<int64_t>(1, shape.images * shape.groups);
  ConvBlocks blocks;
  blocks.shared = images < slots && outs < slots * kFewColumns;
  int64_t count = (outs + most - 1) / most;
  if (images < slots && !blocks.shared) count = (count + slots - 1) / slots * slots;
  const int64_t even = (outs + count - 1) / count;
  blocks.columns = std::min(outs, (even + kColumnStep - 1) / kColumnStep * kColumnStep);
  blocks.count = (outs + blocks.columns - 1) / blocks.columns;
  blocks.slots = blocks.shared ? 1 : std::min(slots, images * blocks.count);
  return blocks;
}

template <typename T>
class Convolution {
 public:
  Convolution(const ReferenceArgs& args, const ConvShape& shape)
      : threads_(args.threads),
        shape_(shape),
        x_(static_cast<const T*>(args.in[0].data)),
        w_(static_cast<const T*>(args.in[1].data)),
        bias_(args.has_in(2) ? static_cast<const T*>(args.in[2].data) : nullptr),
        y_(static_cast<T*>(args.out[0].data)),
        panels_(static_cast<T*>(args.workspace)) {}

  void Run() {
    if (shape_.images * shape_.groups * shape_.filters * shape_.out_size() == 0) return;
    if (IsDepthwise(shape_)) return DepthwiseConvolution(threads_, shape_, x_, w_, bias_, y_);
    if (!NeedsColumns(shape_)) return Pointwise();
    const ConvBlocks blocks = BlocksOf(shape_, sizeof(T));
    if (blocks.shared) return SharedBlocks(blocks);
    OwnBlocks(blocks);
  }

 private:
  // The product for image-and-group `i`; b and ldb are not set.
  GemmProblem<T> ProblemOf(int64_t i) const {
    const int64_t g = i % shape_.groups;
    return {.m = shape_.filters,
            .n = shape_.out_size(),
            .k = shape_.rows(),
            .a = w_ + g * shape_.filters * shape_.rows(),
            .lda = shape_.rows(),
            .c = y_ + i * shape_.filters * shape_.out_size(),
            .ldc = shape_.out_size(),
            .beta = bias_ == nullptr ? T{0} : T{1}};
  }
  const T* ImageOf(int64_t i) const { return x_ + i * shape_.channels * shape_.in_size(); }

  // Initializes c with the biases of its filters, then adds the product.
  void Multiply(const GemmProblem<T>& part) const {
    if (bias_ != nullptr) {
      const int64_t row = (part.c - y_) / shape_.out_size();
      for (int64_t m = 0; m < part.m; ++m) {
        std::fill_n(part.c + m * part.ldc, part.n,
                    bias_[(row + m) % (shape_.groups * shape_.filters)]);
      }
    }
    GemmSerial(part);
  }

  void Pointwise() const {
    const int64_t images = shape_.images * shape_.groups;
    const auto problem = [&](int64_t i) {
      GemmProblem<T> p = ProblemOf(i);
      p.b = ImageOf(i);
      p.ldb = p.n;
      return p;
    };
    if (images >= threads_.threads()) {
      return threads_.ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) Multiply(problem(i));
      });
    }
    for (int64_t i = 0; i < images; ++i) {
      ForEachPart<T>(threads_, problem(i), [&](const GemmProblem<T>& part) { Multiply(part); });
    }
  }

  GemmProblem<T> BlockOf(int64_t i, const ConvBlocks& blocks, int64_t block, const T* panel) const {
    const int64_t begin = block * blocks.columns;
    GemmProblem<T> p = ProblemOf(i);
    p.n = std::min(blocks.columns, p.n - begin);
    p.b = panel;
    p.ldb = p.n;
    p.c += begin;
    return p;
  }

  void OwnBlocks(const ConvBlocks& blocks) const {
    const int64_t tiles = shape_.images * shape_.groups * blocks.count;
    std::atomic<int64_t> next = 0;
    threads_.ParallelFor(blocks.slots, 1, [&](int64_t first_slot, int64_t) {
      T* panel = panels_ + first_slot * shape_.rows() * blocks.columns;
      for (int64_t tile = next++; tile < tiles; tile = next++) {
        const int64_t i = tile / blocks.count, block = tile % blocks.count;
        const GemmProblem<T> p = BlockOf(i, blocks, block, panel);
        const int64_t begin = block * blocks.columns;
        ImageToColumns(shape_.window, ImageOf(i), 0, shape_.rows(), begin, begin + p.n, panel);
        Multiply(p);
      }
    });
  }

  void SharedBlocks(const ConvBlocks& blocks) const {
    for (int64_t tile = 0; tile < shape_.images * shape_.groups * blocks.count; ++tile) {
      const int64_t i = tile / blocks.count, block = tile % blocks.count;
      const GemmProblem<T> p = BlockOf(i, blocks, block, panels_);
      const int64_t begin = block * blocks.columns;
      threads_.ParallelFor(shape_.rows(), GrainFor(p.n), [&](int64_t first, int64_t last) {
        ImageToColumns(shape_.window, ImageOf(i), first, last, begin, begin + p.n,
                       panels_ + first * p.n);
      });
      ForEachPart<T>(threads_, p, [&](const GemmProblem<T>& part) { Multiply(part); });
    }
  }

  ThreadPool& threads_;
  const ConvShape& shape_;
  const T* x_;
  const T* w_;
  const T* bias_;
  T* y_;
  T* panels_;
};

absl::Status ReferenceConv(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const ConvShape shape,
                   ConvShapeOf(args.node, args.in[0].dims, args.in[1].dims,
                               args.has_in(2) ? args.in[2].dims : absl::Span<const int64_t>(),
                               args.out[0].dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    Convolution<decltype(type)>(args, shape).Run();
    return absl::OkStatus();
  });
}

int64_t ConvWorkspace(const Node& node) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(node);
  const int64_t widened = WidenedBytes(node);
  if (!shape.ok() || IsDepthwise(*shape) || !NeedsColumns(*shape)) return widened;
  const int64_t element_bytes = BytesOf(WideType(node.input(0).dtype()), 1);
  const ConvBlocks blocks = BlocksOf(*shape, element_bytes);
  return widened + blocks.slots * shape->rows() * blocks.columns * element_bytes;
}

Cost ConvCost(const Node& node) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(node);
  if (!shape.ok()) return {.bytes = IoBytes(node)};
  const int64_t flops = 2 * shape->multiply_adds();
  return {.flops = flops, .bytes = IoBytes(node), .blas_flops = IsDepthwise(*shape) ? 0 : flops};
}

}  // namespace

OpDef ConvOp() { return ConvolutionOp<ReferenceConv>(ConvWorkspace, ConvCost); }

}  // namespace onnx_cudnn
