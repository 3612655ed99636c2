"""The documents' Python, as a reader types it."""

import contextlib
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "package"))

import documents  # noqa: E402


class DocumentsTest(unittest.TestCase):
    def test_python_runs_as_typed(self):
        pages = [page for page in documents.pages() if documents.script_of(page, "python")]
        self.assertLessEqual({"README.md", "python.md"}, {page.name for page in pages})
        for page in pages:
            with self.subTest(page.name), tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as silent:
                documents.write_folder(page, pathlib.Path(folder))
                with contextlib.chdir(folder), contextlib.redirect_stdout(silent):
                    exec(documents.script_of(page, "python"), {"__name__": page.name})


if __name__ == "__main__":
    unittest.main()
