#include "tools/common/version_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {

std::string VersionText(const BuildFacts& facts) {
  std::string text = absl::StrCat("onnx-cudnn ", facts.version, "\n");
  const auto add = [&](std::string_view name, std::string_view value) {
    absl::StrAppendFormat(&text, "%-9s %s\n", name, value);
  };
  add("commit", facts.commit.empty() ? "unknown commit" : facts.commit);
  add("compiler", facts.compiler);
  add("CUDA", facts.cuda.empty() ? "without CUDA"
                                 : absl::StrCat(facts.cuda, ", for ", facts.cuda_architectures));
  if (!facts.cudnn_frontend.empty()) add("cuDNN", absl::StrCat("frontend ", facts.cudnn_frontend));
  add("ONNX",
      absl::StrFormat("%s, opsets %d to %d", facts.onnx, facts.oldest_opset, facts.newest_opset));
  return text;
}

}  // namespace onnx_cudnn
