#!/usr/bin/env bash
# Builds the programs and the GPU tests and packs them, stripped, into build/onnx-cudnn.tar.gz. The archive runs from any folder of
# a host with a GPU driver and this host's glibc and libstdc++ or later ones: libcudnn and libcublasLt are opened at run time. Packages for users
# are made by cpack (docs/installing.md).
#   tools/package.sh           the preset `release`: every architecture
#   tools/package.sh PRESET    another preset with CUDA: cuda-90a builds faster; not cuda-check, whose kernels are not optimized
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=${1:-release}
programs=(test_gpu test_onnx_backend planted_fault)

setup >&2
cmake --build --preset "$preset" --target installable "${programs[@]}" >&2 || stop "the build failed"
built=build/$preset/bin
if [ "$preset" = cuda ]; then built=build/bin; fi
folder=build/package/onnx-cudnn
rm -rf build/package
mkdir -p "$folder/models" "$folder/tests/e2e"
cmake --install "build/$preset" --strip --prefix "$folder" >&2 || stop "could not install into $folder"
for program in "${programs[@]}"; do
  strip -o "$folder/bin/$program" "$built/$program"
done
cp -r models/tiny models/*.labels "$folder/models/"
cp -r README.md LICENSE docs "$folder/"
cp tools/gpu.sh tools/bench/{builds,peers,torch_peer,onnxruntime_peer,timing,gpu_tests}.py "$folder/"
cp tests/e2e/agreement_test.py tests/e2e/inputs.py "$folder/tests/e2e/"
tar -C build/package -czf build/onnx-cudnn.tar.gz onnx-cudnn
echo "build/onnx-cudnn.tar.gz: $(du -h build/onnx-cudnn.tar.gz | cut -f1), $(cd build/package && find onnx-cudnn -type f | wc -l) files"
