#!/usr/bin/env bash
# Sets up and runs every test that this host can run. The last line is `N passed, N failed, N skipped`; exit code 1 when any failed.
# What ours refuses as a list says that it does (ops that are not implemented) counts as skipped, and is counted apart in the line before.
#   --quick  leaves out the sanitizer build (it counts as one skipped)
#   --long   adds the tests labelled `slow`, and five minutes of each fuzzer
#   --long=PART  runs one long part alone, after the set-up and the build of what it needs:
#     cases  20,000 generated cases of single ops (tests/cases); goes on where it was stopped, writes its record to tools/bench/results
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

quick=false
long=false
part=
left_out='bench|slow'
for option in "$@"; do
  case $option in
    --quick) quick=true ;;
    --long) long=true left_out=bench ;;
    --long=cases) part=${option#*=} ;;
    *) echo "usage: tools/test.sh [--quick] [--long[=cases]]" >&2; exit 1 ;;
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

# check NAME COMMAND...: a stage that is one test
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

build_fuzzers() {
  install_missing "${fuzz_packages[@]}"
  configure fuzz && build fuzz && build/fuzz/bin/write_corpus build/fuzz/corpus
}

# fuzz NAME: libFuzzer from the corpus; what it finds lies in build/fuzz/findings
fuzz() {
  mkdir -p build/fuzz/findings
  build/fuzz/bin/fuzz_"$1" -max_total_time=300 -timeout=30 -rss_limit_mb=4096 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/findings/"$1"- build/fuzz/corpus/"$1"
}

part_cases() {
  cmake --build --preset "$preset" --target run_cases &&
    $python tests/cases/check.py build/bin/run_cases --count 20000 --state build/cases --record tools/bench/results
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
  check "$part" "part_$part" || true
  finish
fi
check format tools/format.sh --check || true
check includes $python tools/check_includes.py || true
check types $python tools/check_types.py || true
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
  if check 'fuzzer build' build_fuzzers; then
    for name in load pins; do
      check "fuzz $name" fuzz $name || true
    done
  else
    skip fuzzers 'the build failed'
  fi
fi
finish
