#include "runtime/base/exception.h"

#include <sys/resource.h>

#include <exception>
#include <new>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

absl::Status StatusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("out of host memory", LimitOfProcess()));
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again) {
      return absl::ResourceExhaustedError(
          "the system starts no more threads for this process: it is short of processes (ulimit "
          "-u, a container's pids limit) or of address space for their stacks (ulimit -v)");
    }
    return absl::InternalError(absl::StrCat("unexpected exception: ", e.what()));
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("unexpected exception: ", e.what()));
  } catch (...) {
    return absl::InternalError("unexpected exception");
  }
}

std::string LimitOfProcess() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return absl::StrCat(", this process may have ", limit.rlim_cur, " in all (ulimit -v)");
}

}  // namespace onnx_cudnn
