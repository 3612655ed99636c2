"""What documents and comments name is there: sections, files, flags, kernels and records."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("examples", "models", "passes", "runtime", "tests", "tools")
SOURCES = (".h", ".cc", ".cu", ".cuh", ".inc", ".py", ".sh", ".cmake", ".txt")
CITED = re.compile(r"docs/[\w-]+\.md")
SECTIONS = re.compile(r",\s+'([^']+)'(?:(?:,| and)\s+'([^']+)')*")
COMMENT_BREAK = re.compile(r"\n\s*(?://|#)\s*")


def sources():
    """{path below the root: text} of code, scripts and build files."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SOURCES and "results" not in file.parts]
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}


def headings(markdown):
    return set(re.findall(r"^#+ (.+)$", markdown, re.MULTILINE))


def citations(text):
    """(document, sections) for each time that comments of a source name a document."""
    joined = COMMENT_BREAK.sub(" ", text)
    for cited in CITED.finditer(joined):
        named = SECTIONS.match(joined, cited.end())
        yield cited.group(), re.findall(r"'([^']+)'", named.group()) if named else []


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

    def test_records_that_comments_name_exist(self):
        missing = [f"{path}: {record}" for path, text in sources().items()
                   for record in re.findall(r"tools/bench/results/[\w.-]+\.(?:json|svg)", text) if not (ROOT / record).exists()]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
