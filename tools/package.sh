#!/usr/bin/env bash
# Builds the programs, the examples, the Python module and the GPU tests and packs them, stripped, into build/onnx-cudnn.tar.gz. The archive runs from any folder of
# a host with a GPU driver and this host's glibc and libstdc++ or later ones: libcudnn and libcublasLt are opened at run time. Packages for users
# are made by cpack (docs/installing.md).
#   tools/package.sh           the preset `release`: every architecture
#   tools/package.sh PRESET    another preset with CUDA: cuda-90a builds faster; not cuda-check, which is little optimized
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=${1:-release}
examples=(run_model run_model_c classify serve dynamic_batch batch bind_cuda embed)
programs=(test_gpu test_onnx_backend planted_fault test_c_api "${examples[@]}")

# newest_python: the newest Python from 3.12 on that can build modules
newest_python() {
  local python
  for python in python3.{14,13,12} ~/.pyenv/versions/3.{14,13,12}*/bin/python3; do
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null || continue
    "$python" -c 'import sys; print(sys.executable)' && return
  done
  return 1
}

# pack_python_module: the Python package beside the library, for any Python from 3.12 on
pack_python_module() {
  local python package=$folder/python/onnx_cudnn
  python=$(newest_python) || { echo "no Python from 3.12 on with headers: the archive has no Python module" >&2; return; }
  cmake -G Ninja -S python -B build/python-module -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$python" -Donnx_cudnn_ROOT="$PWD/$folder" &&
    cmake --build build/python-module && mkdir -p "$package" && strip -o "$package/_core.abi3.so" build/python-module/_core.abi3.so &&
    cp python/onnx_cudnn/*.py "$package" && ln -s ../../bin ../../include "$package"
}

setup >&2
cmake --build --preset "$preset" --target installable scaled_swish "${programs[@]}" >&2 || stop "the build failed"
built=build/$preset/bin
if [ "$preset" = cuda ]; then built=build/bin; fi
folder=build/archive/onnx-cudnn
rm -rf build/archive
mkdir -p "$folder/models" "$folder/tests/e2e"
cmake --install "build/$preset" --strip --prefix "$folder" >&2 || stop "could not install into $folder"
for program in "${programs[@]}"; do
  strip -o "$folder/bin/$program" "$built/$program"
done
strip -o "$folder/bin/libscaled_swish.so" "build/$preset/examples/libscaled_swish.so"
pack_python_module >&2 || stop "could not build the Python module"
cp -r models/tiny models/*.labels models/{make,torch_networks,make_decoder,make_genai_decoder}.py "$folder/models/"
cp -r README.md LICENSE docs "$folder/"
cp tools/gpu.sh tools/bench/{builds,peers,torch_peer,onnxruntime_peer,decode,timing,gpu_tests}.py tools/bench/wheel_parts.sh "$folder/"
mkdir "$folder/tests/package" "$folder/tests/python"
mkdir "$folder/tests/triton"
cp tests/triton/{server,gpu_load}.py "$folder/tests/triton/"
cp tests/package/gpu_archive_test.py "$folder/tests/package/"
cp -r tests/python/{unittest_report,models,gpu_test,torch_test,decoder_test}.py tests/python/decoders "$folder/tests/python/"
cp tests/e2e/agreement_test.py tests/e2e/inputs.py "$folder/tests/e2e/"
tar -C build/archive -czf build/onnx-cudnn.tar.gz onnx-cudnn
echo "build/onnx-cudnn.tar.gz: $(du -h build/onnx-cudnn.tar.gz | cut -f1), $(cd build/archive && find onnx-cudnn -type f | wc -l) files"
