"""translate.py FOLDER OUT: the .cu, .cuh files of FOLDER and its subfolders as host C++ in OUT (NAME.cu → NAME.cu.cc), for tests/emulator.

Shared variables become references to memory of the block. asm("add.f32 …" : outputs : inputs)
becomes ptx::add_f32(outputs…, inputs…, literal numbers…) of ptx.h. A file that stands here under the name of a .cuh takes its place.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+|alignas\(\d+\)\s+)?((?:unsigned\s+)?[\w:]+)\s+(\w+)\[\];")
STATIC = re.compile(r"__shared__\s+(?:__align__\(\d+\)\s+|alignas\(\d+\)\s+)?([\w:]+(?:\s+(?=\w+\s+\w))?[\w:<>, ]*?)\s+(\w+)((?:\[[^\]]*\])*);")
ASM = re.compile(r"\basm\b(?:\s+volatile)?\s*\(")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[():,]', re.DOTALL)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPERAND = re.compile(r'^\s*(?:\[\w+\]\s*)?"[^"]*"\s*\((.*)\)\s*$', re.DOTALL)


def split_asm(text, begin):
    """The parts of an asm statement between the colons, each split at its commas, and where its parenthesis closes."""
    parts, depth, start = [[]], 0, begin
    for token in TOKEN.finditer(text, begin):
        word = token.group()
        if word == "(":
            depth += 1
        elif word == ")" and depth > 0:
            depth -= 1
        elif depth == 0 and word in ":,)":
            parts[-1].append(text[start : token.start()])
            start = token.end()
            if word == ":":
                parts.append([])
            elif word == ")":
                return parts, token.end()
    raise SystemExit("an asm statement without an end")


def first_instruction(code):
    """The opcode of PTX text as a name, and the numbers among its operands; None: it has no instruction."""
    for line in re.split(r"[;{}]|\\n", code):
        line = re.sub(r"^\s*\w+:(?!:)", "", line).strip()
        if line and not line.startswith("."):
            words = line.split(maxsplit=1)
            numbers = re.findall(r"(?:^|,)\s*(\d+)\s*(?=,|$)", words[1]) if len(words) > 1 else []
            return re.sub(r"\W+", "_", words[0]), numbers
    return None


def call_of(parts):
    code = "".join(STRING.findall(parts[0][0]))
    instruction = first_instruction(code)
    if instruction is None:
        return ";"  # a barrier to the compiler
    name, numbers = instruction
    operands = []
    for part in parts[1:3]:
        operands += [OPERAND.match(operand).group(1).strip() for operand in part if operand.strip()]
    return f"::onnx_cudnn::emulator::ptx::{name}({', '.join(operands + numbers)});"


def replace_asm(text):
    out, at = [], 0
    for match in ASM.finditer(text):
        if match.start() < at:
            continue
        parts, end = split_asm(text, match.end())
        out += [text[at : match.start()], call_of(parts)]
        at = text.index(";", end) + 1
    return "".join(out) + text[at:]


def translate(text):
    text = DYNAMIC.sub(r"\1* const \2 = static_cast<\1*>(::onnx_cudnn::emulator::DynamicShared());", text)
    text = STATIC.sub(
        r"static char \2_tag; using \2_type = \1\3; "
        r"\2_type& \2 = *static_cast<\2_type*>(::onnx_cudnn::emulator::StaticShared(&\2_tag, sizeof(\2_type)));",
        text,
    )
    if "__shared__" in text:
        raise SystemExit("a shared variable that is not understood: " + text[text.index("__shared__") :][:80])
    return replace_asm(text)


def write_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    for source in sorted([*folder.rglob("*.cu"), *folder.rglob("*.cuh")]):
        stand_in = HERE / source.name
        text = stand_in.read_text() if stand_in.exists() else translate(source.read_text())
        suffix = ".cc" if source.suffix == ".cu" else ""
        place = source.relative_to(folder).parent
        write_changed(out / "runtime/kernels/cuda" / place / (source.name + suffix), text)


if __name__ == "__main__":
    main()
