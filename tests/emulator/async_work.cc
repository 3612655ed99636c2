#include "tests/emulator/async_work.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/emulator/launch.h"

namespace onnx_cudnn::emulator {

void Copy::Poison() const { std::memset(to, 0xff, written); }

void Copy::Arrive() const {
  std::memset(to, 0, written);
  std::memcpy(to, from, read);
}

void Store::Read() {
  if (!has_read) bytes = read();
  has_read = true;
}

void Store::Write() {
  Read();
  write(bytes);
}

bool Products::IsPending(const float* d) const {
  return std::any_of(sums_.begin(), sums_.end(), [&](const Sums& s) { return s.d == d; });
}

void Products::Add(const Product& product) {
  products_.Add(product);
  for (Sums& sums : sums_) {
    if (sums.d != product.d) continue;
    sums.last_group = products_.open();
    return;
  }
  sums_.push_back({product.d, products_.open(), {product.d, product.d + product.count}});
  std::fill_n(product.d, product.count, std::numeric_limits<float>::quiet_NaN());
}

void Products::Run(int pending) {
  products_.Each(pending, [&](const Product& product) {
    const auto sums =
        std::find_if(sums_.begin(), sums_.end(), [&](const Sums& s) { return s.d == product.d; });
    product.multiply(product, sums->values.data());
  });
  products_.Drop(pending);
}

void Products::Return(int pending) {
  std::erase_if(sums_, [&](const Sums& sums) {
    if (sums.last_group >= products_.open() - pending) return false;
    std::copy(sums.values.begin(), sums.values.end(), sums.d);
    return true;
  });
}

void StartCopy(uint32_t to, const void* from, int written, int read) {
  const Copy copy = {AtShared(to), from, written, read};
  if (launch->IsDoneAtOnce()) return copy.Arrive();
  copy.Poison();
  launch->current().copies.Add(copy);
}
void CommitCopies() { launch->current().copies.Commit(); }
void WaitForCopies(int pending) {
  Groups<Copy>& copies = launch->current().copies;
  if (!copies.HasMoreThan(pending)) return;
  launch->LetOthersGoOn();
  copies.Each(pending, [](const Copy& copy) { copy.Arrive(); });
  copies.Drop(pending);
}

void StartStore(std::function<std::vector<std::byte>()> read,
                std::function<void(const std::vector<std::byte>&)> write) {
  Store store = {std::move(read), std::move(write)};
  if (launch->IsDoneAtOnce()) return store.Write();
  if (launch->IsDoneAtOnce()) store.Read();
  launch->current().stores.Add(std::move(store));
}
void CommitStores() { launch->current().stores.Commit(); }
void WaitForStores(int pending, StorePart part) {
  Groups<Store>& stores = launch->current().stores;
  if (!stores.HasMoreThan(pending)) return;
  launch->LetOthersGoOn();
  if (part == StorePart::kRead) return stores.Each(pending, [](Store& store) { store.Read(); });
  stores.Each(pending, [](Store& store) { store.Write(); });
  stores.Drop(pending);
}

void FenceProducts() { launch->current().has_fence = true; }
void StartProduct(const Product& product) {
  Fiber& fiber = launch->current();
  if (!fiber.has_fence && !fiber.products.IsPending(product.d)) Fail("a product without a fence");
  fiber.products.Add(product);
}
void CommitProducts() {
  Products& products = launch->current().products;
  products.Commit();
  if (launch->IsDoneAtOnce()) products.Run(/*pending=*/0);
}
void WaitForProducts(int pending) {
  Fiber& fiber = launch->current();
  fiber.has_fence = false;
  if (fiber.products.HasMoreThan(pending)) {
    launch->LetOthersGoOn();
    fiber.products.Run(pending);
  }
  fiber.products.Return(pending);
}

void StartLoad(const std::byte* barrier, std::function<void()> arrive) {
  if (launch->IsDoneAtOnce()) return arrive();
  launch->AddLoad({barrier, std::move(arrive)});
}
void WaitForLoads(const std::byte* barrier, bool (*ready)(const void*), const void* context) {
  const uint64_t since = launch->stalls();
  launch->YieldUntil([&] {
    if (!ready(context) && launch->IsReleased(since)) launch->FinishLoads(barrier);
    return ready(context);
  });
}

}  // namespace onnx_cudnn::emulator
