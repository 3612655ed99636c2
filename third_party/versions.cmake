# Every pinned version and hash, and nothing else. A change here rebuilds what it names.
# System packages (Protobuf, OpenBLAS, GoogleTest, libpng, libjpeg-turbo, nlohmann-json) come with the distribution: tools/setup.sh.

# Sources that we build: Python source packages, name==version and the archive's sha256.
set(ONNX_SOURCE "onnx==1.23.2")
set(ONNX_SOURCE_SHA256 008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8)
set(ABSEIL_SOURCE "grpcio==1.85.1")  # Abseil 20260526 lies in its third_party/abseil-cpp
set(ABSEIL_SOURCE_SHA256 5f530287d5de5f7f66089ead81de44f6787162944dab3922efa65dfdff108a1d)
