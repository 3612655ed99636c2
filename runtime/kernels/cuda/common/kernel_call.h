// One launch as data: what a kernel's code makes once, and a Step replays with other addresses.
// Standard library only, so that .cu files compile fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace onnx_cudnn {

// An address that is known when a Step is launched.
struct Slot {
  enum class Kind : uint8_t { kInput, kOutput, kConstant, kWorkspace, kFault };
  Kind kind;
  int index = 0;       // of the Step's inputs, outputs or constants
  int64_t offset = 0;  // bytes

  static Slot Input(int index) { return {Kind::kInput, index}; }
  static Slot Output(int index) { return {Kind::kOutput, index}; }
  static Slot Constant(int index) { return {Kind::kConstant, index}; }
  static Slot Workspace(int64_t offset = 0) { return {Kind::kWorkspace, 0, offset}; }
  // A 64-bit word that is 0 until a thread of the kernel stores what was wrong (LaunchArgs::fault).
  static Slot Fault() { return {Kind::kFault}; }
};

struct LaunchShape {
  struct Extent {
    unsigned x = 1, y = 1, z = 1;
  };
  Extent grid, block;
  int shared_bytes = 0;  // dynamic
  int cluster = 1;       // blocks along x
};

// 128 bytes of a kernel's parameters that hold a CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::byte bytes[128];
};

// What the copy engine of sm_90 must know of an operand to move boxes of it.
struct TensorMap {
  // kTf32: f32 that loads round to 10 bits of mantissa; stores leave them as they are.
  enum class Element : uint8_t { kF16, kBF16, kF32, kTf32 };
  Element element;
  int rank;                   // ≤ 5
  uint64_t dims[5];           // innermost first
  uint64_t strides[4];        // bytes, of dims 1 and up; multiples of 16
  uint32_t box[5];            // elements; what lies outside of dims is read as zero, not written
  bool swizzles_128 = false;  // 16-byte units change places within 1,024 bytes of shared memory
  bool promotes_256 = true;   // fetches 256 bytes at once into L2
  // Of an image [channels, columns, rows, images], for loads: where a convolution's window may
  // stand. A box is then box[1] places of box[0] channels each, one after another along the
  // columns, then the rows, then the images; a load names the first one, and the tap that it
  // brings.
  struct Places {
    int first[2], last[2];  // of columns and rows: from the first pixel, and from the last one
    uint32_t strides[2];    // from one to the next; ≤ 8
  };
  std::optional<Places> places = std::nullopt;
};

// A launch, a copy or a fill on a stream.
struct KernelCall {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill };
  // An address that stands `at` bytes into the parameters.
  struct Address {
    size_t at;
    Slot slot;
  };

  Kind kind = Kind::kLaunch;
  // kLaunch: a __global__ function of one parameter that waits for the launch before
  // (dependent_launch.cuh).
  const void* function = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;  // its bytes; addresses are still missing
  // Of a bool in them that is to be LaunchArgs::next_uses_pdl; nothing: the next launch starts when
  // this one is over.
  std::optional<size_t> next_uses_pdl_at;
  std::vector<Address> addresses;
  // TensorMapBytes `at` bytes into the parameters, made of the operand's address.
  struct Map {
    size_t at;
    Slot slot;
    TensorMap map;
  };
  std::vector<Map> maps;
  // kCopy: addresses are {to, from}; kFill: {to}.
  int64_t bytes = 0;
  uint8_t value = 0;  // kFill: of every byte

  // Of `kernel(Parameters)`. A grid of no blocks is a launch that does not happen.
  template <typename Parameters>
  static KernelCall Of(void (*kernel)(Parameters), const LaunchShape& shape,
                       const Parameters& parameters) {
    static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= 4064);
    KernelCall call;
    call.function = reinterpret_cast<const void*>(kernel);
    call.shape = shape;
    call.parameters.resize(sizeof(Parameters));
    std::memcpy(call.parameters.data(), &parameters, sizeof(Parameters));
    return call;
  }
  static KernelCall Copy(Slot to, Slot from, int64_t bytes) {
    KernelCall call;
    call.kind = Kind::kCopy;
    call.addresses = {{0, to}, {0, from}};
    call.bytes = bytes;
    return call;
  }
  static KernelCall Fill(Slot to, uint8_t value, int64_t bytes) {
    KernelCall call;
    call.kind = Kind::kFill;
    call.addresses = {{0, to}};
    call.bytes = bytes;
    call.value = value;
    return call;
  }

  // The pointer `at` bytes into the parameters (offsetof) is `slot`.
  KernelCall& Bind(size_t at, Slot slot) & {
    addresses.push_back({at, slot});
    return *this;
  }
};

}  // namespace onnx_cudnn
