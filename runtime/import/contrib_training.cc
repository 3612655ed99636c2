// Optimizers: one step of training for any number of tensors.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// Inputs: the learning rate, the count of updates, then groups of tensors: x_1 … x_n, their
// gradients g_1 … g_n, and so on.
class Optimizer {
 public:
  Optimizer(Expansion& x, int groups)
      : x_(x), groups_(groups), tensors_((x.inputs() - 2) / groups) {
    if ((x.inputs() - 2) % groups != 0) {
      x.FailInvalid(
          absl::StrCat("has ", x.inputs() - 2, " tensors, expected a multiple of ", groups));
    }
    const int outputs = tensors_ * (groups - 1);
    if (static_cast<int>(x.spec().outputs.size()) > outputs) {
      x.FailInvalid(absl::StrCat("has ", x.spec().outputs.size(), " outputs, expected ", outputs));
    }
  }

  int tensors() const { return x_.ok() ? tensors_ : 0; }
  // Tensor `i` of a group.
  Value& in(int group, int i) { return x_.in(2 + group * tensors_ + i); }
  void Give(int group, int i, Value& value) { x_.Give(group * tensors_ + i, value); }

  // Learning rate and count as scalars of a type.
  Value& Rate(DType dtype) { return x_.Cast(x_.Scalar(x_.in(0)), dtype); }
  Value& Count() { return x_.Scalar(x_.in(1)); }
  Value& IsLater() { return x_.Op("Greater", {&Count(), &x_.Number(0, DType::kI64)}); }

  // g + norm_coefficient · x
  Value& Regularized(int i, float norm_coefficient) {
    Value &value = in(0, i), &gradient = in(1, i);
    if (norm_coefficient == 0) return gradient;
    return x_.Add(x_.Scaled(value, norm_coefficient), gradient);
  }

 private:
  Expansion& x_;
  int groups_, tensors_;
};

}  // namespace

void ExpandAdagrad(Expansion& x) {
  Optimizer optimizer(x, 3);
  const float epsilon = x.Float("epsilon", 1e-6f), decay = x.Float("decay_factor", 0);
  const float norm_coefficient = x.Float("norm_coefficient", 0);
  for (int i = 0; i < optimizer.tensors(); ++i) {
    Value& value = optimizer.in(0, i);
    const DType dtype = value.dtype();
    Value& count = x.Cast(optimizer.Count(), dtype);
    Value& rate = x.Div(optimizer.Rate(dtype), x.Add(x.Number(1, dtype), x.Scaled(count, decay)));
    Value& gradient = optimizer.Regularized(i, norm_coefficient);
    Value& squares = x.Add(optimizer.in(2, i), x.Mul(gradient, gradient));
    Value& adaptive = x.Add(x.Op("Sqrt", {&squares}), x.Number(epsilon, dtype));
    optimizer.Give(0, i, x.Sub(value, x.Div(x.Mul(rate, gradient), adaptive)));
    optimizer.Give(1, i, squares);
  }
}

void ExpandMomentum(Expansion& x) {
  Optimizer optimizer(x, 3);
  const float alpha = x.Float("alpha", 0), beta = x.Float("beta", 0);
  const float norm_coefficient = x.Float("norm_coefficient", 0);
  const std::string mode = x.String("mode", "");
  if (mode != "standard" && mode != "nesterov") {
    x.FailInvalid("attribute \"mode\" is neither \"standard\" nor \"nesterov\"");
  }
  for (int i = 0; i < optimizer.tensors(); ++i) {
    Value& value = optimizer.in(0, i);
    const DType dtype = value.dtype();
    // The first gradient counts fully.
    Value& share =
        x.Op("Where", {&optimizer.IsLater(), &x.Number(beta, dtype), &x.Number(1, dtype)});
    Value& gradient = optimizer.Regularized(i, norm_coefficient);
    Value& momentum = x.Add(x.Scaled(optimizer.in(2, i), alpha), x.Mul(share, gradient));
    Value& step = mode == "nesterov" ? x.Add(gradient, x.Scaled(momentum, alpha)) : momentum;
    optimizer.Give(0, i, x.Sub(value, x.Mul(optimizer.Rate(dtype), step)));
    optimizer.Give(1, i, momentum);
  }
}

void ExpandAdam(Expansion& x) {
  Optimizer optimizer(x, 4);
  const float alpha = x.Float("alpha", 0.9f), beta = x.Float("beta", 0.999f);
  const float norm_coefficient = x.Float("norm_coefficient", 0);
  const float norm_coefficient_post = x.Float("norm_coefficient_post", 0);
  const float epsilon = x.Float("epsilon", 1e-6f);
  for (int i = 0; i < optimizer.tensors(); ++i) {
    Value& value = optimizer.in(0, i);
    const DType dtype = value.dtype();
    Value& one = x.Number(1, dtype);
    Value& gradient = optimizer.Regularized(i, norm_coefficient);
    Value& mean = x.Add(x.Scaled(optimizer.in(2, i), alpha), x.Scaled(gradient, 1 - alpha));
    Value& squares =
        x.Add(x.Scaled(optimizer.in(3, i), beta), x.Scaled(x.Mul(gradient, gradient), 1 - beta));
    Value& root = x.Add(x.Op("Sqrt", {&squares}), x.Number(epsilon, dtype));
    Value& rate = optimizer.Rate(dtype);
    Value& count = x.Cast(optimizer.Count(), dtype);
    const auto decayed = [&](float base) -> Value& {  // 1 - base ** count
      return x.Sub(one, x.Op("Pow", {&x.Number(base, dtype), &count}));
    };
    Value& adjusted = x.Div(x.Mul(rate, x.Op("Sqrt", {&decayed(beta)})), decayed(alpha));
    Value& used = x.Op("Where", {&optimizer.IsLater(), &adjusted, &rate});
    Value& moved = x.Sub(value, x.Div(x.Mul(used, mean), root));
    optimizer.Give(0, i,
                   norm_coefficient_post == 0 ? moved : x.Scaled(moved, 1 - norm_coefficient_post));
    optimizer.Give(1, i, mean);
    optimizer.Give(2, i, squares);
  }
}

}  // namespace onnx_cudnn
