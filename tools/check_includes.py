"""Checks includes against the table of runtime/README.md. Prints one line per breach; exit code 1 if there is any."""

import pathlib
import re
import sys

from sources import end, sources_of

# room (folder): the rooms that it may include besides itself. A file's room is the longest of these paths that its own path starts with.
ROOMS = {
    "runtime/base": [],
    "runtime/graph": ["runtime/base"],
    "runtime/ops": ["runtime/base", "runtime/graph"],
    "runtime/images": ["runtime/base", "runtime/graph", "runtime/ops"],
    "runtime/import": ["runtime/base", "runtime/graph", "runtime/ops"],
    "runtime/plan": ["runtime/base", "runtime/graph", "runtime/ops"],
    "runtime/exec": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan"],
    "runtime/tune": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan", "runtime/exec"],
    "runtime/cudnn": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan"],
    "runtime/gemm": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan"],
    "runtime/kernels": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan"],
    "passes": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan"],
    "runtime/cuda": ["runtime/base", "runtime/graph", "runtime/ops", "runtime/plan", "runtime/exec"],
}
# The Engines' CUDA halves: each may include its rules.
CUDA_HALVES = [f"runtime/{engine}/cuda" for engine in ("cudnn", "gemm", "kernels")]
for half in CUDA_HALVES:
    ROOMS[half] = [*ROOMS["runtime/cuda"], "runtime/cuda", half.removesuffix("/cuda")]
# Public headers: <onnx_cudnn/NAME.h> and C's <onnx_cudnn….h> in runtime/include. Every room may include PUBLIC_TYPES; only users of Session may include the rest.
PUBLIC = "runtime/include"
PUBLIC_TYPES = ("onnx_cudnn_op.h", "onnx_cudnn/dtype.h", "onnx_cudnn/export.h", "onnx_cudnn/log.h", "onnx_cudnn/progress.h", "onnx_cudnn/result.h")
ROOMS[PUBLIC] = []
for room in ("runtime/session", "runtime/gpu"):
    ROOMS[room] = ["runtime/session", "runtime/gpu", *ROOMS]
ROOMS["runtime/c_api"] = [PUBLIC, "runtime/base", "runtime/graph", "runtime/session"]
ROOMS["runtime/batcher"] = [PUBLIC, "runtime/base", "runtime/session"]
ROOMS["runtime/triton"] = [PUBLIC, "runtime/base"]
ROOMS["tools"] = list(ROOMS)
ROOMS["tests"] = list(ROOMS)
ROOMS["examples"] = [PUBLIC]
ROOMS["python"] = [PUBLIC]

# third-party header: the only places (path prefixes) that may include it
THIRD_PARTY = {
    # the importer, shape inference and the one header between them; tests build models with it
    r"(onnx|google/protobuf)/|runtime/graph/onnx_(types|schemas)\.h": ["runtime/import/", "runtime/graph/infer.cc", "runtime/graph/infer_context.", "runtime/graph/onnx_types.", "runtime/graph/onnx_schemas.", "tests/"],
    r"cblas\.h": ["runtime/ops/", "tests/ops/"],
    r"re2/": ["runtime/ops/regex_full_match.cc"],
    r"utf8proc\.h": ["runtime/ops/string_normalizer.cc"],
    r"(zlib\.h|minizip/|xtensor/)": ["tools/", "tests/tools/", "tests/fuzz/"],
    r"(png|turbojpeg)\.h": ["runtime/images/", "tools/", "tests/tools/", "tests/fuzz/", "tests/ops/"],
    r"(tiffio|openjpeg)\.h|webp/": ["runtime/images/"],
    r"nlohmann/": ["runtime/tune/plan_cache.cc", "runtime/tune/worker_lines.cc", "runtime/session/worker_job.cc", "runtime/triton/", "tools/", "tests/tools/", "tests/triton/"],
    r"triton/core/": ["runtime/triton/triton_api.h"],
    r"nvtx3/": ["runtime/base/nvtx.cc", "tests/base/nvtx_test.cc"],
    r"cudnn_frontend": ["runtime/cudnn/cuda/", "tests/cudnn/cuda/"],
    r"nanobind/": ["python/"],
    r"(cutlass|cute)/": ["runtime/kernels/cuda/"],
    r"(cuda|cudnn|cublas|nvrtc|mma|cooperative_groups|library_types|vector_types)[^/]*\.h|(cuda|cub|thrust)/": [
        *(f"{room}/" for room in ("runtime/cuda", "tests/cuda", *CUDA_HALVES)),
        *(f"tests/{engine}/cuda/" for engine in ("cudnn", "gemm", "kernels")),
        "tests/emulator/",
        "tests/c_api/cuda/",
        "tests/gpu/",
        "examples/bind_cuda.cc",
    ],
}
# third-party header: the only kind of file that may include it, and the largest number of such files
FEW_FILES = {
    r"cudnn_frontend": (".cc", 3),  # half a minute of compile time each, minutes through nvcc
    r"(cutlass|cute)/": (".cu", 1000),
}
STANDARD_HEADER = re.compile(r"[a-z_]+|std(int|def)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def breach(path, header):
    """The rule that `path` breaks by including `header`, or None."""
    if path.startswith(PUBLIC + "/") and not (header.startswith("onnx_cudnn") or STANDARD_HEADER.fullmatch(header)):
        return "a public header includes the standard library only"
    if header in PUBLIC_TYPES:
        return None
    for pattern, places in THIRD_PARTY.items():
        if re.match(pattern, header):
            allowed = any(path.startswith(place) for place in places)
            return None if allowed else f"only {', '.join(places) or 'the CUDA halves'} may"
    room = room_of(path)
    target = PUBLIC if header.startswith("onnx_cudnn") else room_of(header)
    if target is None or target == room:
        return None
    if target not in ROOMS[room]:
        return f"{room} may include {', '.join(ROOMS[room]) or 'no other room'}"
    return None


def few_breaches(includes):
    """One line per breach of FEW_FILES; includes: pairs of path and header."""
    for pattern, (ending, most) in FEW_FILES.items():
        users = sorted({path for path, header in includes if re.match(pattern, header)})
        yield from (f"{path}: includes {pattern}: only {ending} files may" for path in users if not path.endswith(ending))
        if len(users) > most:
            yield f"{', '.join(users)}: include {pattern}: at most {most} files may"


def check(root):
    """One line per breach in the sources under `root`."""
    breaches, includes = [], []
    for path, text in sources_of(root):
        for header in INCLUDE.findall(text):
            includes.append((path, header))
            rule = breach(path, header)
            if rule:
                breaches.append(f"{path}: includes {header}: {rule}")
    return [*breaches, *few_breaches(includes)]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]
    end(check(root), "includes: all as runtime/README.md says")


if __name__ == "__main__":
    main()
