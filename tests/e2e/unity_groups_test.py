"""Tests of tools/unity_groups.py: which sources are compiled as one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/unity_groups.py"

HELPER = """namespace onnx_cudnn {
namespace {
constexpr int kBlock = 4, kLanes = 8;
struct Range {};
enum { kFirst, kSecond };
int Twice(int x) { return 2 * x; }
}  // namespace
}  // namespace onnx_cudnn
"""


class UnityGroups(unittest.TestCase):
    def groups(self, texts, targets=None):
        """The names of the sources of each group."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in texts.items():
                (folder / name).write_text(text)
            lines = [f"{target} {folder / name}" for target, names in (targets or {"room": texts}).items() for name in names]
            (folder / "list").write_text("\n".join(lines))
            printed = subprocess.run([sys.executable, SCRIPT, folder / "list"], capture_output=True, text=True, check=True).stdout
        groups = {}
        for line in printed.splitlines():
            file, group = line.split()
            groups.setdefault(group, []).append(pathlib.Path(file).name)
        return sorted(groups.values())

    def test_sources_without_common_names_share_a_group(self):
        self.assertEqual(self.groups({"a.cc": HELPER, "b.cc": "int Other() { return 1; }\n"}), [["a.cc", "b.cc"]])

    def test_a_name_declared_in_one_and_mentioned_in_another_keeps_them_apart(self):
        for use in ("kBlock", "kLanes", "Range", "kSecond", "Twice"):
            with self.subTest(use):
                self.assertEqual(self.groups({"a.cc": HELPER, "b.cc": f"auto x = {use};\n"}), [])

    def test_comments_and_strings_do_not_mention(self):
        self.assertEqual(self.groups({"a.cc": HELPER, "b.cc": 'const char* x = "Twice";  // kBlock\n'}), [["a.cc", "b.cc"]])

    def test_names_outside_unnamed_namespaces_do_not_matter(self):
        self.assertEqual(self.groups({"a.cc": "int Twice();\n", "b.cc": "int y = Twice();\n"}), [["a.cc", "b.cc"]])

    def test_a_group_has_at_most_eight_sources_of_one_target(self):
        names = [f"{i:02}.cc" for i in range(12)]
        texts = dict.fromkeys(names, "int x();\n")
        self.assertEqual(self.groups(texts), [names[:8], names[8:]])
        self.assertEqual(self.groups(texts, {"a": names[:2], "b": names[1:4]}), [names[:2], names[2:4]])


if __name__ == "__main__":
    unittest.main()
