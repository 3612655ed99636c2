#!/usr/bin/env bash
# Formats every source with the pinned clang-format; --check changes nothing and fails if a source would change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
  '') mode=(-i) ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 1 ;;
esac
find runtime passes python tools tests examples \( -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 build/python/bin/clang-format --style=file "${mode[@]}"
