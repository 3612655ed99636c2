#include "runtime/exec/host_marks.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/host_span.h"

namespace onnx_cudnn {

void HostMarks::Set(int mark) {
  if (mark >= static_cast<int>(us_.size())) us_.resize(mark + 1);
  us_[mark] = HostClockUs();
}

absl::StatusOr<double> HostMarks::MsBetween(int from, int to) const {
  for (const int mark : {from, to}) {
    if (mark < static_cast<int>(us_.size()) && us_[mark] != 0) continue;
    return absl::InternalError(absl::StrCat("mark ", mark, " was not reached"));
  }
  return (us_[to] - us_[from]) / 1e3;
}

}  // namespace onnx_cudnn
