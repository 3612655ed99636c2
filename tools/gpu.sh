#!/usr/bin/env bash
# Runs on a host with a GPU, in the unpacked archive of tools/package.sh: tests, sanitizers, speed of kernels, and whole networks in
# comparison with peers. Each step has its own time limit, so that one that hangs does not stop the others. Output goes to OUT; commit
# its JSON files under tools/bench/results.
#   gpu.sh OUT COMMIT [PART...]    parts: tests vectors package python models memcheck racecheck kernels networks shapes alternating peers compiled transformers decode real; default: all.
#   On request: wheel builds callers family runs rivals loads triton detectors decoders decode-caches
# What is timed beside peers begins with a control cell (peers.py --control): void if it differs by more than 3 % from ONNX_CUDNN_CONTROL_MS, which is
# what it took in the run to compare with (default: 0, only recorded).
# Needs libcudnn and libcublasLt in a directory that runtime/cuda/find_library.h searches; parts report it if they are missing. Models:
# models/*.onnx (models/make.py and fetch.py); onnxruntime, if its CUDA wheel is installed or unpacked in PYTHONPATH (wheel_parts.sh brings it in parts); vectors: in the directory that test_onnx_backend was built for.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ $# -ge 2 ] || { echo "usage: gpu.sh OUT COMMIT [PART...]" >&2; exit 1; }
out=$(realpath -m "$1") commit=$2
shift 2
parts=${*:-tests vectors package python models memcheck racecheck kernels networks shapes alternating peers compiled transformers decode real}
run=$(date +%Y-%m-%d)-$commit
shards=${ONNX_CUDNN_SHARDS:-8} sanitizer_s=${ONNX_CUDNN_SANITIZER_S:-240}
failed=0
batches=1,2,4,8,32,128,256
peers=(python3 peers.py --bin bin --model-folder models --seconds 1.5 --commit "$commit" --run "$run")
control=(--control "${ONNX_CUDNN_CONTROL_MS:-0}")
mkdir -p "$out/reports"

# step NAME SECONDS COMMAND...: runs the command; its output goes to OUT/NAME.log
step() {
  local name=$1 limit=$2 code=0 start=$SECONDS
  shift 2
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  echo "$name: exit code $code, $((SECONDS - start)) s"
  [ $code = 0 ] || return 1
}

# check STEP...: a step whose failure is counted
check() {
  step "$@" && return
  failed=$((failed + 1))
  return 1
}

# make_models NAME[-SIZE]...: those of models/make.py that are not there
make_models() {
  local model
  for model in "$@"; do
    [ -f "models/$model.onnx" ] || check "make-$model" 100 python3 models/make.py "${model%-*}" --size "$(expr "$model" : '.*-\([0-9]*\)$' '|' 224)" --output "models/$model.onnx"
  done
}

# unittests NAME SECONDS FOLDER MODULE: tests of Python's unittest
unittests() {
  check "$1" "$2" env -C "$3" python3 "$PWD/tests/python/unittest_report.py" "$out/reports/$1.json" "$4"
}

# spread NAME SECONDS PROGRAM OPTION...: runs a test program in several concurrent processes
spread() {
  local name=$1 limit=$2 processes=() process i
  shift 2
  for ((i = 0; i < shards; ++i)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i step "$name-$i" "$limit" "$@" --gtest_brief=1 --gtest_output=json:"$out/reports/$name-$i.json" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process" || failed=$((failed + 1)); done
}

for part in $parts; do
  case $part in
    tests)
      spread tests 300 bin/test_gpu
      for model in models/*.onnx; do
        [ -f "$model" ] || continue
        name=partitions-$(basename "$model" .onnx)
        ONNX_CUDNN_MODEL=$model check "$name" 120 bin/test_gpu --gtest_filter='*TheModelThatIsNamed' --gtest_brief=1 \
          --gtest_output=json:"$out/reports/$name.json"
      done
      for model in resnet18 resnet50; do
        [ -f "models/$model.onnx" ] || continue
        for precision in tf32 fp16; do
          name=sessions-$model-$precision
          ONNX_CUDNN_MODEL=models/$model.onnx ONNX_CUDNN_PRECISION=$precision check "$name" 100 bin/test_gpu \
            --gtest_filter='GpuSession*-*EveryNetwork*' --gtest_brief=1 --gtest_output=json:"$out/reports/$name.json"
        done
      done
      ;;
    vectors)
      spread vectors 300 bin/test_onnx_backend --gtest_filter='*.Cpu/*'
      ;;
    package) # what users get: the C API, the examples, a library of ops, --doctor
      export SCALED_SWISH=$PWD/bin/libscaled_swish.so
      check c-api 100 bin/test_c_api --gtest_filter='CApiGpuTest.*' --gtest_output=json:"$out/reports/c-api.json"
      unittests examples 300 tests/package gpu_archive_test
      check doctor 60 bin/onnx-cudnn-run --doctor
      bin/onnx-cudnn-run --doctor --json >"$out/doctor-$run.json"
      ;;
    python) # torch's warnings are many; the reports have what was skipped and why
      export PYTHONPATH=$PWD/python SCALED_SWISH=$PWD/bin/libscaled_swish.so
      check doctor-python 60 python3 -m onnx_cudnn doctor
      unittests python 300 tests/python gpu_test
      unittests torch 500 tests/python torch_test
      ;;
    wheel) # only if requested: a wheel beside this script, installed as a user installs it, with the CUDA libraries of PyPI's packages
      environment=$(mktemp -d)
      check wheel-environment 60 python3 -m venv "$environment"
      # What this host's Python sees, which may be an environment itself: numpy and torch.
      python3 -c 'import pathlib, numpy; print(pathlib.Path(numpy.__file__).parents[1])' >"$(echo "$environment"/lib/python3*/site-packages)/host.pth"
      check wheel-install 100 "$environment/bin/pip" install --no-index "onnx-cudnn[cuda13] @ file://$(echo "$PWD"/onnx_cudnn-*.whl)"
      installed=(env -u LD_LIBRARY_PATH -u PYTHONPATH SCALED_SWISH="$PWD/bin/libscaled_swish.so" "$environment/bin/python")
      check wheel-doctor 60 "${installed[@]}" -m onnx_cudnn doctor
      for test in gpu torch; do
        check "wheel-$test" 500 env -C tests/python "${installed[@]}" unittest_report.py "$out/reports/wheel-$test.json" ${test}_test
      done
      ;;
    models)
      for model in models/*.onnx; do
        for precision in strict tf32 fp16; do
          check "agreement-$(basename "$model" .onnx)-$precision" 60 python3 tests/e2e/agreement_test.py bin/onnx-cudnn-run \
            "$(basename "$model" .onnx)" --device cuda --precision $precision
        done
      done
      ;;
    memcheck | racecheck) # tools of compute-sanitizer
      sanitizer=(compute-sanitizer --tool "$part" --error-exitcode 9)
      if step "planted-$part" 60 "${sanitizer[@]}" bin/planted_fault "$part"; then
        echo "planted-$part: the planted fault was not found" && failed=$((failed + 1))
      fi
      # The case rows of every kernel, and sequences of launches with the convolutions of networks (racecheck takes minutes for
      # ResNet-50). API errors are not reported: cuBLASLt queries a context that a thread may lack, which is harmless.
      rows='*CaseRows*_f16_*:*Partitions*OfResNet18:*Partitions*OfATransformer'
      if [ "$part" = memcheck ]; then rows+=':*Partitions*OfResNet50'; fi
      ONNX_CUDNN_ENGINE=kernel spread "$part" "$sanitizer_s" "${sanitizer[@]}" --report-api-errors no \
        bin/test_gpu --gtest_filter="$rows"
      ;;
    kernels)
      ONNX_CUDNN_SPEED=$out/kernels-$run.json check kernels 240 bin/test_gpu --gtest_filter='*Speed*'
      ;;
    networks)
      bench=(bin/onnx-cudnn-bench --device cuda --commit "$commit" --run "$run")
      resnets=(models/resnet18.onnx models/resnet50.onnx)
      make_models resnet18 resnet50
      check control 60 "${peers[@]}" --who onnx-cudnn --models resnet50 --batches 1 "${control[@]}" --output "$out/control-$run.json" || continue
      check start-up 60 "${bench[@]}" models/resnet50.onnx --precisions fp16 --batches 1 --seconds 0 --output "$out/start-up-$run.json"
      check networks 120 "${bench[@]}" "${resnets[@]}" --precisions fp16 --batches $batches --seconds 1 --output "$out/networks-$run.json"
      check networks-tf32 120 "${bench[@]}" "${resnets[@]}" --precisions tf32 --batches 1,8,32,256 --seconds 1 \
        --output "$out/networks-tf32-$run.json"
      tuned=("${bench[@]}" "${resnets[@]}" --partitioner cost --tune-budget 60 --plan-cache "$out/plans-$run.json")
      check tuned 300 "${tuned[@]}" --precisions fp16 --batches $batches --seconds 3 --output "$out/tuned-$run.json"
      check tuned-tf32 120 "${tuned[@]}" --precisions tf32 --batches 256 --seconds 1.5 --output "$out/tuned-tf32-$run.json"
      # The second time from the plan cache that the first one wrote.
      check cached 200 "${tuned[@]}" --precisions fp16 --batches $batches --seconds 0.5 --output "$out/cached-$run.json"
      # The steps of what ran: tools/bench/steps.py draws them.
      for batch in 1 256; do
        check "profile-$batch" 60 bash -c "bin/onnx-cudnn-run models/resnet50.onnx --device cuda --precision fp16 --partitioner cost \
          --plan-cache '$out/plans-$run.json' --shape ${batch}x3x224x224 --profile --json >'$out/profile-resnet50-$batch-$run.json'"
      done
      ;;
    shapes) # what a new input shape costs while runs go on: the longest run beyond a steady one, and where the time of building goes
      for precision in fp16 tf32; do
        for first in best quick; do
          name=shapes-$first-$precision
          check "$name" 120 bash -c "bin/onnx-cudnn-run models/PP-OCRv6_det_small.onnx --device cuda --precision $precision --first-program $first \
            --shape 1x3x640x640 --runs 20 --warm-up 3000 --new-shapes 1x3x736x1280,1x3x960x544,1x3x480x480,1x3x1280x736,1x3x320x960,1x3x608x800 \
            --json >'$out/$name-$run.json'"
        done
      done
      ;;
    builds) # only if requested: compares with the programs of another build in before/bin
      check builds 400 python3 builds.py --before before/bin --after bin --commits "${ONNX_CUDNN_BEFORE:-before},$commit" --run "$run" \
        --output "$out/builds-$run.json"
      ;;
    alternating) # the cost search and greedy, tuned, timed in alternation
      bench=(bin/onnx-cudnn-bench --device cuda --commit "$commit" --run "$run")
      alternating=("${bench[@]}" --precisions fp16 --runs 100 --warm-up 100 --partitioner cost --against greedy --tune-budget 10
        --plan-cache "$out/plans-$run.json")
      check alternating-resnets 120 "${alternating[@]}" models/resnet18.onnx models/resnet50.onnx --batches 1,32,256 --output "$out/alternating-resnets-$run.json"
      check alternating-nsfw 60 "${alternating[@]}" models/open-nsfw.onnx --shapes Nx224x224x3 --batches 1,16 --output "$out/alternating-nsfw-$run.json"
      check alternating-det 60 "${alternating[@]}" models/PP-OCRv6_det_small.onnx --batches 1,16 --shapes Nx3x640x640 --output "$out/alternating-det-$run.json"
      check alternating-rec 60 "${alternating[@]}" models/PP-OCRv6_rec_small.onnx --batches 1,16 --shapes Nx3x48x320 --output "$out/alternating-rec-$run.json"
      ;;
    peers) # for comparison with the networks of the same run
      make_models resnet50
      check peers 300 "${peers[@]}" "${control[@]}" --who torch,torch-graph,onnxruntime-cuda --batches 1,8,32,256 --output "$out/peers-$run.json"
      ;;
    compiled) # few batches only, because each takes minutes; again with the same ONNX_CUDNN_INDUCTOR_CACHE=FOLDER it goes on where its time was over
      [ -z "${ONNX_CUDNN_INDUCTOR_CACHE:-}" ] || peers+=(--inductor-cache "$ONNX_CUDNN_INDUCTOR_CACHE")
      make_models resnet50
      check compiled 560 "${peers[@]}" "${control[@]}" --who torch-compile --models ${ONNX_CUDNN_COMPILE_MODELS:-resnet18,resnet50} \
        --batches "${ONNX_CUDNN_COMPILE_BATCHES:-1,256}" --compile-seconds "${ONNX_CUDNN_COMPILE_S:-300}" --output "$out/compiled-$run.json"
      ;;
    callers) # only if requested: runs of 1, 2, 4 and 8 callers at once, ours and torch's in one run
      make_models resnet50
      check callers 560 "${peers[@]}" "${control[@]}" --who "${ONNX_CUDNN_CALLERS_WHO:-onnx-cudnn,torch-graph}" --models "${ONNX_CUDNN_CALLERS_MODELS:-resnet18,resnet50}" \
        --batches 1,2,4,8 --threads 1,2,4,8 --bench-flags "--partitioner cost --tune-budget 20 --plan-cache $out/plans-callers-$run.json" \
        --output "$out/callers-$run.json"
      ;;
    family) # only if requested: the other ResNets, tuned, beside torch; at most five minutes. Sizes and batches: ONNX_CUDNN_FAMILY=resnet50-192 ONNX_CUDNN_FAMILY_BATCHES=3,17,64
      models=${ONNX_CUDNN_FAMILY:-resnet34,resnet101,resnet152,wide_resnet50_2,resnext50_32x4d}
      make_models resnet50 ${models//,/ }
      check family 300 "${peers[@]}" "${control[@]}" --who "${ONNX_CUDNN_FAMILY_WHO:-onnx-cudnn,torch-graph}" --models "$models" \
        --batches "${ONNX_CUDNN_FAMILY_BATCHES:-1,32}" --bench-flags "--partitioner cost --tune-budget ${ONNX_CUDNN_TUNE_S:-8}" --output "$out/family-$run.json"
      ;;
    runs) # only if requested: 3,000 runs of every network have equal bits
      ONNX_CUDNN_NETWORK_RUNS=1500 check runs 560 bin/test_gpu --gtest_filter='*EveryNetwork*' --gtest_output=json:"$out/reports/runs.json"
      ;;
    rivals) # only if requested: kernels that can do the same work, ONNX_CUDNN_RIVALS_FILTER='*Rivals*.Encoders' some of them
      ONNX_CUDNN_RIVALS=$out/rivals-$run.json check rivals 500 bin/test_gpu --gtest_filter="${ONNX_CUDNN_RIVALS_FILTER:-*Rivals*}"
      ;;
    transformers) # exported here by torch; tuned, and as they start
      models=${ONNX_CUDNN_TRANSFORMERS:-bert_base,vit_b_16,swin_t,convnext_tiny,whisper_small_encoder}
      for model in ${models//,/ }; do
        [ -f "models/$model.onnx" ] || check "export-$model" 60 python3 models/torch_networks.py "$model" --output "models/$model.onnx"
      done
      make_models resnet50
      transformers=(--models "$models" --batches "${ONNX_CUDNN_TRANSFORMER_BATCHES:-1,32}")
      check transformers 200 "${peers[@]}" --who onnx-cudnn "${transformers[@]}" --output "$out/transformers-$run.json"
      tuned="--partitioner cost --tune-budget ${ONNX_CUDNN_TUNE_S:-10} --plan-cache $out/plans-transformers-$run.json"
      check transformers-tuned 540 "${peers[@]}" --who "${ONNX_CUDNN_TRANSFORMER_PEERS:-onnx-cudnn,torch-reduce-overhead}" "${transformers[@]}" \
        "${control[@]}" --bench-flags "$tuned" --output "$out/transformers-tuned-$run.json"
      # The second time from the plan cache that the first one wrote.
      check transformers-cached 200 "${peers[@]}" --who onnx-cudnn "${transformers[@]}" --bench-flags "$tuned" --output "$out/transformers-cached-$run.json"
      ;;
    decode) # one step of a language model of 1.1e9 parameters; the model is made here
      export PYTHONPATH=$PWD/python
      decode=(python3 decode.py --commit "$commit" --run "$run" --batches "${ONNX_CUDNN_DECODE_BATCHES:-1,16}")
      check decode 540 "${decode[@]}" --output "$out/decode-$run.json" --folder models/decoder
      check decode-int4 200 "${decode[@]}" --int4 --who onnx-cudnn --output "$out/decode-int4-$run.json" --folder models/decoder-int4
      ;;
    decode-caches) # only if requested: the same over several lengths of caches, by onnx-cudnn alone; at most four minutes each
      export PYTHONPATH=$PWD/python
      caches=(--cache "${ONNX_CUDNN_DECODE_CACHES:-1024,2048,4096,8192}" --batches "${ONNX_CUDNN_DECODE_BATCHES:-1,4,16}" --who onnx-cudnn --tune-budget 6 --seconds 0.3)
      for bits in ${ONNX_CUDNN_DECODE_BITS:-fp16 int4}; do
        [ "$bits" = int4 ] && four=(--int4) || four=()
        check "decode-caches-$bits" 240 python3 decode.py --commit "$commit" --run "$run" "${caches[@]}" "${four[@]}" --plan-cache "$out/plans-decode-$run.json" \
          --output "$out/decode-caches-$bits-$run.json" --folder "models/decoder${four:+-int4}"
      done
      ;;
    loads) # only if requested: requests at random times over one GPU, and over all of the host
      for devices in 0 all; do
        check "loads-$devices" 200 bin/onnx-cudnn-bench models/resnet50.onnx --device cuda --devices $devices --precisions fp16 --p99 20 --max-batch 32 \
          --threads 8 --seconds 1 --commit "$commit" --run "$run" --output "$out/loads-$devices-$run.json"
      done
      ;;
    triton) # only if requested: through a real tritonserver, whose wheel and its clients' (build/python/triton-packages.txt) are in triton-wheels beside this script
      environment=$(mktemp -d)
      check triton-environment 60 python3 -m venv "$environment"
      check triton-install 200 "$environment/bin/pip" install --no-index --no-deps triton-wheels/*.whl
      TRITON_BACKEND=$PWD/lib/triton/backends/onnx_cudnn check triton 300 env -C tests/triton "$environment/bin/python" gpu_load.py "$PWD/models/resnet50.onnx" \
        --bin "$PWD/bin" --names "${ONNX_CUDNN_TRITON_NAMES:-input,logits}" --commit "$commit" --run "$run" --output "$out/triton-$run.json"
      ;;
    detectors) # only if requested: models whose shapes depend on data, models/detectors/NAME.onnx, and NAME.npz with inputs and onnxruntime's outputs (models/verified.py)
      for data in models/detectors/*.npz; do
        name=$(basename "$data" .npz)
        check "$name" 120 bash -c "bin/onnx-cudnn-run '${data%.npz}.onnx' --device cuda --precision strict --verify '$data' --runs 20 --warm-up 500 --json \
          >'$out/$name-strict-$run.json'"
      done
      ;;
    decoders) # only if requested: 200 steps of decoders whose cache grows, compared with onnxruntime's, or with the CPU device's where it is missing
      PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} ONNX_CUDNN_DEVICE=cuda ONNX_CUDNN_RECORD=$out/decoders-cuda-$run.json \
        unittests decoders 500 tests/python decoder_test
      ;;
    real) # third-party models, tuned, compared with onnxruntime
      make_models resnet50
      check real 540 "${peers[@]}" "${control[@]}" --who onnx-cudnn,onnxruntime-cuda --models open-nsfw,PP-OCRv6_det_small,PP-OCRv6_rec_small --batches 1,16 \
        --precisions fp16,tf32 --bench-flags "--partitioner cost --tune-budget 10 --plan-cache $out/plans-$run.json" --output "$out/real-$run.json"
      ;;
    *) echo "gpu.sh: unknown part $part" >&2; exit 1 ;;
  esac
done
if compgen -G "$out/reports/*.json" >/dev/null || compgen -G "$out/agreement-*.log" >/dev/null; then
  python3 gpu_tests.py "$out/reports" --commit "$commit" --run "$run" --output "$out/tests-$run.json"
fi
echo "$failed steps failed; output: $out"
[ $failed = 0 ]
