#!/usr/bin/env bash
# tools/run.sh            sets up, builds, and runs a real model on a real photograph
# tools/run.sh ARGS       sets up, builds, and runs onnx-cudnn-run ARGS (tools/run.sh --help)
caller=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup >&2
cmake --build --preset "$preset" --target onnx-cudnn-run onnx-cudnn-opt onnx-cudnn-tune-worker >&2 || stop "the build failed"
run=$PWD/build/bin/onnx-cudnn-run

if [ $# -gt 0 ]; then
  cd "$caller"
  exec "$run" "$@"
fi
build/python/bin/python models/fetch.py open-nsfw photo >&2
echo "Is this photograph safe for work? models/open-nsfw.onnx on models/photo.jpg:"
exec "$run" models/open-nsfw.onnx --input models/photo.jpg --image open-nsfw --top 2 --labels models/open-nsfw.labels --runs 10
