#include "runtime/tune/plan_cache.h"

#include "absl/log/check.h"
#include "runtime/base/file.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

// The file that PlanCache writes after reading the file `from`.
std::string Rewritten(const std::string& from, const std::string& to) {
  const absl::StatusOr<std::unique_ptr<PlanCache>> cache = PlanCache::Open(from);
  CHECK_OK(cache.status());
  CHECK_OK((*cache)->WriteTo(to));
  return ReadFile(to, int64_t{1} << 28).value();
}

}  // namespace

void FuzzPlanCache(std::string_view bytes) {
  static const TempFolder folder;
  const std::string path = folder.Write("plans.json", bytes);
  const absl::Status status = PlanCache::Open(path).status();
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status)) << status;
    return;
  }
  const std::string once = folder.path("once.json");
  const std::string first = Rewritten(path, once);
  CHECK_EQ(first, Rewritten(once, folder.path("twice.json")));
}

}  // namespace onnx_cudnn
