#!/usr/bin/env bash
# Sets up and runs every test that this host can run. The last line is `N passed, N failed, N skipped`; exit code 1 if any failed.
# Expected refusals (ops listed as not implemented) count as skipped; the line before the last has their number.
#   --quick  leaves out the sanitizer build, which then counts as one skipped test
#   --long   adds the tests labelled `slow` and, one after another, every long part
#   --long=PART  runs only one long part, after the set-up and the build of what it needs. A call takes at most 40 minutes on two cores
#   (ONNX_CUDNN_LONG_MINUTES; a started unit is finished). Units that it did not reach count as skipped, and the same command continues there:
#   answers are stored in build/PART/state until their inputs change. A complete part writes its record to tools/bench/results.
#     tsan     the tests of plans, tuning, executors, sessions and batches under ThreadSanitizer (preset cpu-tsan)
#     fuzz     nine minutes of each fuzzer (preset fuzz, libFuzzer); findings in build/fuzz/findings (copy each to tests/fuzz/regressions/NAME before you fix it)
#     soak     100,000 Runs over 50 sets of input shapes by 8 threads, with flat memory (tests/soak)
#     mutants  each mutant of tools/mutants.txt, which the tests must kill (tools/mutate.py; uses the committed tree)
#     cases    20,000 generated cases of single ops (tests/cases)
#     vectors  the test vectors of the present and of five older wheels of ONNX (downloads 80 MB once)
#     wheel    the Python wheel without CUDA: built, checked by auditwheel, run in an empty environment
#     torch    torch.compile(backend="onnx_cudnn") and the package beside torch, onnxruntime and onnx in one process (downloads 3 GB once)
#     triton   the backend in a real tritonserver: its tests, and a minute of requests at random times (ONNX_CUDNN_LOAD_SECONDS; downloads 90 MB once)
#     ray      Ray Serve and Ray Data with the package, in network namespaces, and the same load, whose answers are checked (downloads 250 MB once)
#     deploy   examples/deploy: the Dockerfile and the manifests
#     browser  the pages of --report in a headless Chromium (installs chromium-headless-shell)
#     zoo      models of 271 architectures, built by their exporters, each scored and compared with models/zoo.json (downloads 4 GB once)
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

quick=false
long=false
part=
parts=(tsan fuzz soak mutants cases vectors wheel torch triton ray deploy browser zoo package)
left_out='bench|slow'

usage() {
  local names
  names=$(IFS='|' && echo "${parts[*]}")
  echo "usage: tools/test.sh [--quick] [--long | --long=$names]" >&2
  exit 1
}

for option in "$@"; do
  case $option in
    --quick) quick=true ;;
    --long) long=true left_out=bench ;;
    --long=*)
      part=${option#*=}
      [[ " ${parts[*]} " == *" $part "* ]] || usage
      ;;
    *) usage ;;
  esac
done
passed=0 failed=0 skipped=0 refused=0
stage_minutes=()
python=build/python/bin/python

# stage NAME COMMAND...: runs it, prints its minutes, returns its exit code
stage() {
  local name=$1 start=$SECONDS code=0
  shift
  echo "== $name"
  "$@" || code=$?
  stage_minutes+=("$(awk -v s=$((SECONDS - start)) -v n="$name" 'BEGIN { printf "%6.1f min  %s", s / 60, n }')")
  return $code
}

# check NAME COMMAND...: a stage that counts as one test
check() {
  if stage "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "failed: $1" >&2
    return 1
  fi
}

# skip NAME REASON: a stage that is not run
skip() {
  echo "skipped: $1: $2"
  skipped=$((skipped + 1))
}

build() {
  cmake --build --preset "$1"
}

build_with_sanitizers() {
  configure cpu-asan && build cpu-asan
}

# Long parts. Each ends with the file build/PART/counts. In part_NAME, "$@" are the options for all parts.
part_tsan() {
  configure cpu-tsan && build cpu-tsan &&
    $python tools/long/tsan.py "$@" build/cpu-tsan/bin/test_{plan,tune,exec,session,batcher}
}

part_fuzz() {
  install_missing "${fuzz_packages[@]}"
  configure fuzz && build fuzz && build/fuzz/bin/write_corpus build/fuzz/corpus &&
    $python tools/long/fuzz.py "$@" build/fuzz/bin build/fuzz/corpus
}

part_soak() {
  cmake --build --preset "$preset" --target soak && $python tools/long/soak.py "$@" build/bin/soak
}

part_mutants() {
  $python tools/mutate.py "$@" --preset "$preset"
}

part_cases() {
  cmake --build --preset "$preset" --target run_cases &&
    $python tests/cases/check.py "$@" build/bin/run_cases --count 20000
}

part_vectors() {
  cmake --build --preset "$preset" --target test_onnx_backend && $python tools/long/vectors.py "$@" build/bin/test_onnx_backend
}

part_wheel() {
  $python tools/long/wheel.py "$@" cmake.define.ONNX_CUDNN_CUDA=OFF
}

part_torch() {
  cmake --build --preset "$preset" --target _core && $python tools/long/torch_backend.py "$@" build/python-package
}

part_deploy() {
  $python tools/long/deploy.py "$@"
}

part_triton() {
  cmake --build --preset "$preset" --target triton_onnx_cudnn onnx-cudnn-bench &&
    $python tools/long/triton.py "$@" --load-seconds "${ONNX_CUDNN_LOAD_SECONDS:-60}" "build/$preset/triton/onnx_cudnn" build/bin/onnx-cudnn-bench
}

part_ray() {
  cmake --build --preset "$preset" --target _core &&
    $python tools/long/ray_serve.py "$@" --seconds "${ONNX_CUDNN_LOAD_SECONDS:-60}" build/python-package
}

part_browser() {
  install_missing chromium-headless-shell fonts-dejavu-core
  cmake --build --preset "$preset" --target onnx-cudnn-run onnx-cudnn-opt && $python tools/long/browser.py "$@" build/bin
}

part_zoo() {
  cmake --build --preset "$preset" --target onnx-cudnn-run onnx-cudnn-opt && $python tools/long/score_zoo.py "$@" build/bin
}

part_package() {
  cmake --build --preset "$preset" --target installable && $python tools/long/package.py "$@" "build/$preset"
}

# run_part NAME: a stage that counts the units of a long part
run_part() {
  local minutes=${ONNX_CUDNN_LONG_MINUTES:-40} p f s r
  rm -f "build/$1/counts"
  stage "$1" "part_$1" --folder "build/$1" --deadline $(($(date +%s) + minutes * 60)) --results tools/bench/results || true
  if read -r p f s r 2>/dev/null <"build/$1/counts"; then
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) refused=$((refused + r))
  else
    failed=$((failed + 1))
    echo "failed: $1 did not come to its end" >&2
  fi
}

# run_tests NAME FOLDER CTEST-OPTION...: a stage that counts each of its tests
run_tests() {
  local name=$1 folder=$2 report=$PWD/build/$1.xml
  shift 2
  rm -rf "$report" "$folder/reports"
  stage "$name" ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure --no-tests=error --progress --output-junit "$report" "$@" || true
  local counts
  if counts=$($python tools/count_tests.py "$report" "$folder/reports"); then
    read -r p f s r <<<"$counts"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) refused=$((refused + r))
  else
    failed=$((failed + 1))
    echo "failed: $name gave no report" >&2
  fi
}

finish() {
  printf '%s\n' "minutes per stage:" "${stage_minutes[@]}"
  echo "expected refusals, among the skipped: $refused"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $failed = 0 ]
  exit
}

stage setup setup
if [ -n "$part" ]; then
  run_part "$part"
  finish
fi
check format tools/format.sh --check || true
check includes $python tools/check_includes.py || true
check types $python tools/check_types.py || true
check sizes $python tools/check_sizes.py || true
if check build build "$preset"; then
  run_tests tests "build/$preset" -LE "$left_out"
else
  skip tests 'the build failed'
fi
if $quick; then
  skip sanitizers --quick
elif check 'sanitizer build' build_with_sanitizers; then
  run_tests sanitizers build/cpu-asan -L 'unit|golden' -LE "$left_out"
else
  skip sanitizers 'the build failed'
fi
if $long; then
  for part in "${parts[@]}"; do run_part "$part"; done
fi
finish
