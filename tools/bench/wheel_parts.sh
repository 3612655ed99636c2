#!/usr/bin/env bash
# Brings a wheel that is too large for one call to a GPU host on which a folder outlives the calls.
#   wheel_parts.sh split WHEEL FOLDER [BYTES]    here: FOLDER/00, FOLDER/01, … of at most BYTES (default: 45 MiB), and FOLDER/NAME.whl.sha256
#   wheel_parts.sh join FOLDER KEPT SITE         there, in each call: moves the parts in FOLDER to KEPT; once the wheel is whole, unpacks it into SITE,
#                                                for PYTHONPATH. Exit code 3: parts are missing.
set -euo pipefail

case "${1:-}:$#" in
  split:3 | split:4)
    mkdir -p "$3"
    split --bytes "${4:-$((45 << 20))}" --numeric-suffixes --suffix-length 2 "$2" "$3/"
    env -C "$(dirname "$2")" sha256sum "$(basename "$2")" >"$3/$(basename "$2").sha256"
    ;;
  join:4)
    mkdir -p "$3" "$4"
    site=$(realpath "$4")
    find "$2" -maxdepth 1 -type f \( -name '[0-9][0-9]' -o -name '*.whl.sha256' \) -exec mv -t "$3" {} +
    cd "$3"
    sums=(*.whl.sha256)
    [ -f "${sums[0]}" ] || { echo "wheel_parts.sh: no sum yet; parts: $(echo [0-9][0-9])" >&2; exit 3; }
    wheel=${sums[0]%.sha256}
    cat [0-9][0-9] >"$wheel"
    sha256sum --status --check "${sums[0]}" || { rm "$wheel"; echo "wheel_parts.sh: not whole yet; parts: $(echo [0-9][0-9])" >&2; exit 3; }
    python3 -m zipfile -e "$wheel" "$site"
    echo "wheel_parts.sh: $wheel is in $site"
    ;;
  *)
    sed -n '3,6s/^# *//p' "$0" >&2
    exit 1
    ;;
esac
