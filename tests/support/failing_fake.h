// For fakes of libraries whose options name the call that fails, and which tell its name and what
// is not released.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace onnx_cudnn {

// Runs `scenario` with a Fake whose call 0 fails, then with one whose call 1 fails, and so on.
// Expects errors, unless a release fails, that nothing leaks, and that the next run works. Returns
// the number of different calls.
template <typename Fake>
size_t FailEachCall(const std::function<absl::Status(Fake& fake)>& scenario,
                    const std::function<bool(const std::string& call)>& is_release) {
  std::set<std::string> failed;
  for (int at = 0;; ++at) {
    Fake fake({.fail_at = at});
    const absl::Status status = scenario(fake);
    const std::string call = fake.failed_call();
    if (call.empty()) return failed.size();
    SCOPED_TRACE(call);
    failed.insert(call);
    EXPECT_EQ(status.ok(), is_release(call)) << status;
    EXPECT_EQ(fake.held(), 0);
    EXPECT_TRUE(scenario(fake).ok());
    EXPECT_EQ(fake.held(), 0);
  }
}

}  // namespace onnx_cudnn
