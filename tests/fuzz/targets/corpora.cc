#include "tests/fuzz/corpora.h"

#include <png.h>
#include <turbojpeg.h>

#include <cstring>
#include <iterator>
#include <random>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "minizip/zip.h"
#include "runtime/base/file.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/temp_folder.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {
namespace {

constexpr const char* kPins[] = {
    "pin cudnn conv1 relu1\n",
    "# a comment\npin * conv2 add2   # another\nforbid gemm fc\n\nforbid * conv1 relu1\r\n",
    "pin cudnn \"a name\" \"with \\\"quotes\\\"\" \"back\\\\slash\" \"#\"\n",
    "forbid\tkernel\tx",
};

// After two bytes: options, elements.
constexpr const char* kExternal[] = {
    "location=data\noffset=0\nlength=16\n--\nlocation=./"
    "data\noffset=16\n\n0123456789abcdef0123456789a"
    "bcdef",
    "location=sub/data\n--\nlocation=data\nlength=16\n\n0123456789abcdef",
    "location=data\nchecksum=fe5567e8d769550852182cdf69d74bb16dff8e29\n--\nlocation=../"
    "secret\n\n0123"
    "456789abcdef",
    "location=link\n--\nlocation=second\n\n0123456789abcdef",
};

constexpr int kSide = 8;  // of images

std::string Png(int format) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = png.height = kSide;
  png.format = format;
  const std::vector<uint8_t> samples(PNG_IMAGE_SIZE(png), 100);
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(bytes, '\0');
  CHECK(png_image_write_to_memory(&png, file.data(), &bytes, 0, samples.data(), 0, nullptr));
  return file.substr(0, bytes);
}

std::string Jpeg(int subsampling, int flags) {
  const std::vector<uint8_t> samples(kSide * kSide * 3, 100);
  tjhandle jpeg = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;  // NOLINT: turbojpeg's type
  CHECK_EQ(tjCompress2(jpeg, samples.data(), kSide, 0, kSide, TJPF_RGB, &data, &bytes, subsampling,
                       80, flags),
           0);
  std::string file(reinterpret_cast<char*>(data), bytes);
  tjFree(data);
  tjDestroy(jpeg);
  return file;
}

std::string Npy(DType dtype) {
  HostTensor tensor = HostTensor::Allocate(dtype, {2, 3});
  std::memset(tensor.mutable_raw(), 1, tensor.bytes());
  return FormatNpy(tensor).value();
}

std::string Npz(int compression) {
  const TempFolder folder;
  const std::string path = folder.path("arrays.npz");
  zipFile zip = zipOpen(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, dtype] : {std::pair("a.npy", DType::kF32), {"b.npy", DType::kI64}}) {
    const std::string bytes = Npy(dtype);
    zipOpenNewFileInZip(zip, name, nullptr, nullptr, 0, nullptr, 0, nullptr,
                        compression == 0 ? 0 : Z_DEFLATED, compression);
    zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  return ReadFile(path, 1 << 20).value();
}

std::string SavedPlans() {
  const TempFolder folder;
  const std::string path = folder.path("plans.json");
  const std::unique_ptr<PlanCache> cache = PlanCache::Open(path).value();
  cache->Put({.device = "h200",
              .signature = "cudnn 9.19.0 on \"c\"\n",
              .engine = "cudnn",
              .variant = "engine 41, k2=0",
              .us = 11.25,
              .workspace_bytes = 4096,
              .checked = true,
              .engine_version = "9.19.0",
              .driver = "580.95",
              .cuda = "13.0",
              .date = "2026-11-22",
              .saved = "{}"});
  cache->PutFailed({.device = "h200",
                    .signature = "s",
                    .engine = "cudnn",
                    .variant = "engine 4",
                    .how = kCrashed,
                    .why = "signal 11",
                    .engine_version = "9.19.0",
                    .date = "2026-11-22"});
  CHECK_OK(cache->Save());
  return ReadFile(path, 1 << 20).value();
}

}  // namespace

std::vector<std::string> PinCorpus() { return {std::begin(kPins), std::end(kPins)}; }

std::vector<std::string> ExternalDataCorpus() {
  std::vector<std::string> corpus;
  for (const char options : {'\0', '\1', '\2'}) {
    for (const char* text : kExternal) corpus.push_back(std::string{options, '\x10'} + text);
  }
  return corpus;
}

std::vector<std::string> PlanCacheCorpus() {
  return {SavedPlans(), R"({"format": "onnx-cudnn plan cache 1", "entries": []})",
          R"({"format": "onnx-cudnn plan cache 1", "entries": [{"device": "h200"}]})"};
}

std::vector<std::string> ArrayCorpus() {
  std::vector<std::string> corpus = {Npz(0), Npz(9)};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool, DType::kC64}) {
    corpus.push_back(Npy(dtype));
  }
  return corpus;
}

std::vector<std::string> ImageCorpus() {
  return {Png(PNG_FORMAT_GRAY),
          Png(PNG_FORMAT_RGB),
          Png(PNG_FORMAT_RGBA),
          Jpeg(TJSAMP_444, 0),
          Jpeg(TJSAMP_420, 0),
          Jpeg(TJSAMP_GRAY, 0),
          Jpeg(TJSAMP_444, TJFLAG_PROGRESSIVE)};
}

std::vector<std::string> GraphCorpus() {
  std::vector<std::string> corpus;
  for (int seed = 0; seed < 64; ++seed) {
    std::mt19937 random(seed);
    std::string choices(200, '\0');
    for (char& choice : choices) choice = static_cast<char>(random());
    corpus.push_back(std::move(choices));
  }
  return corpus;
}

}  // namespace onnx_cudnn
