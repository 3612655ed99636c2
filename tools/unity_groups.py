"""unity_groups.py LIST: which sources may be compiled as one (CMake's UNITY_GROUP). LIST has lines `TARGET FILE`; prints lines `FILE GROUP`.

Sources of one target share a group unless one of them mentions a name that another declares in an unnamed namespace: compiled as one, the name would
stand for both. A group has at most 8 sources; a source that fits into none is left out.
"""

import pathlib
import re
import sys

MOST = 8
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
UNNAMED = re.compile(r"\bnamespace \{")
BRACES = re.compile(r"[{}]")
NESTED = re.compile(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]")
ENUMERATORS = re.compile(r"\benum(?: \w+)?(?: : [\w:]+)? \{([^}]*)\}")
DECLARED = re.compile(r"[\w>&*]\s+[&*]*([A-Za-z]\w*)\s*[@=;,]|,\s*(\w+)\s*=|\b(?:struct|class|enum|union|using)\s+(\w+)")


def unnamed_namespaces(text):
    """What stands in them."""
    for start in UNNAMED.finditer(text):
        depth = 1
        for brace in BRACES.finditer(text, start.end()):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                yield text[start.end() : brace.start()]
                break


def declared(text):
    """The names that `text`, without comments and strings, declares in unnamed namespaces, and a few more."""
    names = set()
    for flat in unnamed_namespaces(text):
        for enumerators in ENUMERATORS.findall(flat):
            names.update(re.findall(r"\w+", enumerators))
        nested = 1
        while nested:
            flat, nested = NESTED.subn("@", flat)
        names.update(name for names_found in DECLARED.findall(flat) for name in names_found if name)
    return names


class Source:
    def __init__(self, file):
        text = NOISE.sub(" ", pathlib.Path(file).read_text())
        self.file = file
        self.mentioned = set(re.findall(r"\w+", text))
        self.declared = declared(text)

    def fits(self, group):
        return len(group) < MOST and not any(self.declared & other.mentioned or other.declared & self.mentioned for other in group)


def groups_of(sources):
    """Lists of sources: each is put into the first group where it fits."""
    groups = []
    for source in sources:
        group = next((group for group in groups if source.fits(group)), None)
        if group is None:
            groups.append(group := [])
        group.append(source)
    return groups


def main():
    targets = {}
    grouped = set()
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        target, file = line.split(" ", 1)
        if file not in grouped:  # the group of a file is the same in all of its targets
            grouped.add(file)
            targets.setdefault(target, []).append(Source(file))
    for target, sources in targets.items():
        for i, group in enumerate(groups_of(sources)):
            for source in group if len(group) > 1 else []:
                print(f"{source.file} {target}_{i}")


if __name__ == "__main__":
    main()
