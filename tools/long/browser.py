"""browser.py BINARIES: the pages of --report in a headless Chromium, from disk: of onnx-cudnn-opt ResNet-50 and a model of 5,000 nodes, of onnx-cudnn-run a small one.

The page opens (all scripts ran, the graph is drawn) in under 3 s, a search answers in under 100 ms, a click shows rules, each tab draws, and a node's name that is
HTML stays text. A script at the page's end tries these and leaves its findings in the document. Screenshots of each tab, light and dark: FOLDER/MODEL-TAB.png, to be looked at.
"""

import html
import json
import pathlib
import re
import subprocess
import sys

from part import ROOT, Part, parser_of

BROWSER = "chromium-headless-shell"
HOSTILE = "</script><script>window.injected = 1</script><img src=x onerror='window.injected = 1'>"
NODES = {"chain": 5000, "measured": 50}  # resnet50 is made by models/make.py
WORDS = {"resnet50": "layer3.2", "chain": "layer730 matmul", "measured": "layer7 matmul"}
TABS = ("graph", "timeline", "roofline", "memory", "formats", "versions")
OPENINGS = 3  # the fastest counts: what else runs on the host takes seconds
MOST_OPEN_MS, MOST_SEARCH_MS = 3000, 100

# Runs after the page's own scripts; times are from the beginning of the navigation.
TRY = """
<pre id="findings"></pre><script>
draw();
const findings = {open_ms: performance.now(), partitions: state.program.partitions.length, boxes: boxes.length, measured: state.program.measuredSteps};
const before = performance.now();
const input = document.getElementById('search');
input.value = WORD;
findings.found = showFound(input).length;
findings.search_ms = performance.now() - before;
const edges = state.program.edges, edge = edges.find(e => e.refusals && e.refusals.length) || edges[0];
showEdge(edge);
findings.rule_is_shown = document.getElementById('details').textContent.includes(edge.offer ? us(edge.offer.us) : edge.refusals[0].says);
const several = state.program.partitions.find(p => p.nodes.length > 1);
if (several) { toggle(several); findings.opened = boxes.length - findings.boxes - several.nodes.length + 1; toggle(several); } else findings.opened = 0;
const begun = performance.now();
showWhole(); draw();
findings.whole_ms = performance.now() - begun;
const first = state.program.partitions[0];
focusOn(first); select(null);
const at = view.apply([first.x, first.yShown]), corner = canvas.getBoundingClientRect();
canvas.dispatchEvent(new MouseEvent('click', {clientX: corner.x + at[0], clientY: corner.y + at[1], bubbles: true}));
findings.clicked = state.selected === first;
findings.name_is_text = document.getElementById('details').textContent.includes(first.nodes[0]) && !window.injected && document.images.length === 0;
findings.drawn = {};
for (const [tab] of TABS) { showTab(tab); findings.drawn[tab] = document.getElementById(tab).querySelectorAll('canvas, rect.part, circle, td').length; }
document.getElementById('findings').textContent = JSON.stringify(findings);
</script>"""


# For screenshots: a partition is open, and one is selected.
SHOW = """<script>
setTheme(DARK); showTab('TAB');
const several = state.program.partitions.findIndex(p => p.nodes.length > 1);
if (several >= 0) toggle(state.program.partitions[several]);
select(state.program.partitions[Math.min(several + 1, state.program.partitions.length - 1)]);
</script>"""


def browse(page, *flags):
    command = [BROWSER, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1500,950", "--host-resolver-rules=MAP * ~NOTFOUND", *flags]
    return subprocess.run([*command, f"file://{page.resolve()}"], capture_output=True, text=True, check=True, timeout=120).stdout


def with_script(page, name, script):
    changed = page.with_name(f"{page.stem}-{name}.html")
    changed.write_text(page.read_text().replace("</body>", f"{script}</body>"))
    return changed


def write_chain(path, count):
    """Products, activations and sums in turn, with names as exporters give them, but for the first."""
    import onnx
    from onnx import TensorProto, helper

    nodes, last = [], "x"
    for i in range(count):
        op = ("MatMul", "Relu", "Add", "Softmax", "Sigmoid")[i % 5]
        inputs = [last, "w"] if op in ("MatMul", "Add") else [last]
        last = f"value{i}"
        nodes.append(helper.make_node(op, inputs, [last], f"/block{i // 50}/layer{i // 5}/{op}" if i else HOSTILE))
    square = helper.make_tensor_value_info
    weight = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.01] * 64 * 64)
    graph = helper.make_graph(nodes, "chain", [square("x", TensorProto.FLOAT, [64, 64])], [square(last, TensorProto.FLOAT, [64, 64])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_page(name, binaries, model, page):
    if name in NODES:
        write_chain(model, NODES[name])
    else:
        subprocess.run([sys.executable, ROOT / "models/make.py", name, "--output", model], check=True)
    command = ["onnx-cudnn-run", "--device", "cpu"] if name == "measured" else ["onnx-cudnn-opt", "--explain", "--target", "h200"]
    subprocess.run([binaries / command[0], model, *command[1:], "--report", page], check=True, stdout=subprocess.DEVNULL)


def faults_of(findings):
    """What is wrong, as texts; none: nothing is."""
    faults = []
    if findings["open_ms"] > MOST_OPEN_MS:
        faults.append(f"opens in {findings['open_ms']:.0f} ms")
    if findings["search_ms"] > MOST_SEARCH_MS:
        faults.append(f"searches for {findings['search_ms']:.0f} ms")
    if findings["boxes"] != findings["partitions"] or findings["opened"] != 0:
        faults.append("not one box per partition, or per op of an opened one")
    if findings["found"] == 0 or not findings["rule_is_shown"] or not findings["clicked"]:
        faults.append("a search, the rules of an edge or a click show nothing")
    if not findings["name_is_text"]:
        faults.append("the name of a node is not shown as text")
    return faults + [f"{tab} is empty" for tab, drawn in findings["drawn"].items() if drawn == 0 and tab != "formats"]


def try_model(name, binaries, folder):
    folder.mkdir(parents=True, exist_ok=True)
    model, page = folder / f"{name}.onnx", folder / f"{name}.html"
    write_page(name, binaries, model, page)
    tried = with_script(page, "tried", TRY.replace("WORD", json.dumps(WORDS[name])))
    texts = [re.search(r'<pre id="findings">(.*?)</pre>', browse(tried, "--dump-dom"), re.DOTALL)[1] for _ in range(OPENINGS)]
    if not all(texts):
        return {"faults": ["a script of the page failed"]}
    findings = min((json.loads(html.unescape(text)) for text in texts), key=lambda found: found["open_ms"])
    for theme in ("light", "dark"):
        for tab in TABS:
            shown = with_script(page, "shown", SHOW.replace("DARK", json.dumps(theme == "dark")).replace("TAB", tab))
            browse(shown, "--virtual-time-budget=5000", f"--screenshot={folder / f'{name}-{tab}-{theme}.png'}")
    faults = faults_of(findings)
    if (name == "measured") != (findings["measured"] > 0):
        faults.append(f"{findings['measured']} steps are measured")
    return {**findings, "faults": faults}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("binaries", type=pathlib.Path)
    options = parser.parse_args()
    part = Part("browser", options)
    folder = options.folder or ROOT / "build/browser"
    answers = part.run(list(WORDS), lambda name: try_model(name, options.binaries, folder))
    failed = [f"{name}: {fault}" for name, answer in answers.items() for fault in answer["faults"]]
    wrong = {name for name, answer in answers.items() if answer["faults"]}
    for name in wrong:
        part.forget(name)
    return part.finish(len(answers) - len(wrong), failed, len(WORDS) - len(answers), {"pages": answers})


if __name__ == "__main__":
    sys.exit(main())
