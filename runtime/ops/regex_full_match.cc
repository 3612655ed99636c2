#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {
namespace {

// In RE2's syntax, on UTF-8. RE2 takes time linear in the text, and bounds the memory of a pattern.
absl::StatusOr<std::vector<HostTensor>> MatchFully(const Node& node) {
  const std::string pattern = node.attrs().String("pattern", "");
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(pattern, options);
  if (!expression.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("pattern: ", expression.error()));
  }
  const HostTensor& x = node.input(0).constant();
  HostTensor matches = HostTensor::Allocate(DType::kBool, x.dims());
  for (size_t i = 0; i < x.strings().size(); ++i) {
    matches.mutable_data<uint8_t>()[i] = RE2::FullMatch(x.strings()[i], expression) ? 1 : 0;
  }
  return std::vector<HostTensor>{std::move(matches)};
}

}  // namespace

OpDef RegexFullMatchOp() { return {.types = {DType::kString}, .evaluate = MatchFully}; }

}  // namespace onnx_cudnn
