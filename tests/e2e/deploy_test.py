"""examples/deploy names what there is: stages, presets, folders, images, flags. Schemas and a linter check the same files in tools/long/deploy.py."""

import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples/deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
MANIFESTS = {file.name: file.read_text() for file in sorted(DEPLOY.glob("*.yaml"))}


def found(pattern, text):
    return re.findall(pattern, text, re.MULTILINE)


class DeployTest(unittest.TestCase):
    def test_what_is_copied_comes_from_an_earlier_stage(self):
        stages = []
        for line in DOCKERFILE.splitlines():
            if from_stage := re.match(r"COPY --from=(\S+)", line):
                self.assertIn(from_stage[1], stages)
            if stage := re.match(r"FROM \S+ AS (\S+)$", line):
                stages.append(stage[1])
        self.assertEqual(stages, ["build", "runtime", "ray", "triton"])
        for name, text in {"Dockerfile": DOCKERFILE, "README.md": (DEPLOY / "README.md").read_text(), **MANIFESTS}.items():
            self.assertLessEqual({*found(r"docker build .*--target (\w+)", text)}, {*stages}, name)

    def test_the_preset_and_the_installed_folders_are_there(self):
        presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        (preset,) = found(r"^ENV ONNX_CUDNN_PRESET=(\w+)", DOCKERFILE)
        self.assertIn(preset, presets)
        self.assertIn(f"cmake --build build/{preset} --target installable", DOCKERFILE)
        (prefix,) = found(r"--prefix (\S+)", DOCKERFILE)
        folders = [source.removeprefix(f"{prefix}/") for source in found(rf"^COPY --from=build ({prefix}/\S+)", DOCKERFILE)]
        self.assertEqual(folders, ["lib/triton/backends/onnx_cudnn/", "lib/libonnx_cudnn.so.*"])
        self.assertIn("${CMAKE_INSTALL_LIBDIR}/triton/backends/onnx_cudnn ", (ROOT / "tools/install.cmake").read_text())
        extras = {extra for extras in found(r"onnx-cudnn\[([\w,]+)\]", DOCKERFILE) for extra in extras.split(",")}
        table = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2].partition("\n[")[0]
        self.assertLessEqual(extras, {*found(r"^(\w+) = ", table)})

    def test_manifests_run_the_images_of_the_dockerfile(self):
        (version,) = found(r"^project\(onnx_cudnn VERSION (\d+\.\d+)\.", (ROOT / "CMakeLists.txt").read_text())
        tags = {f"{tag}:{version}" for tag in found(r"--tag (\S+)", DOCKERFILE)}
        images = {name: {*found(r"^ +image: (\S+)", text)} for name, text in MANIFESTS.items()}
        self.assertEqual(images, {"kserve.yaml": {"onnx-cudnn-triton:0.1"}, "rayservice.yaml": {"onnx-cudnn-ray:0.1"}, "triton.yaml": {"onnx-cudnn-triton:0.1"}})
        self.assertLessEqual(set.union(*images.values()), tags)

    def test_triton_gets_the_same_flags_everywhere(self):
        flags = {*found(r'"(--exit-timeout-secs=\d+|--strict-readiness=true)"', DOCKERFILE)}
        self.assertEqual(len(flags), 2)
        for name in ("triton.yaml", "kserve.yaml"):
            (args,) = found(r"^ +args: \[tritonserver, (.*)\]$", MANIFESTS[name])
            self.assertLessEqual(flags, {*args.split(", ")}, name)
            # What is running ends before Kubernetes kills it.
            (grace,) = {*found(r"terminationGracePeriodSeconds: (\d+)", MANIFESTS[name])}
            self.assertGreater(int(grace), int(re.search(r"timeout-secs=(\d+)", args)[1]), name)

    def test_every_manifest_mounts_a_volume_for_the_plan_cache(self):
        for name in ("kserve.yaml", "triton.yaml"):
            self.assertIn("{name: plans, mountPath: /plans}", MANIFESTS[name])
            self.assertIn("persistentVolumeClaim: {claimName: onnx-cudnn-plans}", MANIFESTS[name])
            self.assertIn("/plans/NAME.json", MANIFESTS[name])
        (plans,) = found(r"plan_cache: (/\w+)/", MANIFESTS["rayservice.yaml"])
        self.assertIn(f"mountPath: {plans}}}", MANIFESTS["rayservice.yaml"])

    def test_a_claim_has_one_layout(self):
        """Triton and KServe read a model repository, Ray Serve the files of models."""
        claims = {name: {*found(r"(?:claimName: |pvc://)([\w-]+)", text)} for name, text in MANIFESTS.items()}
        self.assertEqual(claims["kserve.yaml"], claims["triton.yaml"])
        self.assertEqual(claims["rayservice.yaml"] & claims["triton.yaml"], set())


if __name__ == "__main__":
    unittest.main()
