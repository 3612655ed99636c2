#!/usr/bin/env bash
# Installs what is missing and configures the preset for this host (choose_preset): system packages, pinned Python packages (build/python)
# and third-party libraries (a cache folder outside the clone). Fast if nothing is missing. Run it, or source it and call `setup`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

system_packages=(
  g++ cmake make ninja-build ccache git ca-certificates python3 python3-dev python3-venv
  libopenblas-pthread-dev libutf8proc-dev libgtest-dev libgmock-dev nlohmann-json3-dev libpng-dev libturbojpeg0-dev libminizip-dev
  libtiff-dev libwebp-dev libopenjp2-7-dev
  libxtensor-dev zlib1g-dev libboost-context-dev libjemalloc-dev pkgconf
)
fuzz_packages=(clang-19 libclang-rt-19-dev)  # only for the preset fuzz
# Clones in other folders share compiled files.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
export ORT_DISABLE_TELEMETRY=1  # onnxruntime, with which tests compare, sends nothing
apt_options=(-qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=1)

stop() {
  echo "setup: $*" >&2
  exit 1
}

# missing_packages NAME...
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || echo "$package"
  done
}

# As root: install_packages NAME...; shows each package as it is set up.
install_packages() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || stop "needs root to install: $*"
    as_root=(sudo -n)
  fi
  echo "setup: installing system packages: $*"
  { "${as_root[@]}" apt-get "${apt_options[@]}" update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}" install --yes --no-install-recommends "$@"; } \
    </dev/null 2>&1 | tee build/setup.log | sed -n 's/^Setting up/setup:/p' ||
    stop "could not install: $*: is this host online? (log: build/setup.log)"
}

# install_missing NAME...
install_missing() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
}

# The text of the first CMake error from our files, otherwise all output.
configure_error() {
  local words
  words=$(awk '/onnx-cudnn:/ { on = 1 } on && /^$/ { exit } on { gsub(/^ +/, ""); printf "%s ", $0 }' build/setup.log)
  if [ -n "$words" ]; then echo "$words"; else cat build/setup.log; fi
}

# Shows our CMake messages and every 50th step of a build.
show_progress() {
  local line
  while IFS= read -r line; do
    case $line in
      '-- onnx-cudnn:'*) echo "setup:${line#-- onnx-cudnn:}" ;;
      '['*[05]0/*) echo "$line" ;;
    esac
  done
}

# configure PRESET
configure() {
  cmake --preset "$1" 2>build/setup.log | show_progress || stop "$(configure_error)"
}

# The preset that this host can build and test: `cuda` with a GPU driver, `cuda-check` (one architecture, little
# optimization) with a CUDA toolkit but no driver, else `cpu`. ONNX_CUDNN_PRESET overrides it.
choose_preset() {
  if [ -n "${ONNX_CUDNN_PRESET:-}" ]; then
    echo "$ONNX_CUDNN_PRESET"
  elif nvidia-smi -L >/dev/null 2>&1; then
    echo cuda
  elif command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    echo cuda-check
  else
    echo cpu
  fi
}
preset=$(choose_preset)

setup() {
  command -v dpkg-query >/dev/null || stop "installs with apt: needs Debian 12 or Ubuntu 24.04"
  mkdir -p build
  install_missing "${system_packages[@]}"
  local stamp
  stamp=$(cat third_party/*.cmake third_party/*/CMakeLists.txt CMakePresets.json | sha256sum)
  if [ ! -f "build/$preset/build.ninja" ] || [ "$(cat "build/$preset/setup.stamp" 2>/dev/null)" != "$stamp" ]; then
    echo "setup: configuring build/$preset"
    configure "$preset"
    mkdir -p "build/$preset"  # if a test replaces cmake
    echo "$stamp" >"build/$preset/setup.stamp"
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  setup
  echo "setup: done, preset $preset; next: cmake --build --preset $preset --target installable"
fi
