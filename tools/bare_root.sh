#!/usr/bin/env bash
# Checks that a clone needs nothing installed by hand: creates an empty Debian 12 root, clones HEAD into it and runs a command there with
# an empty environment. The root gets this host's package sources, pip settings and certificates, and is kept for further runs.
#   tools/bare_root.sh ROOT [COMMAND]                  default COMMAND: `bash .ci/run`; needs root and debootstrap
#   tools/bare_root.sh --files FOLDER ROOT COMMAND     copies FOLDER instead of cloning, and runs COMMAND in the copy
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

files=
if [ "${1:-}" = --files ] && [ $# -eq 4 ]; then
  files=$(realpath "$2")
  shift 2
fi
[ $# -ge 1 ] || { echo "usage: tools/bare_root.sh [--files FOLDER] ROOT [COMMAND]" >&2; exit 1; }
root=$(realpath -m "$1")
command=${2:-bash .ci/run}

make_root() {
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$root.log" 2>&1 ||
    { tail -3 "$root.log" >&2; exit 1; }
  rm -f "$root/etc/apt/sources.list"
  local file
  for file in /etc/apt/sources.list.d/debian.sources /etc/pip.conf /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt \
    /etc/apt/apt.conf.d/99*; do
    if [ -e "$file" ]; then cp -L "$file" "$root$file"; fi
  done
}

release() {
  umount "$root/dev" "$root/proc" 2>/dev/null || true
}

[ -d "$root/etc" ] || make_root
rm -rf "$root/clone" "$root/files"
start_folder=/clone
if [ -n "$files" ]; then
  start_folder=/files
  cp -r "$files" "$root/files"
else
  git clone --quiet --no-hardlinks . "$root/clone"
fi
trap release EXIT
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
start=$SECONDS code=0
chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd $start_folder && $command" || code=$?
echo "bare root: exit code $code after $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
exit $code
