#include "runtime/tune/plan_cache.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/file.h"
#include "tests/support/failing_calls.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

PlanEntry Entry(std::string signature, double us) {
  return {.device = "h200",
          .signature = std::move(signature),
          .engine = "cudnn",
          .variant = "engine 41, k2=0",
          .us = us,
          .workspace_bytes = 4096,
          .checked = true,
          .engine_version = "9.19.0",
          .driver = "580.95",
          .cuda = "13.0",
          .date = "2026-11-22"};
}

FailedVariant Failed(std::string signature, std::string variant) {
  return {.device = "h200",
          .signature = std::move(signature),
          .engine = "cudnn",
          .variant = std::move(variant),
          .how = kCrashed,
          .why = "signal 11",
          .engine_version = "9.19.0",
          .date = "2026-11-22"};
}

// Saves a new cache with these entries at `path`.
void Write(const std::string& path, const std::vector<PlanEntry>& entries) {
  auto cache = PlanCache::Open(path);
  ASSERT_TRUE(cache.ok()) << cache.status();
  for (const PlanEntry& entry : entries) (*cache)->Put(entry);
  ASSERT_TRUE((*cache)->Save().ok());
}

std::string Content(const std::string& path) { return ReadFile(path, 1 << 20).value(); }

TEST(PlanFileTest, SurvivesItsText) {
  PlanFile file;
  file.entries[{"h200", "a"}] = Entry("a", 2);
  file.failed[{"h200", "b", "v"}] = Failed("b", "v");
  const std::string text = PlanFileText(file);
  const absl::StatusOr<PlanFile> read = ParsePlanFile(text, "m.ocp");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PlanFileText(*read), text);
  EXPECT_EQ(read->entries.size(), 1u);
  EXPECT_EQ(read->failed.size(), 1u);
  const absl::Status wrong = ParsePlanFile("{}", "m.ocp").status();
  EXPECT_TRUE(absl::StrContains(wrong.message(), "m.ocp: expected the format")) << wrong;
}

TEST(PlanFileTest, EntriesThatWereAddedNeedNoSave) {
  const TempFolder folder;
  const std::string path = folder.path("plans.json");
  const auto cache = PlanCache::Open(path).value();
  PlanFile file;
  file.entries[{"h200", "a"}] = Entry("a", 2);
  cache->AddEntries(file);
  EXPECT_EQ(cache->FindUs("h200", "a"), 2);
  ASSERT_TRUE(cache->Save().ok());
  EXPECT_FALSE(Exists(path).value());
}

class PlanCacheTest : public testing::Test {
 protected:
  PlanFile Read() const {
    const auto file = ReadPlanFile(path_);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *file : PlanFile();
  }
  int Files() const {
    const auto files = std::filesystem::directory_iterator(folder_.path());
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  const TempFolder folder_;
  const std::string path_ = folder_.path("plans.json");
};

TEST_F(PlanCacheTest, KeepsEveryField) {
  PlanEntry entry = Entry("a\nb \"c\"", 11.25);
  entry.joules = 0.5;
  Write(path_, {entry, Entry("d", 1)});
  const auto cache = PlanCache::Open(path_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  const auto found = (*cache)->Find("h200", "a\nb \"c\"");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->engine, "cudnn");
  EXPECT_EQ(found->variant, "engine 41, k2=0");
  EXPECT_EQ(found->us, 11.25);
  EXPECT_EQ(found->joules, 0.5);
  EXPECT_EQ((*cache)->Find("h200", "d")->joules, std::nullopt);
  EXPECT_EQ(found->workspace_bytes, 4096);
  EXPECT_TRUE(found->checked);
  EXPECT_EQ(found->engine_version, "9.19.0");
  EXPECT_EQ(found->driver, "580.95");
  EXPECT_EQ(found->cuda, "13.0");
  EXPECT_EQ(found->date, "2026-11-22");
  EXPECT_FALSE((*cache)->Find("h100", "a\nb \"c\"").has_value());
  EXPECT_FALSE((*cache)->Find("h200", "a").has_value());
}

TEST_F(PlanCacheTest, OnlyTwoPartialEntriesMakeAPartialOne) {
  PlanEntry part = Entry("a", 1), whole = Entry("a", 2);
  part.is_partial = true;
  const std::string other = folder_.path("other.json"), third = folder_.path("third.json");
  Write(path_, {part});
  Write(other, {part});
  ASSERT_TRUE(MergePlanCaches(path_, {other}).ok());
  EXPECT_TRUE(ReadPlanFile(path_)->entries.at({"h200", "a"}).is_partial);
  Write(third, {whole});
  ASSERT_TRUE(MergePlanCaches(path_, {third}).ok());
  const PlanEntry merged = ReadPlanFile(path_)->entries.at({"h200", "a"});
  EXPECT_FALSE(merged.is_partial);
  EXPECT_EQ(merged.us, 1);
}

TEST_F(PlanCacheTest, WritesNothingWhereNothingWasPut) {
  const auto cache = PlanCache::Open(path_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_TRUE((*cache)->Save().ok());
  EXPECT_FALSE(*Exists(path_));
  EXPECT_FALSE(*Exists(path_ + ".lock"));
}

TEST_F(PlanCacheTest, WithoutAPathItIsInMemory) {
  const auto cache = PlanCache::Open("");
  ASSERT_TRUE(cache.ok()) << cache.status();
  (*cache)->Put(Entry("a", 1));
  EXPECT_TRUE((*cache)->Save().ok());
  EXPECT_EQ((*cache)->Find("h200", "a")->us, 1);
}

TEST_F(PlanCacheTest, NamesWhatIsBrokenAndLeavesTheFile) {
  Write(path_, {Entry("a", 1), Entry("b", 2)});
  const std::string good = Content(path_);
  struct Case {
    const char *what, *from, *to, *says;
  };
  const Case cases[] = {
      {"cut short", "}", "", "not JSON"},
      {"another format", "plan cache 1", "plan cache 9", "expected the format"},
      {"no entries", "\"entries\"", "\"entrys\"", "expected a list \"entries\""},
      {"no time", "\"us\": 2.0", "\"um\": 2.0", "entry 1: \"us\""},
      {"a negative time", "\"us\": 2.0", "\"us\": -2.0", "entry 1: \"us\""},
      {"a number as text", "\"us\": 1.0", "\"us\": \"1\"", "entry 0: \"us\""},
      {"negative bytes", "\"workspace_bytes\": 4096", "\"workspace_bytes\": -1",
       "entry 0: \"workspace_bytes\""},
      {"no versions", "\"versions\"", "\"version\"", "entry 0: \"versions\""},
      {"a version less", "\"driver\"", "\"drive\"", "entry 0: \"versions\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string broken = absl::StrReplaceAll(good, {{c.from, c.to}});
    ASSERT_NE(broken, good);
    folder_.Write("plans.json", broken);
    const absl::Status status = PlanCache::Open(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "plans.json")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), c.says)) << status;
  }
}

TEST_F(PlanCacheTest, DoesNotOverwriteWhatBrokeMeanwhile) {
  const auto cache = PlanCache::Open(path_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  (*cache)->Put(Entry("a", 1));
  folder_.Write("plans.json", "{");
  EXPECT_EQ((*cache)->Save().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Content(path_), "{");
  folder_.Write("other.json", "{");
  Write(folder_.path("good.json"), {Entry("a", 1)});
  const std::string good = Content(folder_.path("good.json"));
  EXPECT_FALSE(MergePlanCaches(folder_.path("good.json"), {folder_.path("other.json")}).ok());
  EXPECT_EQ(Content(folder_.path("good.json")), good);
}

TEST_F(PlanCacheTest, TwoWritersKeepBothAndTheFaster) {
  const auto first = PlanCache::Open(path_), second = PlanCache::Open(path_);
  ASSERT_TRUE(first.ok() && second.ok());
  (*first)->Put(Entry("only first", 1));
  (*first)->Put(Entry("faster in first", 2));
  (*first)->Put(Entry("faster in second", 3));
  (*second)->Put(Entry("faster in first", 4));
  (*second)->Put(Entry("faster in second", 1.5));
  ASSERT_TRUE((*first)->Save().ok());
  ASSERT_TRUE((*second)->Save().ok());
  EXPECT_EQ((*second)->Find("h200", "faster in first")->us, 2);
  const PlanFile file = Read();
  ASSERT_EQ(file.entries.size(), 3u);
  EXPECT_EQ(file.entries.at({"h200", "only first"}).us, 1);
  EXPECT_EQ(file.entries.at({"h200", "faster in first"}).us, 2);
  EXPECT_EQ(file.entries.at({"h200", "faster in second"}).us, 1.5);
}

TEST_F(PlanCacheTest, EachFailingCallLeavesAWholeFile) {
  Write(path_, {Entry("a", 1)});
  const std::string before = Content(path_);
  int failed = 0;
  for (int at = 0;; ++at) {
    SCOPED_TRACE(at);
    folder_.Write("plans.json", before);
    const auto cache = PlanCache::Open(path_);
    ASSERT_TRUE(cache.ok());
    (*cache)->Put(Entry("b", 2));
    absl::Status status;
    int made = 0, open = 0;
    {
      const FailingCalls calls(at);
      status = (*cache)->Save();
      made = calls.count();
      open = calls.open();
    }
    EXPECT_EQ(open, 0);
    if (made <= at) break;
    const PlanFile file = Read();
    if (!status.ok()) {
      ++failed;
      EXPECT_EQ(Content(path_), before) << status;
    } else {
      EXPECT_EQ(file.entries.size(), 2u);
    }
  }
  EXPECT_GE(failed, 6);  // open and flock, open, write, fsync and rename at least
}

TEST_F(PlanCacheTest, MergesFilesIntoANewOne) {
  Write(folder_.path("a.json"), {Entry("a", 1), Entry("both", 4)});
  Write(folder_.path("b.json"), {Entry("b", 2), Entry("both", 3)});
  ASSERT_TRUE(MergePlanCaches(path_, {folder_.path("a.json"), folder_.path("b.json")}).ok());
  const PlanFile merged = Read();
  EXPECT_EQ(merged.entries.size(), 3u);
  EXPECT_EQ(merged.entries.at({"h200", "both"}).us, 3);
  EXPECT_EQ(MergePlanCaches(path_, {folder_.path("none.json")}).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(PlanCacheTest, WritesThroughALink) {
  const std::string real = folder_.path("real.json");
  Write(real, {Entry("a", 1)});
  std::filesystem::create_symlink("real.json", path_);
  Write(path_, {Entry("b", 2)});
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(ReadPlanFile(real)->entries.size(), 2u);
  ASSERT_TRUE(MergePlanCaches(path_, {real}).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(Files(), 2);
}

TEST_F(PlanCacheTest, WhatFailsLeavesNeitherALockNorATemporaryFile) {
  folder_.Write("broken.json", "{");
  EXPECT_FALSE(MergePlanCaches(path_, {folder_.path("broken.json")}).ok());
  EXPECT_FALSE(MergePlanCaches(path_, {folder_.path("none.json")}).ok());
  EXPECT_FALSE(PrunePlanCache(path_, "h200").ok());
  EXPECT_EQ(Files(), 1);
  Write(folder_.path("a.json"), {Entry("a", 1)});
  EXPECT_EQ(Files(), 2);
  int failed = 0;
  for (const int error : {ENOSPC, EIO}) {
    for (int at = 0;; ++at) {
      absl::Status status;
      int made = 0;
      {
        const FailingCalls calls(at, error);
        status = MergePlanCaches(path_, {folder_.path("a.json")});
        made = calls.count();
      }
      if (made <= at) break;
      if (status.ok()) std::filesystem::remove(path_);
      failed += status.ok() ? 0 : 1;
      // A lock that cannot be acquired may belong to another process.
      if (absl::StrContains(status.message(), ".lock")) std::filesystem::remove(path_ + ".lock");
      EXPECT_EQ(Files(), 2) << "call " << at << ": " << status;
    }
    std::filesystem::remove(path_);
  }
  EXPECT_GE(failed, 12);
}

TEST_F(PlanCacheTest, PrunesADeviceOrAVersion) {
  PlanEntry old = Entry("old", 1), other = Entry("other", 2);
  old.engine_version = "9.1.0";
  other.device = "h100";
  Write(path_, {Entry("kept", 3), old, other});
  EXPECT_EQ(*PrunePlanCache(path_, "9.1.0"), 1);
  EXPECT_EQ(*PrunePlanCache(path_, "h100"), 1);
  EXPECT_EQ(*PrunePlanCache(path_, "a100"), 0);
  const PlanFile left = Read();
  ASSERT_EQ(left.entries.size(), 1u);
  EXPECT_EQ(left.entries.begin()->second.signature, "kept");
}

TEST_F(PlanCacheTest, PrunesWholeNetworksWithTheirParts) {
  PlanEntry old = Entry("old", 1), network = Entry("network of 3 nodes", 2), other = network;
  old.engine_version = "9.1.0";
  network.engine = other.engine = "network";
  network.engine_version = other.engine_version = "";
  other.device = "h100";
  Write(path_, {Entry("kept", 3), old, network, other});
  EXPECT_EQ(*PrunePlanCache(path_, "9.1.0"), 2);
  const PlanFile left = Read();
  ASSERT_EQ(left.entries.size(), 2u);
  EXPECT_EQ(left.entries.begin()->second.device, "h100");
}

TEST_F(PlanCacheTest, KeepsSavedSteps) {
  PlanEntry entry = Entry("a", 1);
  entry.saved = "{\"plan\": \"…\"}";
  Write(path_, {entry, Entry("b", 2)});
  const PlanFile file = Read();
  EXPECT_EQ(file.entries.at({"h200", "a"}).saved, entry.saved);
  EXPECT_EQ(file.entries.at({"h200", "b"}).saved, "");
}

TEST_F(PlanCacheTest, KeepsWhatFailed) {
  const auto cache = PlanCache::Open(path_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  (*cache)->PutFailed(Failed("a", "engine 4"));
  (*cache)->PutFailed(Failed("a", "engine 5"));
  (*cache)->PutFailed(Failed("b", "engine 4"));
  ASSERT_TRUE((*cache)->Save().ok());
  const auto again = PlanCache::Open(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  const std::vector<FailedVariant> found = (*again)->Failed("h200", "a");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].variant, "engine 4");
  EXPECT_EQ(found[1].variant, "engine 5");
  EXPECT_EQ(found[0].engine, "cudnn");
  EXPECT_EQ(found[0].how, kCrashed);
  EXPECT_EQ(found[0].why, "signal 11");
  EXPECT_EQ(found[0].engine_version, "9.19.0");
  EXPECT_EQ(found[0].date, "2026-11-22");
  EXPECT_TRUE((*again)->Failed("h100", "a").empty());
  EXPECT_TRUE((*again)->Failed("h200", "").empty());
}

TEST_F(PlanCacheTest, WhatFailedIsMergedPrunedAndChecked) {
  const std::string other = folder_.path("other.json");
  {
    const auto cache = PlanCache::Open(other);
    ASSERT_TRUE(cache.ok()) << cache.status();
    (*cache)->PutFailed(Failed("a", "engine 4"));
    ASSERT_TRUE((*cache)->Save().ok());
  }
  Write(path_, {Entry("a", 1)});
  ASSERT_TRUE(MergePlanCaches(path_, {other}).ok());
  EXPECT_EQ(ReadPlanFile(path_)->failed.size(), 1u);
  EXPECT_EQ(*PrunePlanCache(path_, "9.19.0"), 2);
  EXPECT_TRUE(ReadPlanFile(path_)->failed.empty());
  const std::string good = Content(other);
  folder_.Write("other.json", absl::StrReplaceAll(good, {{"\"how\"", "\"who\""}}));
  EXPECT_TRUE(absl::StrContains(ReadPlanFile(other).status().message(), "failed 0: \"how\""));
  folder_.Write("other.json",
                absl::StrReplaceAll(good, {{"\"failed\": [", "\"failed\": 1, \"x\": ["}}));
  EXPECT_TRUE(absl::StrContains(ReadPlanFile(other).status().message(), "a list \"failed\""));
}

TEST_F(PlanCacheTest, TakesAnotherFilesEntriesAndGivesItsOwn) {
  const auto cache = PlanCache::Open("");
  ASSERT_TRUE(cache.ok()) << cache.status();
  (*cache)->Put(Entry("a", 1));
  (*cache)->PutFailed(Failed("b", "engine 4"));
  ASSERT_TRUE((*cache)->WriteTo(path_).ok());
  const PlanFile copy = Read();
  EXPECT_EQ(copy.entries.size(), 1u);
  EXPECT_EQ(copy.failed.size(), 1u);
  const auto taker = PlanCache::Open("");
  ASSERT_TRUE((*taker)->Add(path_).ok());
  EXPECT_EQ((*taker)->FindUs("h200", "a"), 1);
  EXPECT_FALSE((*taker)->FindUs("h200", "b").has_value());
  EXPECT_EQ((*taker)->Failed("h200", "b").size(), 1u);
  EXPECT_TRUE((*taker)->Add(folder_.path("none.json")).ok());
}

}  // namespace
}  // namespace onnx_cudnn
