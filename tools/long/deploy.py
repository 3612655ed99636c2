"""deploy.py [options]: checks examples/deploy. The Dockerfile by hadolint, and, where a Docker daemon answers, its image `runtime` is built and run. Manifests by
kubernetes-validate: kinds of Kubernetes itself as they are; of the others, whose schemas it does not have, the pods that they hold. What names something
(a volume, a port, labels) names something that is there. Uses an environment that it makes in build/deploy once (build/python/deploy-packages.txt)."""

import copy
import json
import shutil
import subprocess
import sys
import tempfile

from environment import environment
from part import ROOT, Part, fingerprint, git, parser_of

DEPLOY = ROOT / "examples/deploy"
PINS = ROOT / "build/python/deploy-packages.txt"
IMAGE = "onnx-cudnn-deploy-test"
READ = "import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)"
VALIDATE = """
import json, sys, kubernetes_validate as k
try:
    k.validate(json.load(sys.stdin), k.latest_version(), strict=True)
except (k.ValidationError, k.SchemaNotFoundError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def command(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)


def pods(value):
    """The specs of pods within a manifest: dicts with a list of containers."""
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        for inner in value.values():
            yield from pods(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pods(inner)


def pod_of(spec):
    """A Pod of a spec; of KServe's, the fields that are a pod's."""
    fields = {key: spec[key] for key in ("containers", "initContainers", "volumes", "securityContext", "terminationGracePeriodSeconds") if key in spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": fields}


def parts_with_schemas(manifest):
    """The manifest itself, or, where its kind is an extension's, the pods in it."""
    group = manifest["apiVersion"].rpartition("/")[0]
    is_extension = "." in group and not group.endswith("k8s.io")
    return [pod_of(spec) for spec in pods(manifest)] if is_extension else [manifest]


def refusal(python, manifest):
    """Why the schemas refuse a manifest; empty: they do not."""
    for checked in parts_with_schemas(manifest):
        done = command(python, "-c", VALIDATE, input=json.dumps(checked))
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
    return ""


def dangling(manifests):
    """What is named and is not there: volumes, claims, ports, labels."""
    claims = {m["metadata"]["name"] for m in manifests if m["kind"] == "PersistentVolumeClaim"}
    labels = [m["spec"]["template"]["metadata"]["labels"] for m in manifests if m["kind"] == "Deployment"]
    specs = [spec for m in manifests for spec in pods(m)]
    ports = {port["name"] for spec in specs for c in spec["containers"] for port in c.get("ports", []) if "name" in port}
    for spec in specs:
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        for container in spec["containers"]:
            yield from (f"volume {mount['name']}" for mount in container.get("volumeMounts", []) if mount["name"] not in volumes)
            probes = [container[key]["httpGet"]["port"] for key in container if key.endswith("Probe") and "httpGet" in container[key]]
            yield from (f"port {port}" for port in probes if isinstance(port, str) and port not in ports)
        named = [volume["persistentVolumeClaim"]["claimName"] for volume in spec.get("volumes", []) if "persistentVolumeClaim" in volume]
        yield from (f"claim {name}" for name in named if claims and name not in claims)
    for manifest in manifests:
        if manifest["kind"] == "Service":
            yield from (f"port {port['targetPort']}" for port in manifest["spec"]["ports"] if port["targetPort"] not in ports)
        if manifest["kind"] in ("Service", "PodDisruptionBudget", "Deployment"):
            selector = manifest["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            if not any(wanted.items() <= found.items() for found in labels):
                yield f"labels {wanted}"


def check_manifest(python, file):
    manifests = json.loads(command(python, "-c", READ, file).stdout)
    for manifest in manifests:
        if why := refusal(python, manifest):
            raise AssertionError(f"{manifest['kind']}: {why}")
        if not parts_with_schemas(manifest):
            continue
        planted = copy.deepcopy(manifest)
        for spec in [*pods(planted)] or [planted["spec"]]:
            spec["containers" if "containers" in spec else "planted"] = [{"nome": "planted"}]
        if not refusal(python, planted):
            raise AssertionError(f"{manifest['kind']}: a planted fault is not found")
    if missing := list(dangling(manifests)):
        raise AssertionError(f"named, but not there: {', '.join(missing)}")
    return {"kinds": [m["kind"] for m in manifests], "without_schema": [m["kind"] for m in manifests if not parts_with_schemas(m)]}


def check_lint(python):
    hadolint = python.parent / "hadolint"
    done = command(hadolint, "--no-color", DEPLOY / "Dockerfile")
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    with tempfile.NamedTemporaryFile("w", suffix="Dockerfile") as planted:
        planted.write((DEPLOY / "Dockerfile").read_text() + "\nRUN cd /tmp\n")
        planted.flush()
        if command(hadolint, planted.name).returncode == 0:
            raise AssertionError("a planted fault is not found")
    return {}


def check_image():
    if shutil.which("docker") is None or command("docker", "info").returncode != 0:
        return {"skipped": "no Docker daemon answers"}
    built = command("docker", "build", "--file", DEPLOY / "Dockerfile", "--target", "runtime", "--tag", IMAGE, ROOT)
    if built.returncode != 0:
        raise AssertionError(built.stderr[-3000:])
    # 5: there is no GPU.
    done = command("docker", "run", "--rm", IMAGE)
    if done.returncode not in (0, 5):
        raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return {}


def main():
    options = parser_of(__doc__).parse_args()
    part = Part("deploy", options)
    python = environment(ROOT / "build/deploy/environment", PINS)
    image = f"build and run Dockerfile at {git('rev-parse', 'HEAD')}"  # of the whole tree
    units = {"lint Dockerfile": lambda: check_lint(python), image: check_image}
    units |= {file.name: lambda file=file: check_manifest(python, file) for file in sorted(DEPLOY.glob("*.yaml"))}
    key = fingerprint(*sorted(DEPLOY.iterdir()), PINS)

    def work(unit):
        try:
            return units[unit.removeprefix(f"{key}-")]()
        except AssertionError as error:
            return {"error": str(error)}

    answers = part.run([f"{key}-{unit}" for unit in units], work)
    named = {unit.removeprefix(f"{key}-"): answer for unit, answer in answers.items()}
    failed = [f"{unit}: {answer['error']}" for unit, answer in named.items() if "error" in answer]
    for unit, answer in answers.items():
        if "error" in answer or "skipped" in answer:
            part.forget(unit)
    skipped = sum("skipped" in answer for answer in named.values())
    sys.exit(part.finish(len(named) - len(failed) - skipped, failed, len(units) - len(named), {"units": named}, skipped))


if __name__ == "__main__":
    main()
