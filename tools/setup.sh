#!/usr/bin/env bash
# Brings this host to where the preset `cpu` is configured: system packages, pinned Python packages (build/python) and third-party
# libraries (a cache folder outside the clone). Quick when nothing is missing. Run it, or source it and call `setup`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

system_packages=(
  g++ cmake ninja-build ccache git ca-certificates python3 python3-venv
  libopenblas-pthread-dev libprotobuf-dev protobuf-compiler libgtest-dev nlohmann-json3-dev libpng-dev libturbojpeg0-dev libminizip-dev
  libxtensor-dev zlib1g-dev
)
fuzz_packages=(clang-16 libclang-rt-16-dev)  # of the preset fuzz alone
# Clones in other folders share compiled files.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
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

# The words of CMake's first error of ours, else all that it said.
configure_error() {
  local words
  words=$(awk '/onnx-cudnn:/ { on = 1 } on && /^$/ { exit } on { gsub(/^ +/, ""); printf "%s ", $0 }' build/setup.log)
  if [ -n "$words" ]; then echo "$words"; else cat build/setup.log; fi
}

# Shows what CMake says of ours and every 50th step of a build.
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

setup() {
  command -v dpkg-query >/dev/null || stop "installs with apt: needs Debian 12 or Ubuntu 24.04"
  mkdir -p build
  install_missing "${system_packages[@]}"
  local stamp
  stamp=$(cat third_party/*.cmake third_party/source/CMakeLists.txt CMakePresets.json | sha256sum)
  if [ ! -f build/cpu/build.ninja ] || [ "$(cat build/setup.stamp 2>/dev/null)" != "$stamp" ]; then
    echo "setup: configuring build/cpu"
    configure cpu
    echo "$stamp" >build/setup.stamp
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then setup; fi
