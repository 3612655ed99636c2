#include "runtime/cudnn/cuda/frontend_graph.h"

#include <cudnn_frontend.h>

#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

namespace fe = ::cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

fe::DataType_t DataTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return fe::DataType_t::HALF;
    case DType::kBF16:
      return fe::DataType_t::BFLOAT16;
    case DType::kBool:
      return fe::DataType_t::BOOLEAN;
    default:
      return fe::DataType_t::FLOAT;
  }
}

fe::PointwiseMode_t ModeOf(PointwiseMode mode) {
  switch (mode) {
#define POINTWISE_MODE(name, frontend) \
  case PointwiseMode::name:            \
    return fe::PointwiseMode_t::frontend;
#include "runtime/cudnn/cuda/pointwise_modes.inc"
#undef POINTWISE_MODE
  }
  return fe::PointwiseMode_t::NOT_SET;
}

fe::ReductionMode_t ModeOf(CudnnOperation::Reduction reduction) {
  switch (reduction) {
    case CudnnOperation::Reduction::kSum:
      return fe::ReductionMode_t::ADD;
    case CudnnOperation::Reduction::kMax:
      return fe::ReductionMode_t::MAX;
    case CudnnOperation::Reduction::kMin:
      return fe::ReductionMode_t::MIN;
  }
  return fe::ReductionMode_t::NOT_SET;
}

class Adder {
 public:
  explicit Adder(fe::graph::Graph& graph) : graph_(graph) {}

  void Add(const CudnnGraph& graph) {
    tensors_.resize(graph.tensors.size());
    for (size_t i = 0; i < graph.tensors.size(); ++i) AddOperand(graph.tensors[i], i);
    for (const CudnnOperation& operation : graph.operations) Add(graph, operation);
  }

 private:
  void Describe(const CudnnTensor& tensor, size_t i, fe::graph::Tensor_attributes& attributes) {
    attributes.set_uid(static_cast<int64_t>(i) + 1)
        .set_name(absl::StrCat("t", i))
        .set_dim(tensor.dims)
        .set_stride(tensor.strides)
        .set_data_type(DataTypeOf(tensor.dtype));
  }

  void AddOperand(const CudnnTensor& tensor, size_t i) {
    if (tensor.kind == CudnnTensor::Kind::kVirtual || tensor.kind == CudnnTensor::Kind::kOutput) {
      return;  // an operation creates it
    }
    fe::graph::Tensor_attributes attributes;
    Describe(tensor, i, attributes);
    attributes.set_is_pass_by_value(tensor.kind == CudnnTensor::Kind::kNumber);
    tensors_[i] = graph_.tensor(attributes);
  }

  Tensor Operand(const CudnnOperation& operation, size_t i) const {
    return i < operation.in.size() ? tensors_[operation.in[i]] : nullptr;
  }

  void Add(const CudnnGraph& graph, const CudnnOperation& operation) {
    const Tensor y = Make(operation);
    const CudnnTensor& tensor = graph.tensors[operation.out];
    Describe(tensor, operation.out, *y);
    y->set_output(tensor.kind == CudnnTensor::Kind::kOutput);
    tensors_[operation.out] = y;
  }

  Tensor Make(const CudnnOperation& operation) {
    const Tensor x = Operand(operation, 0), second = Operand(operation, 1);
    switch (operation.kind) {
      case CudnnOperation::Kind::kConvolution:
        return graph_.conv_fprop(x, second,
                                 Windowed<fe::graph::Conv_fprop_attributes>(operation.window));
      case CudnnOperation::Kind::kTransposeConvolution:
        return graph_.conv_dgrad(x, second,
                                 Windowed<fe::graph::Conv_dgrad_attributes>(operation.window));
      case CudnnOperation::Kind::kProduct:
        return graph_.matmul(x, second, fe::graph::Matmul_attributes());
      case CudnnOperation::Kind::kPointwise:
        return MakePointwise(operation);
      case CudnnOperation::Kind::kReduction:
        return graph_.reduction(x, MakeReduction(operation));
      case CudnnOperation::Kind::kMaxPool:
      case CudnnOperation::Kind::kAveragePool:
        return graph_.resample(x, MakePooling(operation))[0];
      case CudnnOperation::Kind::kLayerNorm:
        return MakeLayerNorm(operation);
      case CudnnOperation::Kind::kRmsNorm:
        return MakeRmsNorm(operation);
      case CudnnOperation::Kind::kAttention:
        return MakeAttention(operation);
    }
    return nullptr;
  }

  template <typename Attributes>
  static Attributes Windowed(const CudnnWindow& window) {
    return Attributes()
        .set_pre_padding(window.pad_before)
        .set_post_padding(window.pad_behind)
        .set_stride(window.stride)
        .set_dilation(window.dilation);
  }

  Tensor MakePointwise(const CudnnOperation& operation) {
    fe::graph::Pointwise_attributes attributes;
    attributes.set_mode(ModeOf(operation.mode));
    if (operation.mode == PointwiseMode::kRelu) {
      attributes.set_relu_lower_clip(static_cast<float>(operation.lower));
      attributes.set_relu_lower_clip_slope(static_cast<float>(operation.slope));
      if (operation.upper < std::numeric_limits<double>::infinity()) {
        attributes.set_relu_upper_clip(static_cast<float>(operation.upper));
      }
    }
    if (operation.mode == PointwiseMode::kSwish) {
      attributes.set_swish_beta(static_cast<float>(operation.beta));
    }
    const Tensor a = Operand(operation, 0), b = Operand(operation, 1), c = Operand(operation, 2);
    if (c != nullptr) return graph_.pointwise(a, b, c, attributes);
    return b != nullptr ? graph_.pointwise(a, b, attributes) : graph_.pointwise(a, attributes);
  }

  static fe::graph::Reduction_attributes MakeReduction(const CudnnOperation& operation) {
    // Earlier versions have no such setting; their engines report by a note when they are not
    // deterministic.
    const bool has_request = fe::detail::get_backend_version() >= 91100;
    return fe::graph::Reduction_attributes()
        .set_mode(ModeOf(operation.reduction))
        .set_is_deterministic(has_request);
  }

  static fe::graph::Resample_attributes MakePooling(const CudnnOperation& operation) {
    const bool is_max = operation.kind == CudnnOperation::Kind::kMaxPool;
    const fe::ResampleMode_t average = operation.counts_padding
                                           ? fe::ResampleMode_t::AVGPOOL_INCLUDE_PADDING
                                           : fe::ResampleMode_t::AVGPOOL_EXCLUDE_PADDING;
    return fe::graph::Resample_attributes()
        .set_resampling_mode(is_max ? fe::ResampleMode_t::MAXPOOL : average)
        .set_padding_mode(is_max ? fe::PaddingMode_t::NEG_INF_PAD : fe::PaddingMode_t::ZERO_PAD)
        .set_window(operation.window.kernel)
        .set_stride(operation.window.stride)
        .set_pre_padding(operation.window.pad_before)
        .set_post_padding(operation.window.pad_behind)
        .set_generate_index(false);
  }

  Tensor MakeLayerNorm(const CudnnOperation& operation) {
    Tensor epsilon = Operand(operation, 2);
    fe::graph::Layernorm_attributes attributes;
    attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
    return graph_.layernorm(Operand(operation, 0), Operand(operation, 1), Operand(operation, 3),
                            attributes)[0];
  }

  Tensor MakeRmsNorm(const CudnnOperation& operation) {
    Tensor epsilon = Operand(operation, 2);
    fe::graph::Rmsnorm_attributes attributes;
    attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
    return graph_.rmsnorm(Operand(operation, 0), Operand(operation, 1), attributes)[0];
  }

  // `scores`, replaced by `excluded` where the key is behind the query. As the frontend's causal
  // mask, which has a number of its own that our plans would not bind.
  static Tensor MakeCausal(fe::graph::Graph& graph, const Tensor& scores, const Tensor& excluded) {
    const auto index_along = [&](int64_t axis) {
      const Tensor index = graph.pointwise(scores, fe::graph::Pointwise_attributes()
                                                       .set_mode(fe::PointwiseMode_t::GEN_INDEX)
                                                       .set_axis(axis));
      index->set_data_type(fe::DataType_t::INT32);
      return index;
    };
    const Tensor query = index_along(2), key = index_along(3);
    const Tensor is_seen = graph.pointwise(query, key,
                                           fe::graph::Pointwise_attributes()
                                               .set_mode(fe::PointwiseMode_t::CMP_GE)
                                               .set_compute_data_type(fe::DataType_t::BOOLEAN));
    is_seen->set_data_type(fe::DataType_t::BOOLEAN);
    return graph.pointwise(
        scores, excluded, is_seen,
        fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::BINARY_SELECT));
  }

  Tensor MakeAttention(const CudnnOperation& operation) {
    fe::graph::SDPA_attributes attributes;
    attributes.set_generate_stats(false).set_attn_scale(Operand(operation, 3));
    const Tensor last = Operand(operation, 4);
    if (operation.is_causal) {
      attributes.set_score_mod(
          [last](const std::shared_ptr<fe::graph::Graph>& graph, const Tensor& scores) {
            return MakeCausal(*graph, scores, last);
          });
    } else if (last != nullptr) {
      attributes.set_bias(last);
    }
    return graph_.sdpa(Operand(operation, 0), Operand(operation, 1), Operand(operation, 2),
                       attributes)[0];
  }

  fe::graph::Graph& graph_;
  std::vector<Tensor> tensors_;
};

}  // namespace

void AddOperations(const CudnnGraph& graph, fe::graph::Graph& to) {
  to.set_io_data_type(DataTypeOf(graph.dtype));
  Adder(to).Add(graph);
}

}  // namespace onnx_cudnn
