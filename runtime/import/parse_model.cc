#include "runtime/import/parse_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;
using google::protobuf::io::ZeroCopyInputStream;

// Smaller payloads stay in the message.
constexpr uint32_t kLargePayload = 4096;
// Payloads of a file from this size on are read after its messages, by all threads.
constexpr uint32_t kLatePayload = 2 << 20;
constexpr int64_t kBlock = 1 << 20;

// Reads a file in blocks. Not mapped, so that truncating the file meanwhile is an error instead of
// a SIGBUS.
class FileStream final : public ZeroCopyInputStream {
 public:
  explicit FileStream(const File& file) : file_(file), block_(new char[kBlock]) {}

  bool Next(const void** data, int* size) override {
    if (unread_ == 0) {
      used_ = std::min(kBlock, file_.size() - read_);
      if (used_ == 0) return false;
      status_ = file_.ReadAt(read_, {block_.get(), static_cast<size_t>(used_)});
      if (!status_.ok()) return false;
      read_ += used_;
      unread_ = used_;
    }
    *data = block_.get() + (used_ - unread_);
    *size = static_cast<int>(std::exchange(unread_, 0));
    return true;
  }
  void BackUp(int count) override { unread_ = count; }
  bool Skip(int count) override {
    const int64_t here = std::min<int64_t>(count, unread_);
    unread_ -= here;
    const int64_t beyond = std::min(count - here, file_.size() - read_);
    read_ += beyond;
    return here + beyond == count;
  }
  int64_t ByteCount() const override { return read_ - unread_; }

  const absl::Status& status() const { return status_; }

 private:
  const File& file_;
  std::unique_ptr<char[]> block_;
  int64_t read_ = 0;    // bytes read from the file
  int64_t used_ = 0;    // bytes used of the block
  int64_t unread_ = 0;  // unread bytes at the block's end
  absl::Status status_;
};

// Fields of a message that are left for protobuf to parse at the end.
class Rest {
 public:
  CodedOutputStream* out() { return &out_; }
  bool MergeInto(MessageLite& message) {
    out_.Trim();
    return message.MergeFromString(bytes_);
  }

 private:
  std::string bytes_;
  StringOutputStream stream_{&bytes_};
  CodedOutputStream out_{&stream_};
};

// Parses the messages around the initializers itself and leaves all others to protobuf. Every
// function returns false if the bytes are not such a message.
class ModelReader {
 public:
  // `later` gets the places of large payloads, which are then not read; nullptr: everything is
  // read.
  ModelReader(CodedInputStream& in, ParsedModel& out, std::vector<FileRange>* later)
      : in_(in), out_(out), later_(later) {}

  bool ReadModel() {
    Rest rest;
    while (const uint32_t tag = in_.ReadTag()) {
      if (!ReadModelField(tag, rest)) return false;
    }
    const bool whole = in_.ConsumedEntireMessage() && in_.BytesUntilLimit() == 0;
    // Bytes appended to a model file usually parse as a field that no model has.
    return whole && rest.MergeInto(out_.proto) && out_.proto.unknown_fields().empty();
  }

 private:
  static constexpr uint32_t Tag(int field) {
    return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  }

  bool ReadModelField(uint32_t tag, Rest& rest) {
    switch (tag) {
      case Tag(onnx::ModelProto::kGraphFieldNumber):
        if (out_.proto.has_graph()) return false;
        out_.proto.mutable_graph();
        return Nested([&] { return ReadGraph(*out_.proto.mutable_graph()); });
      case Tag(onnx::ModelProto::kFunctionsFieldNumber):
        return ReadMessage(*out_.proto.add_functions());
      case Tag(onnx::ModelProto::kTrainingInfoFieldNumber):
        return ReadMessage(*out_.proto.add_training_info());
      default:
        return CopyField(tag, rest);
    }
  }

  bool ReadGraph(onnx::GraphProto& graph) {
    Rest rest;
    while (const uint32_t tag = in_.ReadTag()) {
      if (!ReadGraphField(tag, graph, rest)) return false;
    }
    return rest.MergeInto(graph);
  }

  bool ReadGraphField(uint32_t tag, onnx::GraphProto& graph, Rest& rest) {
    switch (tag) {
      case Tag(onnx::GraphProto::kNodeFieldNumber):
        return ReadMessage(*graph.add_node());
      case Tag(onnx::GraphProto::kInitializerFieldNumber):
        out_.payloads.emplace_back();
        return Nested([&] { return ReadTensor(*graph.add_initializer()); });
      case Tag(onnx::GraphProto::kSparseInitializerFieldNumber):
        return ReadMessage(*graph.add_sparse_initializer());
      case Tag(onnx::GraphProto::kValueInfoFieldNumber):
        return ReadMessage(*graph.add_value_info());
      default:
        return CopyField(tag, rest);
    }
  }

  bool ReadTensor(onnx::TensorProto& tensor) {
    Rest rest;
    while (const uint32_t tag = in_.ReadTag()) {
      const bool raw = tag == Tag(onnx::TensorProto::kRawDataFieldNumber);
      if (!(raw ? ReadRaw(tensor) : CopyField(tag, rest))) return false;
    }
    return rest.MergeInto(tensor);
  }

  bool ReadRaw(onnx::TensorProto& tensor) {
    uint32_t length = 0;
    if (!ReadLength(length)) return false;
    if (length < kLargePayload) return in_.ReadString(tensor.mutable_raw_data(), length);
    HostTensor& payload = out_.payloads.back();
    if (payload.defined()) return false;
    payload = HostTensor::Allocate(DType::kU8, {length});
    auto* const to = static_cast<char*>(payload.mutable_raw());
    if (later_ == nullptr || length < kLatePayload) {
      return in_.ReadRaw(to, static_cast<int>(length));
    }
    later_->push_back({in_.CurrentPosition(), {to, length}});
    return in_.Skip(static_cast<int>(length));
  }

  bool ReadLength(uint32_t& length) {
    return in_.ReadVarint32(&length) && std::cmp_less_equal(length, in_.BytesUntilLimit());
  }

  // `body` must consume the following message completely.
  template <typename Body>
  bool Nested(Body body) {
    uint32_t length = 0;
    if (!ReadLength(length)) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
    const bool whole = body() && in_.ConsumedEntireMessage() && in_.BytesUntilLimit() == 0;
    in_.PopLimit(outer);
    return whole;
  }

  bool ReadMessage(MessageLite& message) {
    return Nested([&] { return message.MergePartialFromCodedStream(&in_); });
  }

  // Copies a field unchanged.
  bool CopyField(uint32_t tag, Rest& to) { return WireFormatLite::SkipField(&in_, tag, to.out()); }

  CodedInputStream& in_;
  ParsedModel& out_;
  std::vector<FileRange>* const later_;
};

// What the file may be instead.
std::string_view Hint(std::string_view start) {
  if (absl::StartsWith(start, "version https://git-lfs")) return ": it is a git lfs pointer";
  if (absl::StartsWith(start, "PK\x03\x04")) return ": it is a zip archive";
  const bool text = std::all_of(start.begin(), start.end(), [](unsigned char c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
  return text ? ": it is text" : "";
}

absl::StatusOr<ParsedModel> Parse(ZeroCopyInputStream& stream, int64_t size, const Limits& limits,
                                  std::vector<FileRange>* later = nullptr) {
  if (size == 0) return absl::InvalidArgumentError("is empty");
  if (size > limits.file_bytes) {
    return absl::UnimplementedError(absl::StrCat("has ", size, " bytes, the limit is ",
                                                 limits.file_bytes,
                                                 " (weights may lie in external data)"));
  }
  ParsedModel model;
  CodedInputStream in(&stream);
  in.SetRecursionLimit(limits.protobuf_depth - 2);  // the model and graph messages are parsed here
  [[maybe_unused]] const auto limit = in.PushLimit(static_cast<int>(size));
  if (ModelReader(in, model, later).ReadModel()) return model;
  return absl::InvalidArgumentError("is damaged or not a serialized onnx model");
}

absl::Status WithHint(const absl::Status& status, std::string_view start) {
  if (!absl::IsInvalidArgument(status) || start.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), Hint(start)));
}

}  // namespace

absl::StatusOr<ParsedModel> ParseModel(const File& file, const Limits& limits) {
  FileStream stream(file);
  std::vector<FileRange> later;
  absl::StatusOr<ParsedModel> model = Parse(stream, file.size(), limits, &later);
  RETURN_IF_ERROR(stream.status());
  if (model.ok()) {
    RETURN_IF_ERROR(file.ReadAll(later));
    return model;
  }
  std::string start(std::min<int64_t>(file.size(), 64), '\0');
  RETURN_IF_ERROR(file.ReadAt(0, absl::MakeSpan(start)));
  return WithHint(model.status(), start);
}

absl::StatusOr<ParsedModel> ParseModel(std::string_view bytes, const Limits& limits) {
  // A stream counts in int; Parse rejects larger models before it reads.
  const int streamed = static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX));
  ArrayInputStream stream(bytes.data(), streamed);
  absl::StatusOr<ParsedModel> model = Parse(stream, static_cast<int64_t>(bytes.size()), limits);
  if (model.ok()) return model;
  return WithHint(model.status(), bytes.substr(0, 64));
}

}  // namespace onnx_cudnn
