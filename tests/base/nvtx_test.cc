// The ranges that a tool of NVIDIA's gets: this program is one, by NVTX's static injection.
#include "runtime/base/nvtx.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/host_span.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
// What the header calls first; as it would define it, but for us to set.
extern "C" int (*InitializeInjectionNvtx2_fnptr)(const void* (*get_table)(uint32_t id));
#define NVTX_STATIC_INJECTION_IMPL
#include <nvtx3/nvToolsExt.h>

namespace {

std::vector<std::string>& Seen() {
  static auto& seen = *new std::vector<std::string>;
  return seen;
}

int Push(const char* name) {
  Seen().push_back(name);
  return 0;
}
int Pop() {
  Seen().push_back("end");
  return 0;
}

int Inject(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(Push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(Pop);
  return 1;
}

}  // namespace

NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = Inject;
#endif

namespace onnx_cudnn {
namespace {

TEST(NvtxTest, AScopeIsARange) {
#ifndef NVTX_VERSION
  GTEST_SKIP() << "built without NVTX's header";
#else
  PushNvtxRange("starts the tool");
  PopNvtxRange();
  Seen().clear();
  {
    const HostScope outer("outer");
    const HostScope inner("inner");
  }
  EXPECT_EQ(Seen(), (std::vector<std::string>{"outer", "inner", "end", "end"}));
#endif
}

}  // namespace
}  // namespace onnx_cudnn
