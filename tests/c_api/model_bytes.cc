#include "tests/c_api/model_bytes.h"

#include <cctype>
#include <cstring>

namespace onnx_cudnn {
namespace {

constexpr int kIrVersion = 10, kOpset = 21, kFloat = 1;

// A message of protocol buffers; the numbers of its fields are those of onnx.proto.
class Message {
 public:
  Message& Number(int field, uint64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(value);
    return *this;
  }
  Message& Text(int field, std::string_view value) {
    Varint(static_cast<uint64_t>(field) << 3 | 2);
    Varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& Float(int field, float value) {
    Varint(static_cast<uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Message& Part(int field, const Message& value) { return Text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<char>(value | 128));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

Message ValueOf(const BuiltValue& value) {
  Message shape;
  for (const std::string& dim : value.dims) {
    const bool number = std::isdigit(static_cast<unsigned char>(dim[0])) != 0;
    shape.Part(1, number ? Message().Number(1, std::stoull(dim)) : Message().Text(2, dim));
  }
  const Message tensor = Message().Number(1, static_cast<uint64_t>(value.dtype)).Part(2, shape);
  return Message().Text(1, value.name).Part(2, Message().Part(1, tensor));
}

Message NodeOf(const BuiltNode& node) {
  Message message;
  for (const std::string& input : node.inputs) message.Text(1, input);
  for (const std::string& output : node.outputs) message.Text(2, output);
  for (const auto& [name, value] : node.floats) {
    message.Part(5, Message().Text(1, name).Float(2, value).Number(20, kFloat));
  }
  for (const auto& [name, value] : node.ints) {
    message.Part(5, Message().Text(1, name).Number(3, static_cast<uint64_t>(value)).Number(20, 2));
  }
  return message.Text(4, node.op).Text(7, node.domain);
}

Message ConstantOf(const BuiltModel::Floats& floats) {
  std::string raw(floats.values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), floats.values.data(), raw.size());
  return Message()
      .Number(1, floats.values.size())
      .Number(2, kFloat)
      .Text(8, floats.name)
      .Text(9, raw);
}

}  // namespace

std::string BytesOf(const BuiltModel& model) {
  Message graph;
  for (const BuiltNode& node : model.nodes) graph.Part(1, NodeOf(node));
  graph.Text(2, "g");
  for (const BuiltModel::Floats& constant : model.constants) graph.Part(5, ConstantOf(constant));
  for (const BuiltValue& input : model.inputs) graph.Part(11, ValueOf(input));
  for (const BuiltValue& output : model.outputs) graph.Part(12, ValueOf(output));
  Message bytes = Message().Number(1, kIrVersion).Part(7, graph);
  bytes.Part(8, Message().Text(1, "").Number(2, kOpset));
  for (const std::string& domain : model.custom_domains) {
    bytes.Part(8, Message().Text(1, domain).Number(2, 1));
  }
  return bytes.bytes();
}

std::string ReluModel() {
  return BytesOf({.nodes = {{"Add", "", {"x", "b"}, {"t"}}, {"Relu", "", {"t"}, {"y"}}},
                  .inputs = {{"x", kFloat, {"N", "2"}}},
                  .outputs = {{"y", kFloat, {"N", "2"}}},
                  .constants = {{"b", {3, -4}}}});
}

std::string IdentityModel(int dtype, const std::vector<std::string>& dims) {
  return BytesOf({.nodes = {{"Identity", "", {"x"}, {"y"}}},
                  .inputs = {{"x", dtype, dims}},
                  .outputs = {{"y", dtype, dims}}});
}

}  // namespace onnx_cudnn
