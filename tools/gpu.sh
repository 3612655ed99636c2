#!/usr/bin/env bash
# On a host with a GPU, in the unpacked archive of tools/package.sh: tests, sanitizers, kernels' speed and whole networks next to PyTorch,
# each with a limit of its own, so that one that hangs does not take the others along. What they say lies in OUT; commit the JSON files
# of it under tools/bench/results.
#   gpu.sh OUT COMMIT [PART...]    parts: tests sanitizers kernels networks peers; all when none is named
# Needs libcudnn and libcublasLt where runtime/cuda/find_library.h looks; parts say so otherwise. Models: models/*.onnx (models/make.py).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ $# -ge 2 ] || { echo "usage: gpu.sh OUT COMMIT [PART...]" >&2; exit 1; }
out=$(realpath -m "$1") commit=$2
shift 2
parts=${*:-tests sanitizers kernels networks peers}
run=$(date +%Y-%m-%d)-$commit
failed=0
mkdir -p "$out"

# step NAME SECONDS COMMAND...: its output in OUT/NAME.log
step() {
  local name=$1 limit=$2 code=0 start=$SECONDS
  shift 2
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  [ $code = 0 ] || failed=$((failed + 1))
  echo "$name: exit code $code, $((SECONDS - start)) s"
}

for part in $parts; do
  case $part in
    tests)
      step tests 240 bin/test_gpu --gtest_brief=1
      for model in models/*.onnx; do
        ONNX_CUDNN_MODEL=$model step "partitions-$(basename "$model" .onnx)" 120 bin/test_gpu --gtest_filter='*Partitions*' --gtest_brief=1
      done
      ;;
    sanitizers)
      for tool in memcheck racecheck; do
        step $tool 200 compute-sanitizer --tool $tool --error-exitcode 1 bin/test_gpu --gtest_filter='*CaseRows*_f16_*' --gtest_brief=1
      done
      ;;
    kernels)
      ONNX_CUDNN_SPEED=$out/kernels-$run.json step kernels 120 bin/test_gpu --gtest_filter='*Speed*'
      ;;
    networks)
      for partitioner in greedy cost; do
        step "networks-$partitioner" 200 bin/onnx-cudnn-bench models/resnet18.onnx models/resnet50.onnx --device cuda \
          --precisions fp16,tf32 --batches 1,8,32,256 --partitioner $partitioner --commit "$commit" --run "$run" \
          --output "$out/networks-$partitioner-$run.json"
      done
      ;;
    peers)
      step peers 300 python3 torch_peer.py --run "$run" --output "$out/peers-$run.json"
      ;;
    *) echo "gpu.sh: no part is called $part" >&2; exit 1 ;;
  esac
done
echo "$failed failed; what they said: $out"
[ $failed = 0 ]
