"""Checks that no type of namespace onnx_cudnn is defined in two files: in one program that is undefined behaviour, which neither
compiler nor linker reports. Prints one line per type; exit code 1 if there is any."""

import collections
import pathlib
import re
import sys

from sources import end, sources_of

NOT_CODE = re.compile(
    r"""//(?:\\\n|[^\n])* | /\*.*?\*/             # comments
      | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"      # literals
      | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
      | ^[ \t]*\#(?:\\\n|[^\n])*                  # the preprocessor's lines
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# The text before a { that opens a namespace, and before one that opens a type: attributes, name, bases.
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:\[\[[^\]]*\]\]\s*|(?:alignas|__align__|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*)*"
    r"(?P<name>\w[\w:]*(?:\s*<[^{}()]*>)?)(?:\s+final)?\s*(?::[^:{}][^{}]*)?$"
)


def types_of(text):
    """The qualified names of the types that `text` defines at namespace scope of onnx_cudnn, none of an anonymous namespace."""
    scopes = []  # one per open brace: the name of a namespace; "" if it is anonymous or the brace opens something else
    code = NOT_CODE.sub(" ", text)
    begin = 0
    for mark in re.finditer(r"[{};]", code):
        before, begin = code[begin : mark.start()], mark.end()
        if mark[0] == "}":
            del scopes[-1:]
        elif mark[0] == "{":
            found = TYPE.search(before)
            if found and all(scopes) and "::".join(scopes).startswith("onnx_cudnn"):
                yield "::".join([*scopes, re.sub(r"\s+", "", found["name"])])
            namespace = NAMESPACE.search(before)
            scopes.append(namespace[1] if namespace else "")


def check(root):
    """One line per type that two of the sources under `root` define."""
    files = collections.defaultdict(set)
    for path, text in sources_of(root):
        for name in types_of(text):
            files[name].add(path)
    return [f"{name}: defined in {', '.join(sorted(paths))}: rename all but one" for name, paths in sorted(files.items()) if len(paths) > 1]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]
    end(check(root), "types: each is defined in one file")


if __name__ == "__main__":
    main()
