// Class 4 of what the loader refuses: external data that is not a plain range of a plain file in
// the model's folder.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/base/sha1.h"
#include "tests/import/hostile_external.h"

namespace onnx_cudnn {
namespace {

namespace fs = std::filesystem;
using Proto = onnx::TensorProto;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

auto Offset(const std::string& offset) {
  return Entries({{"location", "data"}, {"offset", offset}});
}
auto Length(const std::string& length) {
  return Entries({{"location", "data"}, {"length", length}});
}

std::string DigestOf(std::string_view bytes) {
  Sha1 sha1;
  sha1.Update(bytes);
  return sha1.HexDigest();
}

const std::vector<Entry> kAway = {{"location", "../secret"}};

// Two tensors of `first` and `second` elements, the second `offset` bytes behind the first's start.
auto TwoRanges(int64_t first, int64_t second, int64_t offset) {
  return [=](const TempFolder& folder) {
    onnx::ModelProto model = EmptyModel();
    onnx::GraphProto& g = *model.mutable_graph();
    SetExternal(AddInitializer(g, "a", Proto::UINT8, {first}), {{"location", "data"}});
    SetExternal(AddInitializer(g, "b", Proto::UINT8, {second}),
                {{"location", "data"}, {"offset", std::to_string(offset)}});
    AddOutput(g, "a");
    AddOutput(g, "b");
    folder.Write("data", std::string(16, '\0'));
    return Save(folder, model);
  };
}

// A hub's cache: blobs/ holds the files, snapshots/1/ links to them.
auto Hub(const std::string& target) {
  return [=](const TempFolder& folder) {
    const std::string model = SaveExternal(folder, {{"location", "weights"}});
    fs::create_directories(folder.path("blobs"));
    fs::create_directories(folder.path("snapshots/1"));
    fs::rename(model, folder.path("blobs/123"));
    fs::rename(folder.path("m/data"), folder.path("blobs/456"));
    fs::create_symlink("../../blobs/123", folder.path("snapshots/1/model.onnx"));
    fs::create_symlink(target, folder.path("snapshots/1/weights"));
    return folder.path("snapshots/1/model.onnx");
  };
}

const LoadOptions kFollow{.follow_hub_links = true};
const LoadOptions kMapped{.external_bytes = ExternalBytes::kMap};

const HostileCase kPathCases[] = {
    {"Valid", Location("data"), absl::StatusCode::kOk},
    {"ValidMapped", Location("data"), absl::StatusCode::kOk, "", kMapped},
    {"ValidWithDot", Location("./data"), absl::StatusCode::kOk},
    {"Absolute", Location("/etc/passwd"), kInvalid, "absolute"},
    {"Up", Location("../secret"), kInvalid, "leaves the model's folder"},
    {"UpMapped", Location("../secret"), kInvalid, "leaves the model's folder", kMapped},
    {"DownAndUp", Location("sub/../../secret"), kInvalid, "leaves the model's folder"},
    {"UpAtTheEnd", Location("sub/.."), kInvalid, "leaves the model's folder"},
    {"Empty", Location(""), kInvalid, "location is empty"},
    {"NoLocation", Entries({{"offset", "0"}}), kInvalid, "location is empty"},
    {"NoEntries", Entries({}), kInvalid, "location is empty"},
    {"ZeroByte", Location(std::string("data\0/../../secret", 18)), kInvalid, "control character"},
    {"Backslash", Location("..\\secret"), kInvalid, "backslash"},
    {"Drive", Location("C:/secret"), kInvalid, "drive"},
    {"DriveRelative", Location("c:secret"), kInvalid, "drive"},
    {"InMemoryMarker", Location("*/_ORT_MEM_ADDR_/*"), kInvalid, "address in memory"},
    {"FolderItself", Location("."), kInvalid, "not a regular file"},
    {"EndsInSlash", Location("data/"), kInvalid, "is a folder"},
    {"VeryLong", Location(std::string(5000, 'a')), kInvalid, "location is too long"},
    {"Missing", Location("none"), absl::StatusCode::kNotFound, "none"},
    {"LinkOutside", At("file", [](auto& f) { fs::create_symlink("../secret", f.path("m/file")); }),
     kInvalid, "cannot open"},
    {"LinkInside", At("file", [](auto& f) { fs::create_symlink("data", f.path("m/file")); }),
     kInvalid, "cannot open"},
    {"LinkToDevice", At("file", [](auto& f) { fs::create_symlink("/dev/zero", f.path("m/file")); }),
     kInvalid, "cannot open"},
    {"LinkOfParent",
     At("file/secret", [](auto& f) { fs::create_directory_symlink("..", f.path("m/file")); }),
     kInvalid, "cannot open"},
    {"LinkOfProcess",
     At("file", [](auto& f) { fs::create_symlink("/proc/self/environ", f.path("m/file")); }),
     kInvalid, "cannot open"},
    {"HardLink",
     At("file", [](auto& f) { fs::create_hard_link(f.path("secret"), f.path("m/file")); }),
     kInvalid, "more than one name"},
    {"Fifo", At("file", [](auto& f) { mkfifo(f.path("m/file").c_str(), 0600); }), kInvalid,
     "not a regular file"},
    {"Subfolder", At("file", [](auto& f) { fs::create_directory(f.path("m/file")); }), kInvalid,
     "not a regular file"},
    {"HubLinkNotAsked", Hub("../../blobs/456"), kInvalid, "cannot open"},
    {"HubLink", Hub("../../blobs/456"), absl::StatusCode::kOk, "", kFollow},
    {"HubLinkOutside", Hub("../../secret"), kInvalid, "leads out of the folder", kFollow},
    {"HubLinkToSystem", Hub("/etc/passwd"), kInvalid, "leads out of the folder", kFollow},
    {"HubLocationUp", Location("../secret"), kInvalid, "leaves the model's folder", kFollow},
};

const HostileCase kRangeCases[] = {
    {"Valid", Entries({{"location", "data"}, {"offset", "0"}, {"length", "16"}}),
     absl::StatusCode::kOk},
    {"OffsetNegative", Offset("-1"), kInvalid, "offset is not a decimal number"},
    {"OffsetEmpty", Offset(""), kInvalid, "offset is not a decimal number"},
    {"OffsetHexadecimal", Offset("0x10"), kInvalid, "offset is not a decimal number"},
    {"OffsetExponent", Offset("1e3"), kInvalid, "offset is not a decimal number"},
    {"OffsetWithSpace", Offset(" 0"), kInvalid, "offset is not a decimal number"},
    {"OffsetWithSign", Offset("+0"), kInvalid, "offset is not a decimal number"},
    {"OffsetOverflows", Offset("18446744073709551616"), kInvalid, "offset is not a decimal number"},
    {"OffsetLargest", Offset("9223372036854775807"), kInvalid, "of a file of 16"},
    {"OffsetBeyondTheEnd", Offset("17"), kInvalid, "of a file of 16"},
    {"RangeBeyondTheEnd", Offset("1"), kInvalid, "of a file of 16"},
    {"LengthNegative", Length("-16"), kInvalid, "length is not a decimal number"},
    {"LengthTooShort", Length("15"), kInvalid, "length is 15, dims and type need 16"},
    {"LengthTooLong", Length("17"), kInvalid, "length is 17"},
    {"LengthOverflows", Length("99999999999999999999"), kInvalid, "length is not a decimal number"},
    {"KeyUnknown", Entries({{"location", "data"}, {"basepath", "/etc"}}), kInvalid,
     "key \"basepath\" is unknown"},
    {"KeyTwice", Entries({{"location", "data"}, {"location", "../secret"}}), kInvalid,
     "key \"location\" is given twice"},
    {"Checksum", Entries({{"location", "data"}, {"checksum", DigestOf(std::string(16, '\0'))}}),
     absl::StatusCode::kOk},
    {"ChecksumDiffers", Entries({{"location", "data"}, {"checksum", DigestOf("other")}}), kInvalid,
     "checksum"},
    {"ChecksumMalformed", Entries({{"location", "data"}, {"checksum", "?"}}), kInvalid, "checksum"},
    {"SameRangeTwice", TwoRanges(16, 16, 0), absl::StatusCode::kOk},
    {"NeighbourRanges", TwoRanges(8, 8, 8), absl::StatusCode::kOk},
    {"OverlappingRanges", TwoRanges(12, 12, 4), kInvalid, "share bytes"},
};

const HostileCase kPlaceCases[] = {
    {"Strings",
     [](const TempFolder& f) {
       return SaveExternal(f, {{"location", "data"}}, Proto::STRING);
     },
     kInvalid, "strings stand in external data"},
    {"InlineToo", EmptyGraph([](onnx::GraphProto& g) {
       Proto& tensor = AddInitializer(g, "w", Proto::FLOAT, {4});
       tensor.set_raw_data(std::string(16, '\0'));
       SetExternal(tensor, {{"location", "data"}});
       AddOutput(g, "w");
     }),
     kInvalid, "inline and in external data"},
    {"Constant", EmptyGraph([](onnx::GraphProto& g) {
       SetExternal(SetTensor(AddNode(g, "Constant", {}, {"y"}), "value", Proto::FLOAT, {4}), kAway);
       AddOutput(g, "y");
     }),
     kInvalid, "leaves the model's folder"},
    {"Attribute", EmptyGraph([](onnx::GraphProto& g) {
       AddInts(g, "shape", {2});
       SetExternal(
           SetTensor(AddNode(g, "ConstantOfShape", {"shape"}, {"y"}), "value", Proto::FLOAT, {1}),
           kAway);
       AddOutput(g, "y");
     }),
     kInvalid, "leaves the model's folder"},
    {"Body", BothBranches([](onnx::GraphProto& body) {
       SetExternal(AddInitializer(body, "w", Proto::FLOAT, {4}), kAway);
       AddOutput(body, "w");
     }),
     kInvalid, "leaves the model's folder"},
    {"FunctionBody", Model([](onnx::ModelProto& m) {
       m.add_opset_import()->set_domain("d");
       m.mutable_opset_import(1)->set_version(1);
       onnx::FunctionProto& f = *m.add_functions();
       f.set_name("f");
       f.set_domain("d");
       f.add_output("y");
       f.add_opset_import()->set_version(kNewestOpset);
       onnx::NodeProto& constant = *f.add_node();
       constant.set_op_type("Constant");
       constant.add_output("y");
       SetExternal(SetTensor(constant, "value", Proto::FLOAT, {4}), kAway);
       onnx::NodeProto& call = AddNode(*m.mutable_graph(), "f", {}, {"z"});
       call.set_domain("d");
       AddOutput(*m.mutable_graph(), "z");
     }),
     kInvalid, "leaves the model's folder"},
    {"SparseInitializer", EmptyGraph([](onnx::GraphProto& g) {
       onnx::SparseTensorProto& sparse = *g.add_sparse_initializer();
       SetExternal(*sparse.mutable_values(), kAway);
       SetExternal(*sparse.mutable_indices(), kAway);
     }),
     kUnimplemented, "sparse"},
    {"SparseConstant", EmptyGraph([](onnx::GraphProto& g) {
       onnx::NodeProto& node = AddNode(g, "Constant", {}, {"y"});
       SetExternal(*AddAttribute(node, "sparse_value", onnx::AttributeProto::SPARSE_TENSOR)
                        .mutable_sparse_tensor()
                        ->mutable_values(),
                   kAway);
       AddOutput(g, "y");
     }),
     kUnimplemented, "SPARSE_TENSOR"},
    {"Training", Model([](onnx::ModelProto& m) {
       SetExternal(
           AddInitializer(*m.add_training_info()->mutable_initialization(), "w", Proto::FLOAT, {4}),
           kAway);
     }),
     kUnimplemented, "training"},
};

HOSTILE_SUITE(HostileExternalTest)
INSTANTIATE_TEST_SUITE_P(Path, HostileExternalTest, testing::ValuesIn(kPathCases), NameOfHostile);
INSTANTIATE_TEST_SUITE_P(Range, HostileExternalTest, testing::ValuesIn(kRangeCases), NameOfHostile);
INSTANTIATE_TEST_SUITE_P(Place, HostileExternalTest, testing::ValuesIn(kPlaceCases), NameOfHostile);

TEST(HostileExternalBytesTest, ModelsFromBytesHaveNoFolder) {
  onnx::ModelProto model = EmptyModel();
  SetExternal(AddInitializer(*model.mutable_graph(), "w", Proto::FLOAT, {4}),
              {{"location", "data"}});
  AddOutput(*model.mutable_graph(), "w");
  const absl::Status status = LoadModelBytes(model.SerializeAsString()).status();
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_NE(status.message().find("came as bytes"), std::string::npos) << status;
}

}  // namespace
}  // namespace onnx_cudnn
