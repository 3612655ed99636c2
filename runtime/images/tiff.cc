#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/images/formats.h"

namespace onnx_cudnn {
namespace {

// libtiff's view of the bytes, and its first error.
struct Source {
  FileBytes file;
  uint64_t at = 0;
  std::string error;
};
Source& SourceOf(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t Read(thandle_t handle, void* to, tmsize_t bytes) {
  Source& source = SourceOf(handle);
  if (bytes <= 0 || source.at >= source.file.size()) return 0;
  const size_t count = std::min<size_t>(bytes, source.file.size() - source.at);
  std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}
tmsize_t RefuseToWrite(thandle_t, void*, tmsize_t) { return 0; }
uint64_t Seek(thandle_t handle, uint64_t offset, int whence) {
  Source& source = SourceOf(handle);
  if (whence == SEEK_CUR) offset += source.at;
  if (whence == SEEK_END) offset += source.file.size();
  return source.at = offset;
}
int Close(thandle_t) { return 0; }
uint64_t Size(thandle_t handle) { return SourceOf(handle).file.size(); }

int NoteError(TIFF*, void* source, const char* /*module*/, const char* format, va_list values) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, values);
  std::string& error = static_cast<Source*>(source)->error;
  if (error.empty()) error = text;
  return 1;
}
int IgnoreWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

absl::Status Damaged(const Source& source) {
  return absl::InvalidArgumentError(absl::StrCat("damaged TIFF: ", source.error));
}

}  // namespace

absl::StatusOr<HostTensor> DecodeTiff(FileBytes file) {
  Source source{.file = file};
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), NoteError, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), IgnoreWarning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), 8 * kMaxPixels);
  const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
      TIFFClientOpenExt("image", "rm", &source, Read, RefuseToWrite, Seek, Close, Size,
                        /*map=*/nullptr, /*unmap=*/nullptr, options.get()),
      TIFFClose);
  if (tiff == nullptr) return Damaged(source);
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(width, height));
  // The stored order of rows, whatever orientation the file asks for.
  uint16_t orientation = ORIENTATION_TOPLEFT;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  std::vector<uint32_t> pixels(int64_t{width} * height);
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, pixels.data(), orientation,
                                 /*stopOnError=*/1)) {
    return Damaged(source);
  }
  uint8_t* sample = image.mutable_data<uint8_t>().data();
  for (const uint32_t pixel : pixels) {
    *sample++ = TIFFGetR(pixel);
    *sample++ = TIFFGetG(pixel);
    *sample++ = TIFFGetB(pixel);
  }
  return image;
}

}  // namespace onnx_cudnn
