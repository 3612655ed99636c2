// Whole networks in a plan cache.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/tune/plan_cache.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

// Saves a network that takes `us` in the cache at `path`.
void PutInto(const std::string& path, double us) {
  const auto cache = PlanCache::Open(path);
  ASSERT_TRUE(cache.ok()) << cache.status();
  (*cache)->Put(
      {.device = "h200", .signature = "network of 3 nodes", .engine = "network", .us = us});
  ASSERT_TRUE((*cache)->Save().ok());
}

// The recorded time of the one before may be that of a clock which is not held under load.
TEST(CachedNetworksTest, ANetworkThatWasTimedAgainReplacesAFasterOne) {
  const TempFolder folder;
  const std::string path = folder.path("plans.json");
  const std::pair<std::string, std::string> key = {"h200", "network of 3 nodes"};
  PutInto(path, 1);
  PutInto(path, 2);
  EXPECT_EQ(ReadPlanFile(path)->entries.at(key).us, 2);
  const std::string workers = folder.path("worker.json");
  const auto cache = *PlanCache::Open(path);
  ASSERT_TRUE(cache->WriteTo(workers).ok());
  PutInto(workers, 3);
  ASSERT_TRUE(cache->Add(workers).ok());
  EXPECT_EQ(cache->FindUs("h200", "network of 3 nodes"), 3);
  ASSERT_TRUE(cache->Save().ok());
  EXPECT_EQ(ReadPlanFile(path)->entries.at(key).us, 3);
  cache->Put({.device = "h200", .signature = "a", .engine = "cudnn", .us = 1});
  PutInto(path, 2);  // by another process
  ASSERT_TRUE(cache->Save().ok());
  EXPECT_EQ(ReadPlanFile(path)->entries.at(key).us, 2);
}

}  // namespace
}  // namespace onnx_cudnn
