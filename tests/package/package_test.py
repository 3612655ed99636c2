"""The installed package as its users get it: find_package, pkg-config, add_subdirectory, FetchContent, archives.

Environment: BUILD, the build tree that is installed.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import documents
import onnx
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["BUILD"])
CONSUMER = ROOT / "tests/package/consumer"
PROGRAMS = ("onnx-cudnn-run", "onnx-cudnn-opt", "onnx-cudnn-bench", "onnx-cudnn-tune-worker")
MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Cos(x) }'  # of zeros: 1
# What a user's shell has: nothing that points to the build tree.
BARE = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        # What still points to where it was installed is found out.
        cls.prefix = (cls.folder / "first").rename(cls.folder / "moved")
        cls.library = next(cls.prefix.glob("lib*/**/libonnx_cudnn.so")).parent
        cls.model = cls.folder / "cos.onnx"
        onnx.save(onnx.parser.parse_model(MODEL), cls.model)

    def configured(self, how, standard, *options):
        build = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DHOW={how}", f"-DSTANDARD={standard}", f"-DSOURCE={ROOT}",
            "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}", *options)
        return build

    def expect_it_runs(self, consumer, cplusplus):
        self.assertRegex(run(consumer, self.model, env=BARE), rf"^\d+\.\d+\.\d+ {cplusplus} y f32\[2\] 1$")

    def test_find_package_serves_both_standards(self):
        for standard, cplusplus in ((17, 201703), (20, 202002)):
            build = self.configured("package", standard)
            run("cmake", "--build", build)
            self.expect_it_runs(build / "consumer", cplusplus)

    def test_another_minor_version_is_refused(self):
        text = (CONSUMER / "CMakeLists.txt").read_text().replace("find_package(onnx_cudnn 0.1 ", "find_package(onnx_cudnn 0.0 ")
        copy = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (copy / "CMakeLists.txt").write_text(text)
        shutil.copy(CONSUMER / "main.cc", copy)
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", copy, "-B", copy / "build", "-DHOW=package", "-DSTANDARD=17",
                               f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("compatible with requested version", done.stderr)

    def test_pkg_config_serves_a_plain_compiler(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.library / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "onnx_cudnn", env=environment).split()
        consumer = self.folder / "by_hand"
        run("c++", "-std=c++17", CONSUMER / "main.cc", "-o", consumer, *flags, f"-Wl,-rpath,{self.library}")
        self.expect_it_runs(consumer, 201703)
        self.assertRegex(run("pkg-config", "--modversion", "onnx_cudnn", env=environment), r"^\d+\.\d+\.\d+$")

    def test_the_documents_commands_work_as_typed(self):
        pages = [page for page in documents.pages() if documents.script_of(page, "")]
        self.assertLessEqual({"README.md", "c-api.md", "custom-ops.md", "installing.md"}, {page.name for page in pages})
        for page in pages:
            with self.subTest(page.relative_to(ROOT)):
                folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                documents.write_folder(page, folder)
                script = documents.script_of(page, "").replace(documents.PREFIX, str(self.prefix))
                nvcc = pathlib.Path(shutil.which("nvcc") or "/usr/bin/nvcc").parent
                run("bash", "-euxc", script, cwd=folder, env={"PATH": f"/usr/bin:/bin:{nvcc}", "HOME": str(folder)})

    def expect_programs_run(self, prefix):
        for program in PROGRAMS:
            path = prefix / "bin" / program
            self.assertNotIn("not found", run("ldd", path))
            self.assertIn(program, run(path, "--help", env=BARE, cwd="/"))
        self.assertIn("output  y f32[2]", run(prefix / "bin/onnx-cudnn-run", self.model, env=BARE, cwd="/"))

    def test_programs_run_from_any_folder(self):
        self.expect_programs_run(self.prefix)

    def test_only_the_library_has_kernels_and_openblas(self):
        for program in PROGRAMS:
            self.assertNotRegex(run("nm", self.prefix / "bin" / program), r" [tT] \w*gemm_kernel", program)
            sections = run("readelf", "-SW", self.prefix / "bin" / program)
            kernels = re.search(r"\.nv_fatbin\s+\S+\s+\S+\s+\S+\s+(\S+)", sections)
            self.assertLess(int(kernels[1], 16) if kernels else 0, 100_000, program)

    def test_the_soname_is_that_of_the_minor_version(self):
        dynamic = run("readelf", "-d", self.library / "libonnx_cudnn.so")
        self.assertRegex(dynamic, r"SONAME.*\[libonnx_cudnn\.so\.0\.1\]")
        needed = set(re.findall(r"NEEDED.*\[([a-z_+-]+)[^\]]*\.so", dynamic))
        self.assertLessEqual(needed, {"libstdc++", "libm", "libc", "libgcc_s", "ld-linux-x", "libdl", "librt", "libpthread"})

    def test_the_library_has_no_decoders_and_no_allocator(self):
        names = [line.split()[-1] for line in run("nm", self.library / "libonnx_cudnn.so").splitlines()]
        self.assertGreater(len(names), 1000)  # it is not stripped
        self.assertEqual([name for name in names if re.match(r"_?(je_|png_|jpeg_|jinit_|jpeg|tj[A-Z3])", name)], [])

    def test_doctor_names_the_worker_beside_the_library(self):
        done = subprocess.run([self.prefix / "bin/onnx-cudnn-run", "--doctor", "--json"], env=BARE, cwd="/", capture_output=True, text=True, check=False)
        self.assertEqual(json.loads(done.stdout)["tune_worker"], str(self.prefix / "bin/onnx-cudnn-tune-worker"), done.stderr)

    def test_archives_hold_what_is_installed(self):
        packages = self.folder / "packages"
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", packages)
        archive, deb = next(packages.glob("*.tar.gz")), next(packages.glob("*.deb"))
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        run("tar", "-xzf", archive, "-C", unpacked)
        run("dpkg-deb", "-x", deb, unpacked / "deb")
        self.expect_programs_run(next(path for path in unpacked.glob("onnx-cudnn-*") if path.is_dir()))
        self.expect_programs_run(unpacked / "deb/usr")
        fields = run("dpkg-deb", "-f", deb)
        self.assertRegex(fields, r"Depends: .*libc6 \(>= 2\.\d+\), libstdc\+\+6 \(>= \d+")
        names = {p.name for p in (unpacked / "deb/usr").rglob("*")}
        self.assertLessEqual({"onnx_cudnn.h", "session.h", "onnx_cudnn-config.cmake", "onnx_cudnn.pc", "LICENSE", "NOTICES"}, names)
        share = unpacked / "deb/usr/share"
        for program in PROGRAMS[:3]:
            self.assertIn(".TH", (share / f"man/man1/{program}.1").read_text(), program)
            run("bash", "-n", share / "bash-completion/completions" / program)
            self.assertIn(f"#compdef {program}", (share / "zsh/site-functions" / f"_{program}").read_text())

    def test_sources_are_configured_in_a_users_project(self):
        for how in ("add_subdirectory", "FetchContent"):
            self.configured(how, 17, "-DONNX_CUDNN_CUDA=OFF")


if __name__ == "__main__":
    unittest.main()
