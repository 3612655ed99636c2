"""Checks that files and functions are short. Prints one line per breach; exit code 1 when there is any.

A file has at most 400 lines, a function at most 60. Tables may be longer: TABLES, named in CONTRIBUTING.md too. Functions of
device code (`__global__`, `__device__`) may be longer too.
"""

import ast
import pathlib
import re

from sources import FOLDERS, end

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
CPP = (".h", ".c", ".cc", ".cu", ".cuh")
# Files that consist of one table: neither the file nor the function that builds the table has a length limit.
TABLES = ("runtime/ops/pointwise_rows.cc", "tests/cuda/fake_cuda.cc", "tests/emulator/ptx.h")

# Strings, characters and comments: may contain braces that are not code. Replaced by the same number of lines.
NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
DEVICE = re.compile(r"\b__(global|device)__\b")
CALL = re.compile(r"([\w:~]+|operator\W+)\s*\(")


def cpp_functions(text):
    """(name, first line, lines) of each function for the host in C++ `text`: a brace after a parameter list, outside of any other function."""
    text = NOT_CODE.sub(lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"^\s*#.*(?:\\\n.*)*", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE)
    depth, function, begin = [], None, 0
    for m in re.finditer(r"[{};]", text):
        if m[0] == ";":
            begin = m.end() if function is None else begin
        elif m[0] == "{":
            head = text[begin:m.start()]
            opens = function is None and not SCOPE.search(re.sub(r"template\s*<[^{}]*?>\s", "", head)) and CALL.search(head)
            if opens:
                start = begin + len(head) - len(head.lstrip())
                function = (len(depth), CALL.search(head)[1].strip(), text.count("\n", 0, start) + 1, DEVICE.search(head))
            depth.append(m[0])
            begin = m.end() if function is None else begin
        elif depth:
            depth.pop()
            if function is not None and function[0] == len(depth):
                _, name, first, is_device = function
                if not is_device:
                    yield name, first, text.count("\n", 0, m.start()) + 2 - first
                function = None
            begin = m.end() if function is None else begin


def python_functions(text):
    """The same in Python `text`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_text(path, text):
    """One line per breach in the file `path`, relative to the root."""
    if path in TABLES:
        return
    lines = text.count("\n")
    if lines > MOST_FILE_LINES:
        yield f"{path}: {lines} lines, at most {MOST_FILE_LINES}"
    functions = python_functions(text) if path.endswith(".py") else cpp_functions(text)
    for name, line, length in functions:
        if length > MOST_FUNCTION_LINES:
            yield f"{path}:{line}: {name} has {length} lines, at most {MOST_FUNCTION_LINES}"


def check(root):
    """One line per breach in the sources under `root`."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (*CPP, ".py") and file.is_file():
                yield from check_text(file.relative_to(root).as_posix(), file.read_text())


def main():
    end(list(check(pathlib.Path(__file__).parents[1])), "sizes: files and functions are short")


if __name__ == "__main__":
    main()
