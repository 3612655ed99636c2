"""Sections, files, flags, kernels and records that documents and comments name exist."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/bench")]

import check_sizes  # noqa: E402
import table  # noqa: E402

FOLDERS = ("examples", "models", "passes", "runtime", "tests", "tools")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "runtime/README.md", "runtime/kernels/README.md", "models/README.md")
SOURCES = (".h", ".cc", ".cu", ".cuh", ".inc", ".py", ".sh", ".cmake", ".txt")
CITED = re.compile(r"docs/[\w-]+\.md")
SECTIONS = re.compile(r",\s+'([^']+)'(?:(?:,| and)\s+'([^']+)')*")
HEADING = re.compile(r"(?<!\w)'([A-Z][^'\n]{3,70})'(?!\w)")
COMMENT_BREAK = re.compile(r"\n\s*(?://|#)\s*")


def sources():
    """{path below the root: text} of code, scripts and build files."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SOURCES and "results" not in file.parts]
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}


def headings(markdown):
    return set(re.findall(r"^#+ (.+)$", markdown, re.MULTILINE))


def citations(text):
    """(document, sections) for each document that the comments of a source name. If docs/measurements.md is named without a section, all quoted
    headings in the file's comments are its sections."""
    joined = COMMENT_BREAK.sub(" ", text)
    for cited in CITED.finditer(joined):
        if named := SECTIONS.match(joined, cited.end()):
            yield cited.group(), re.findall(r"'([^']+)'", named.group())
        else:
            comments = " ".join(re.findall(r"// ?(.*)", text))
            yield cited.group(), HEADING.findall(comments) if cited.group() == "docs/measurements.md" else []


class CommentsTest(unittest.TestCase):
    def test_sections_that_comments_cite_exist(self):
        missing = []
        for path, text in sources().items():
            if path == "tests/e2e/docs_test.py":
                continue
            for document, sections in citations(text):
                if not (ROOT / document).exists():
                    missing.append(f"{path}: {document}")
                    continue
                there = headings((ROOT / document).read_text(encoding="utf-8"))
                missing += [f"{path}: {document}, '{section}'" for section in sections if section not in there]
                if document == "docs/measurements.md" and not sections:
                    missing.append(f"{path}: {document} without a section")
        self.assertEqual(missing, [])

    def test_citations_are_found_across_lines(self):
        text = "// As measured (docs/measurements.md, 'Kernel\n// boundaries' and 'Stems').\n# see docs/limits.md\n"
        self.assertEqual(list(citations(text)), [("docs/measurements.md", ["Kernel boundaries", "Stems"]), ("docs/limits.md", [])])
        text = ("// Sections are those of docs/measurements.md.\nint x;\n// One's own ('Stems',\n// 'Kernel\n// boundaries').\n"
                "int y;  // 'Residuals'\n")
        self.assertEqual(list(citations(text)), [("docs/measurements.md", ["Stems", "Kernel boundaries", "Residuals"])])

    def test_records_that_comments_name_exist(self):
        missing = [f"{path}: {record}" for path, text in sources().items()
                   for record in re.findall(r"tools/bench/results/[\w.-]+\.(?:json|svg)", text) if not (ROOT / record).exists()]
        self.assertEqual(missing, [])


def documents():
    """{path below the root: text} of README, CONTRIBUTING and docs."""
    files = [ROOT / name for name in PAGES] + sorted((ROOT / "docs").glob("*.md"))
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files if file.exists()}


def newest_records(names):
    """The newest records of each kind (the name before the date): those that contain the latest time, or the date of the name if they contain none."""
    newest = {}  # {kind: (time, names)}
    for name in names:
        kind, day = re.match(r"(.+?)-(20\d\d-\d\d-\d\d)", name).groups()
        time = max(re.findall(r'"(20\d\d-\d\d-\d\dT[\d:]+Z)"', (table.RESULTS / name).read_text()), default=day)
        latest, chosen = newest.get(kind, ("", []))
        if time >= latest:
            newest[kind] = (time, [*chosen, name] if time == latest else [name])
    return {name for _, chosen in newest.values() for name in chosen}


class RecordsTest(unittest.TestCase):
    def test_only_the_newest_and_those_that_are_named_are_kept(self):
        names = [file.name for file in table.RESULTS.glob("*.json")]
        text = "".join([*sources().values(), *documents().values()])
        shown = {record["run"] for record in table.newest_run(table.read_records(table.RESULTS))}
        newest = newest_records(names)
        left_over = [name for name in names if name not in newest and name not in text and not any(run in name for run in shown)]
        self.assertEqual(left_over, [], "git rm them, or name them where they are used")


# A path in the tree with at least one folder; not paths of builds or runs.
PATH = re.compile(r"(?<![\w/.-])(?:docs|examples|models|passes|runtime|tests|third_party|tools|\.ci)/[\w./-]*\w")
MADE = re.compile(r"models/[\w-]+\.(?:onnx|jpg)$")
FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
# Flags of cmake, cpack, GoogleTest, pkg-config, nvcc, pip, tritonserver, curl, docker.
OTHERS_FLAGS = {"build", "install", "prefix", "preset", "config", "gtest_filter", "cflags", "libs", "compress-mode", "no-deps",
                "model-repository", "model-control-mode", "backend-directory", "backend-config", "data-binary", "file", "target", "tag", "rm", "gpus", "volume"}
QUOTE = re.compile(r"<!-- from: (\S+) -->\n```\w*\n(.*?)\n```", re.DOTALL)


def known_flags(texts):
    """Flags that programs and scripts of the tree define with Abseil, argparse or a shell script's `case`."""
    flags = set()
    for path, text in texts.items():
        if path.startswith("tools/") and path.endswith(".cc"):
            flags |= {flag.replace("_", "-") for flag in re.findall(r"ABSL_FLAG\(\s*[^,]+(?:<[^>]*>)?,\s*(\w+)", text)}
            flags |= {"help", "version"}
        if path == "tools/common/foreign_flags.cc":
            flags |= set(re.findall(r"^    \{\"([\w-]+)\", (?:true|false),", text, re.MULTILINE))
        if path == "tools/common/common_flags.cc":
            flags |= set(re.findall(r"\"--([\w-]+)\"", text))
        if path.endswith(".py"):
            flags |= set(re.findall(r"add_argument\(\"--([\w-]+)", text))
        if path.endswith(".sh"):
            flags |= set(re.findall(r"^\s*--([\w-]+)(?:=\w+)?\)", text, re.MULTILINE))
    return flags


def in_order(lines, text):
    """Whether `text` contains all `lines` in this order."""
    place = 0
    for line in lines:
        place = text.find(line, place) + len(line)
        if place < len(line):
            return False
    return True


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        self.pages = {path: text for path, text in documents().items() if path != "CHANGELOG.md"}

    def test_paths_exist(self):
        missing = [f"{page}: {path}" for page, text in self.pages.items() for path in PATH.findall(text)
                   if not page.startswith("runtime/") and not MADE.match(path) and not (ROOT / path).exists()]
        self.assertEqual(missing, [])

    def test_flags_exist(self):
        known = known_flags(sources()) | OTHERS_FLAGS
        missing = [f"{page}: --{flag}" for page, text in self.pages.items() for flag in FLAG.findall(text) if flag not in known]
        self.assertEqual(missing, [])

    def test_links_resolve(self):
        broken = []
        for page, text in documents().items():
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                file, _, section = target.partition("#")
                if target.startswith("https://") or ((ROOT / page).parent / file).exists() and not section:
                    continue
                broken.append(f"{page}: {target}")
        self.assertEqual(broken, [])

    def test_quoted_lines_are_in_the_files_that_they_are_from(self):
        quotes = [(page, *quote) for page, text in self.pages.items() for quote in QUOTE.findall(text)]
        self.assertGreater(len(quotes), 0)
        stale = [f"{page}: {file}" for page, file, block in quotes
                 if not in_order(block.splitlines(), (ROOT / file).read_text(encoding="utf-8"))]
        self.assertEqual(stale, [])

    def test_contributing_names_the_files_that_may_be_longer(self):
        self.assertEqual([file for file in check_sizes.TABLES if f"`{file}`" not in self.pages["CONTRIBUTING.md"]], [])

    def test_readme_fits_two_screens(self):
        self.assertLessEqual(len(self.pages["README.md"].splitlines()), 120)


KERNELS = ROOT / "runtime/kernels"
CAPABILITIES = {"kSm90aCode": "9.0 alone", "kClusters": "9.0 and up", "kMma": "8.0 and up"}  # Kernel::needs in words


def rules_of(name):
    """(file below runtime/kernels, its function) of a kernel in kernels.inc."""
    for file in sorted(KERNELS.glob("*/*.cc")):
        if found := re.search(rf"^Kernel {name}Kernel\(\) .*?^}}", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            return str(file.relative_to(KERNELS)), found.group()
    raise AssertionError(f"no file of runtime/kernels defines {name}Kernel()")


def table_rows(markdown):
    """{first cell without its backquotes: the other cells} of table rows that start with a quoted name."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in rows if len(row) == 6}


class KernelsTest(unittest.TestCase):
    def setUp(self):
        self.rows = table_rows((KERNELS / "README.md").read_text(encoding="utf-8"))
        listed = re.findall(r"^KERNEL\((\w+), (\w+)\)", (KERNELS / "kernels.inc").read_text(), re.MULTILINE)
        self.rules = {name: rules_of(kernel) for kernel, name in listed}

    def test_each_kernel_has_a_row_with_its_rules_and_ops(self):
        self.assertEqual(sorted(self.rows), sorted(self.rules))
        for name, (file, text) in self.rules.items():
            ops, _, capability, rules, _ = self.rows[name]
            self.assertEqual(rules, f"`{file}`", name)
            if needs := re.search(r"\.needs = (k\w+)", text):
                self.assertTrue(capability.startswith(CAPABILITIES[needs.group(1)]), name)
            if literal := re.search(r"\.ops = \{([^}]*)\}", text):
                for op in re.findall(r'"(\w+)"', literal.group(1)):
                    self.assertIn(op, ops, name)

    def test_files_of_code_exist(self):
        missing = [f"{name}: {file}" for name, row in self.rows.items() for file in re.findall(r"`([^`]+)`", row[4])
                   if not any(KERNELS.glob(file))]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
