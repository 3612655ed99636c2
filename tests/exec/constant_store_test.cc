#include "runtime/exec/constant_store.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {
namespace {

// Like a GPU: constants are copied.
class CopyingDevice final : public ForwardingDevice {
 public:
  bool reads_host_memory() const override { return false; }
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& t, Space s) override {
    ++uploads;
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> copy, Allocate(t.bytes(), s));
    std::memcpy(copy.get(), t.raw(), t.bytes());
    ++held;
    return std::shared_ptr<const std::byte>(copy.get(), [this, copy](const std::byte*) { --held; });
  }
  std::atomic<int> uploads = 0;
  std::atomic<int> held = 0;  // memory of uploads that is not freed
};

HostTensor Ints(int64_t first) { return HostTensor::Ints({first, 2, 3}); }

Derived Recipe(std::string name, Derived::Make make) {
  return {
      .from = {0}, .recipe = std::move(name), .to = Format::RowMajor({3}), .make = std::move(make)};
}

Derived Doubled() {
  return Recipe("doubled", [](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
    std::vector<int64_t> values;
    for (int64_t v : sources[0].data<int64_t>()) values.push_back(2 * v);
    return HostTensor::Ints(values);
  });
}

TEST(ConstantStoreTest, UsesTheSourcesBytesOnTheCpu) {
  const auto device = MakeCpuDevice();
  ConstantStore store(*device);
  const HostTensor tensor = Ints(1);
  const Derived unchanged = Unchanged(0, {3});
  const auto form = *store.Get({{tensor}, &unchanged}, Space::kDevice);
  EXPECT_EQ(form.get(), tensor.raw());
  EXPECT_EQ(*store.Get({{tensor}, &unchanged}, Space::kDevice), form);
  EXPECT_EQ(store.made(), 1);
  EXPECT_EQ(store.bytes(), 24);
}

// Has {10, 20, 30} as the form of recipe "doubled" of the tensor that it holds.
class OneStoredForm final : public StoredForms {
 public:
  explicit OneStoredForm(HostTensor source) : source_(std::move(source)) {}
  bool HoldsSources(const ConstantUse& use) const override {
    return use.sources[0].raw() == source_.raw();
  }
  absl::StatusOr<HostTensor> Find(const ConstantUse& use) const override {
    if (is_damaged) return absl::InvalidArgumentError("damaged");
    if (!HoldsSources(use) || use.derived->recipe != "doubled") return HostTensor();
    return form_;
  }
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(const HostTensor& form)> body) const override {
    if (is_damaged) return absl::InvalidArgumentError("damaged");
    RETURN_IF_ERROR(body(form_));
    return body(unused_);
  }
  bool is_damaged = false;

 private:
  const HostTensor source_;
  const HostTensor form_ = HostTensor::Ints({10, 20, 30});
  const HostTensor unused_ = HostTensor::Ints({7, 8, 9});
};

TEST(ConstantStoreTest, TakesFormsThatAreStored) {
  CopyingDevice device;
  const HostTensor held = Ints(1), other = Ints(7);
  const auto stored = std::make_shared<OneStoredForm>(held);
  ConstantStore store(device, stored);
  const Derived unchanged = Unchanged(0, {3}), doubled = Doubled();
  const ConstantUse uses[] = {{{held}, &doubled}, {{held}, &unchanged}, {{other}, &doubled}};
  const std::vector<PlacedConstant> placed = {
      {&uses[0], Space::kDevice}, {&uses[1], Space::kDevice}, {&uses[2], Space::kDevice}};
  const auto forms = *store.GetAll(placed);
  const auto second = [&](int i) { return reinterpret_cast<const int64_t*>(forms[i].get())[1]; };
  EXPECT_EQ(second(0), 20);  // not 4
  EXPECT_EQ(second(1), 2);
  EXPECT_EQ(second(2), 4);
  EXPECT_EQ(*store.Get(uses[0], Space::kDevice), forms[0]);
  EXPECT_EQ(store.made(), 3);
  stored->is_damaged = true;
  ConstantStore again(device, stored);
  EXPECT_TRUE(absl::IsInvalidArgument(again.GetAll(placed).status()));
}

TEST(ConstantStoreTest, TakesFormsThatWereUploadedBeforeTheyWereNeeded) {
  const HostTensor held = Ints(1);
  const auto stored = std::make_shared<OneStoredForm>(held);
  const Derived doubled = Doubled();
  const ConstantUse use{{held}, &doubled};
  const PlacedConstant placed[] = {{&use, Space::kDevice}};
  for (const bool is_damaged : {false, true}) {
    CopyingDevice device;
    ConstantStore store(device, stored);
    stored->is_damaged = is_damaged;
    store.UploadStored();
    while (!is_damaged && device.uploads < 2) absl::SleepFor(absl::Milliseconds(1));
    const auto forms = store.GetAll(placed);
    if (is_damaged) {
      EXPECT_TRUE(absl::IsInvalidArgument(forms.status()));
      continue;
    }
    ASSERT_TRUE(forms.ok()) << forms.status();
    EXPECT_EQ(reinterpret_cast<const int64_t*>((*forms)[0].get())[1], 20);
    EXPECT_EQ(device.uploads, 2);  // no further one
    EXPECT_EQ(device.held, 1);     // the other one was dropped
    EXPECT_EQ(store.bytes(), 24);
  }
}

TEST(ConstantStoreTest, MakesEqualContentOnce) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived unchanged = Unchanged(0, {3}), doubled = Doubled();
  const auto first = *store.Get({{Ints(1)}, &unchanged}, Space::kDevice);
  EXPECT_EQ(*store.Get({{Ints(1)}, &unchanged}, Space::kDevice), first);  // other memory
  const auto twice = *store.Get({{Ints(1)}, &doubled}, Space::kDevice);
  EXPECT_EQ(reinterpret_cast<const int64_t*>(twice.get())[2], 6);
  EXPECT_EQ(*store.Get({{Ints(1)}, &doubled}, Space::kDevice), twice);
  EXPECT_EQ(store.made(), 2);
  EXPECT_EQ(device.uploads, 2);
}

TEST(ConstantStoreTest, EqualMemoryMayHoldOtherConstantsLater) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived unchanged = Unchanged(0, {3});
  const auto first = *store.Get({{Ints(1)}, &unchanged}, Space::kDevice);
  int64_t memory[] = {1, 2, 3};
  const auto get = [&] {
    const HostTensor tensor = HostTensor::Borrow(DType::kI64, {3}, memory, nullptr);
    return *store.Get({{tensor}, &unchanged}, Space::kDevice);
  };
  EXPECT_EQ(get(), first);
  memory[0] = 9;  // as if that tensor were freed and another one lay there
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(get().get()), 9);
}

TEST(ConstantStoreTest, FreesUnusedConstants) {
  const auto cpu = MakeCpuDevice();
  CopyingDevice copying;
  for (Device* device : {cpu.get(), static_cast<Device*>(&copying)}) {
    ConstantStore store(*device);
    const Derived unchanged = Unchanged(0, {3});
    const HostTensor held = Ints(0);
    const auto form = *store.Get({{held}, &unchanged}, Space::kDevice);
    for (int i = 1; i < 2000; ++i) {
      ASSERT_TRUE(store.Get({{Ints(i)}, &unchanged}, Space::kDevice).ok());
    }
    EXPECT_EQ(store.made(), 2000) << device->name();
    EXPECT_LE(store.bytes(), 64 * 24) << device->name();
    EXPECT_EQ(*store.Get({{held}, &unchanged}, Space::kDevice), form) << device->name();
  }
}

// Freeing memory of a GPU waits for it.
TEST(ConstantStoreTest, NobodyWaitsWhileUnusedConstantsAreFreed) {
  class SlowToFree final : public ForwardingDevice {
   public:
    bool reads_host_memory() const override { return false; }
    absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& t, Space s) override {
      ASSIGN_OR_RETURN(std::shared_ptr<std::byte> copy, Allocate(t.bytes(), s));
      const std::byte* const data = copy.get();
      return std::shared_ptr<const std::byte>(
          data, [this, copy = std::move(copy)](const std::byte*) { on_free(); });
    }
    std::function<void()> on_free = [] {};
  };
  SlowToFree device;
  int freed = 0, answered = 0;
  {
    ConstantStore store(device);
    device.on_free = [&] {
      if (freed++ > 0) return;  // one tells
      const auto answer = std::make_shared<absl::Notification>();
      std::thread other([&store, answer] {
        static_cast<void>(store.made());
        answer->Notify();
      });
      answered += answer->WaitForNotificationWithTimeout(absl::Seconds(10));
      answered > 0 ? other.join() : other.detach();
    };
    const Derived unchanged = Unchanged(0, {3});
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(store.Get({{Ints(i)}, &unchanged}, Space::kDevice).ok());
    }
    EXPECT_GT(freed, 0);
  }
  EXPECT_EQ(answered, 1);
}

TEST(ConstantStoreTest, KeepsFormsApart) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived unchanged = Unchanged(0, {3}), doubled = Doubled();
  Derived as_matrix = unchanged;
  as_matrix.to = Format::Permuted({3, 2}, {1, 0});
  const HostTensor tensor = Ints(1);
  const auto base = *store.Get({{tensor}, &unchanged}, Space::kDevice);
  EXPECT_NE(*store.Get({{tensor}, &doubled}, Space::kDevice), base);
  EXPECT_NE(*store.Get({{tensor}, &as_matrix}, Space::kDevice), base);
  EXPECT_NE(*store.Get({{tensor}, &unchanged}, Space::kHost), base);
  EXPECT_NE(*store.Get({{Ints(9)}, &unchanged}, Space::kDevice), base);
  EXPECT_NE(*store.Get({{tensor.Reshaped({3, 1})}, &unchanged}, Space::kDevice), base);
  EXPECT_EQ(store.made(), 6);
}

TEST(ConstantStoreTest, EmptyConstantsAreMadeOnce) {
  const auto device = MakeCpuDevice();
  ConstantStore store(*device);
  const Derived unchanged = Unchanged(0, {0});
  const HostTensor empty = HostTensor::Allocate(DType::kF32, {0});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(store.Get({{empty}, &unchanged}, Space::kDevice).ok());
  EXPECT_EQ(store.made(), 1);
}

TEST(ConstantStoreTest, AFailureIsNotKept) {
  const auto device = MakeCpuDevice();
  ConstantStore store(*device);
  bool fails = true;
  const Derived derived = Recipe("fails", [&](absl::Span<const HostTensor> sources) {
    return fails ? absl::StatusOr<HostTensor>(absl::ResourceExhaustedError("full")) : sources[0];
  });
  const HostTensor tensor = Ints(1);
  EXPECT_EQ(store.Get({{tensor}, &derived}, Space::kDevice).status().message(), "full");
  fails = false;
  EXPECT_TRUE(store.Get({{tensor}, &derived}, Space::kDevice).ok());
}

TEST(ConstantStoreTest, ThreadsThatNeedTheSameFormCreateItOnce) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived doubled = Doubled();
  const HostTensor tensor = Ints(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(store.Get({{tensor}, &doubled}, Space::kDevice).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device.uploads, 1);
}

TEST(ConstantStoreTest, MakesAllFormsInTheOrderOfTheirUses) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived doubled = Doubled(), unchanged = Unchanged(0, {3});
  std::vector<ConstantUse> uses;
  for (int64_t i = 0; i < 50; ++i)
    uses.push_back({{Ints(i / 2)}, i % 4 == 3 ? &unchanged : &doubled});
  std::vector<PlacedConstant> placed;
  for (const ConstantUse& use : uses) placed.push_back({&use, Space::kDevice});
  const auto forms = store.GetAll(placed);
  ASSERT_TRUE(forms.ok()) << forms.status();
  ASSERT_EQ(forms->size(), 50u);
  for (int64_t i = 0; i < 50; ++i) {
    int64_t first = 0;
    std::memcpy(&first, (*forms)[i].get(), sizeof first);
    EXPECT_EQ(first, i % 4 == 3 ? i / 2 : 2 * (i / 2)) << i;
  }
  EXPECT_EQ(store.made(), 37);  // of every other pair one
  EXPECT_EQ(device.uploads, 37);
}

TEST(ConstantStoreTest, MakingFormsIsAPhaseOfARun) {
  CopyingDevice device;
  ConstantStore store(device);
  const Derived slow =
      Recipe("slow", [](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
        absl::SleepFor(absl::Milliseconds(20));
        return sources[0];
      });
  const ConstantUse use{{Ints(1)}, &slow};
  const PlacedConstant placed[] = {{&use, Space::kDevice}};
  RunTimes first, again;
  for (RunTimes* times : {&first, &again}) {
    CollectRunTimes(times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    EXPECT_TRUE(store.GetAll(placed).ok());
  }
  EXPECT_GE(first[RunPhase::kMake], 20);
  EXPECT_LT(again[RunPhase::kMake], 20);  // it is there
}

TEST(ConstantStoreTest, TheFirstFormThatCannotBeMadeIsTheError) {
  CopyingDevice device;
  ConstantStore store(device);
  std::vector<Derived> derived(20, Doubled());
  for (const int i : {7, 11}) {
    derived[i].recipe = absl::StrCat("broken ", i);
    derived[i].make = [i](absl::Span<const HostTensor>) -> absl::StatusOr<HostTensor> {
      return absl::InternalError(absl::StrCat(i));
    };
  }
  std::vector<ConstantUse> uses;
  for (const Derived& one : derived) uses.push_back({{Ints(1)}, &one});
  std::vector<PlacedConstant> placed;
  for (const ConstantUse& use : uses) placed.push_back({&use, Space::kDevice});
  EXPECT_EQ(store.GetAll(placed).status().message(), "7");
}

TEST(ConstantStoreTest, DifferentFormsAreMadeAtOnce) {  // each waits until the other is being made
  const auto device = MakeCpuDevice();
  ConstantStore store(*device);
  absl::Notification started[2];
  std::atomic<int> met = 0;
  auto make_with = [&](int mine) {
    return Recipe(mine == 0 ? "a" : "b",
                  [&, mine](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
                    started[mine].Notify();
                    met += started[1 - mine].WaitForNotificationWithTimeout(absl::Seconds(20));
                    return sources[0];
                  });
  };
  const Derived a = make_with(0), b = make_with(1);
  const HostTensor tensor = Ints(1);
  std::thread other([&] { EXPECT_TRUE(store.Get({{tensor}, &a}, Space::kDevice).ok()); });
  EXPECT_TRUE(store.Get({{tensor}, &b}, Space::kDevice).ok());
  other.join();
  EXPECT_EQ(met, 2);
}

}  // namespace
}  // namespace onnx_cudnn
