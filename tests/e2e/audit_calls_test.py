"""audit_calls_test.py BUILD: object files of the product call CUDA, cuDNN and cuBLASLt only through the tables of calls.

A bypass could fail without that a test makes it fail. Objects name what they call from outside (nm); the libraries' names may stand in the
tables alone, and where EXCEPTIONS says why.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY_CALL = re.compile(r" U (cu(?:da|dnn|blas)?[A-Z]\w+)$")
CALL_ROW = re.compile(r"^CALL\((\w+)", re.MULTILINE)
# cudnn-frontend's inline code, in two files. It calls our definitions of cuDNN and NVRTC (entry_points.cc), which use the table. The CUDA calls belong to
# its autotuning, its sm_100 kernels and its retention of graphs, which we do not use.
FRONTEND_CALLS = {
    "cudaDeviceGetAttribute", "cudaDeviceSynchronize", "cudaEventCreate", "cudaEventDestroy", "cudaEventElapsedTime", "cudaEventRecord",
    "cudaEventSynchronize", "cudaGetDevice", "cudaGetErrorString", "cudaGetLastError", "cudaGraphRetainUserObject",
    "cudaKernelSetAttributeForDevice", "cudaLaunchKernel", "cudaLibraryGetKernel", "cudaLibraryLoadData", "cudaLibraryUnload",
    "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamGetCaptureInfo", "cudaThreadExchangeStreamCaptureMode", "cudaUserObjectCreate",
    "cudaUserObjectRelease", "cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor", "cudnnBackendExecute",
    "cudnnBackendFinalize", "cudnnBackendGetAttribute", "cudnnBackendSetAttribute", "cudnnGetErrorString", "cudnnGetLastErrorString",
    "cudnnGetStream", "cudnnGetVersion"
}
# {source of an object: calls that it may make without the table}, with the reason
EXCEPTIONS = {
    # Names of error codes, which cannot fail.
    "runtime/cuda/cuda_status.cc": {"cudaGetErrorName", "cudaGetErrorString"},
    "runtime/cudnn/cuda/cudnn_plan.cc": FRONTEND_CALLS,
    "runtime/cudnn/cuda/frontend_graph.cc": FRONTEND_CALLS,
}
TABLES = {"runtime/cuda/cuda_calls.cc": "runtime/cuda/cuda_calls.inc"}


def objects(build):
    """(source, object) of every object file of the product."""
    for object_file in sorted(build.glob("CMakeFiles/*.dir/**/*.o")):
        source = re.sub(r"^.*?\.dir/", "", str(object_file.relative_to(build / "CMakeFiles"))).removesuffix(".o")
        if source.startswith(("runtime/", "passes/", "tools/")):
            yield source, object_file


def calls(object_file):
    names = subprocess.run(["nm", "-u", object_file], check=True, capture_output=True, text=True).stdout.splitlines()
    return {match[1] for line in names if (match := LIBRARY_CALL.search(line))}


def allowed(source):
    if source in TABLES:
        return set(CALL_ROW.findall((ROOT / TABLES[source]).read_text()))
    return EXCEPTIONS.get(source, set())


def main():
    found = {source: calls(object_file) for source, object_file in objects(pathlib.Path(sys.argv[1]))}
    breaches = [f"{source}: calls {name} beside the table of calls" for source, names in found.items() for name in sorted(names - allowed(source))]
    if any(source.endswith(".cu") for source in found):  # a build with CUDA: the table must be among the objects
        table = allowed("runtime/cuda/cuda_calls.cc")
        breaches += [f"runtime/cuda/cuda_calls.inc: nothing calls {name}" for name in sorted(table - found.get("runtime/cuda/cuda_calls.cc", set()))]
    print(f"{len(found)} objects, {sum(map(len, found.values()))} calls of libraries", *breaches, sep="\n")
    sys.exit(bool(breaches) or not found)


if __name__ == "__main__":
    main()
