"""plots.py [--check]: draws results/latency.svg and results/steps.svg from the records in tools/bench/results.

latency.svg: milliseconds of a run over the batch size, from the newest run (as in table.py), one panel per model and precision in which programs can be
compared; readings of another run (records whose "run" is "reading") are dashed. steps.svg: the newest steps-*.json, each step's time and its roofline's
floor. Without these records a picture is not drawn. --check writes nothing and exits with 1 if one differs from the records.
"""

import argparse
import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

import table

READING = "reading"
WIDTH = 880
COLORS = {"onnx-cudnn": "#2f81f7", "onnx-cudnn, tuned": "#2da44e", "torch": "#a371f7", "torch-graph": "#db6d28", "torch-compile": "#bf8700",
          "onnxruntime-cuda": "#e5534b"}
OTHER_COLOR = "#7d8590"
# The card has its own background, so that it is legible if the page's theme differs from the browser's.
STYLE = """<style>
text { font: 12px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 13px } .small { font-size: 10.5px } .quiet { fill: #59636e }
.end { text-anchor: end } .middle { text-anchor: middle }
.card { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #d1d9e0; stroke-width: 1 }
.time { fill: #9ec5fe } .floor { fill: #0550ae } .predicted { fill: none; stroke: #59636e; stroke-dasharray: 3 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .grid { stroke: #3d444d }
.time { fill: #1f4f8f } .floor { fill: #79c0ff } .predicted { stroke: #9198a1 }
}
</style>"""


def text(x, y, words, classes=""):
    return f'<text x="{x:g}" y="{y:g}"' + (f' class="{classes}"' if classes else "") + f">{escape(words)}</text>"


def rect(x, y, width, height, classes):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" class="{classes}"/>'


def picture(height, title, items):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    card = f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="card"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, card, text(20, 26, title, "title"), *items, "</svg>", ""])


class LogAxis:
    """Pixels of numbers from `low` to `high`, which lie at `start` and `end`."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def round_numbers(low, high):
    """1, 2 and 5 times powers of ten, from the last below `low` to the first above `high`."""
    numbers = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]
    return [n for i, n in enumerate(numbers[1:-1], 1) if numbers[i + 1] > low and numbers[i - 1] < high]


def lines_of(records):
    """{(model, precision): {program's label: {batch: median_ms}}}, where a panel has a program other than ours."""
    panels = {}
    for record in sorted(records, key=lambda r: (r["run"] == READING, r["who"] != table.OURS, table.program(r))):
        if name := table.program(record):
            label = f"{name} (another run)" if record["run"] == READING else name
            panels.setdefault((record["model"], record["precision"]), {}).setdefault(label, {})[record["batch"]] = record["median_ms"]
    return {key: panels[key] for key in sorted(panels) if any(not label.startswith(table.OURS) for label in panels[key])}


def color(label):
    return COLORS.get(label.removesuffix(" (another run)"), OTHER_COLOR)


def dashes(label):
    return ' stroke-dasharray="5 4"' if label.endswith("(another run)") else ""


def latency_panel(left, top, width, height, title, lines):
    batches = sorted({batch for line in lines.values() for batch in line})
    times = [ms for line in lines.values() for ms in line.values()]
    ticks = round_numbers(min(times), max(times))
    x = LogAxis(batches[0], batches[-1], left + 52, left + width - 24)
    y = LogAxis(ticks[0], ticks[-1], top + height - 36, top + 24)
    items = [text(left + 52, top + 10, title, "title")]
    for tick in ticks:
        items.append(f'<path d="M{x.start:g} {y(tick):.1f}H{x.end:g}" class="grid"/>')
        items.append(text(x.start - 8, round(y(tick) + 4, 1), f"{tick:g}", "small quiet end"))
    items += [text(round(x(batch), 1), y.start + 16, str(batch), "small quiet middle") for batch in batches]
    items.append(text((x.start + x.end) / 2, y.start + 31, "batch", "small quiet middle"))
    items.append(text(left + 14, top + 10, "ms", "small quiet"))
    for label, line in lines.items():
        points = [(round(x(batch), 1), round(y(ms), 1)) for batch, ms in sorted(line.items())]
        path = "L".join(f"{px:g} {py:g}" for px, py in points)
        items.append(f'<path d="M{path}" fill="none" stroke="{color(label)}" stroke-width="2"{dashes(label)}/>')
        items += [f'<circle cx="{px:g}" cy="{py:g}" r="3" fill="{color(label)}"/>' for px, py in points]
    return items


def legend(labels, top):
    items, x = [], 20
    for label in labels:
        items.append(f'<path d="M{x:g} {top - 4:g}h22" stroke="{color(label)}" stroke-width="2"{dashes(label)}/>')
        items.append(text(x + 28, top, label))
        x += 50 + 6.6 * len(label)
    return items


def latency_plot(records):
    """The SVG, or None without records of a run with a peer."""
    run = table.newest_run(records)
    panels = lines_of(run + [r for r in records if run and r["run"] == READING])
    if not panels:
        return None
    ours = next(r for r in run if r["who"] == table.OURS)
    title = f"Latency against batch on one {ours['device']}: median ms of a run, data on the device; run {ours['run']}"
    items = legend(dict.fromkeys(label for lines in panels.values() for label in lines), 52)
    columns = min(2, len(panels))
    for index, ((model, precision), lines) in enumerate(panels.items()):
        row, column = divmod(index, columns)
        items += latency_panel(column * WIDTH / columns, 84 + 320 * row, WIDTH / columns, 310, f"{model}, {precision}", lines)
    return picture(84 + 320 * -(-len(panels) // columns), title, items)


def steps_panel(left, top, width, plan):
    steps, bars, row = plan["steps"], left + 138, 17
    scale = (width - 138 - 112) / max(max(step["us"], step["floor_us"]) for step in steps)
    total, floor = (sum(step["times"] * step[key] for step in steps) for key in ("us", "floor_us"))
    title = f"{plan['model']}, {plan['precision']}, batch {plan['batch']}: {total:,.0f} µs, floors {floor:,.0f}"
    items = [text(left + 20, top, title, "title")]
    for index, step in enumerate(steps):
        y = top + 12 + row * index
        label = step["node"] + (f" ×{step['times']}" if step["times"] > 1 else "")
        items.append(text(bars - 6, y + 10, label, "small end"))
        items.append(rect(bars, y + 1, scale * step["us"], 11, "time" if step["measured"] else "predicted"))
        items.append(rect(bars, y + 5, scale * step["floor_us"], 3, "floor"))
        longest = scale * max(step["us"], step["floor_us"])
        digits = 1 if step["us"] < 20 else 0
        figures = f"{step['us']:.{digits}f} / {step['floor_us']:.{digits}f}  {step['engine']}"
        items.append(text(round(bars + longest + 5, 1), y + 10, figures, "small quiet"))
    return items, top + 12 + row * len(steps)


def steps_plot(content):
    """The SVG of one steps-*.json."""
    title = f"Each step next to its roofline's floor on one {content['device']}, µs of one launch; run {content['run']}"
    timed = content.get("timed", "measured by the tuner")  # by steps.py before it read profiles
    wider = 70 if "timed" in content else 0
    items = [rect(20, 43, 22, 11, "time"), text(48, 53, timed), rect(200 + wider, 47, 22, 3, "floor"), text(228 + wider, 53, "floor")]
    if not all(step["measured"] for plan in content["plans"] for step in plan["steps"]):
        items += [rect(290 + wider, 43, 22, 11, "predicted"), text(318 + wider, 53, "predicted, not measured")]
    columns = max(1, min(2, len(content["plans"])))
    bottom = 72
    for first in range(0, len(content["plans"]), columns):
        drawn = [steps_panel(column * WIDTH / columns, bottom + 18, WIDTH / columns, plan)
                 for column, plan in enumerate(content["plans"][first : first + columns])]
        items += [item for panel, _ in drawn for item in panel]
        bottom = max(end for _, end in drawn)
    return picture(bottom + 14, title, items)


def newest_steps(folder):
    """The content of the steps-*.json of the latest date, or None."""
    files = sorted(pathlib.Path(folder).glob("steps-*.json"))
    return max((json.loads(file.read_text()) for file in files), key=lambda content: (content["date"], content["run"]), default=None)


def plots(folder):
    """{file name: SVG} of what the records of a folder can show."""
    steps = newest_steps(folder)
    made = {"latency.svg": latency_plot(table.read_records(folder)), "steps.svg": steps_plot(steps) if steps else None}
    return {name: svg for name, svg in made.items() if svg}


def stale(folder):
    """Names of the plots in a folder that differ from its records."""
    made = {pathlib.Path(folder, name): svg for name, svg in plots(folder).items()}
    return [file.name for file, svg in made.items() if not file.exists() or file.read_text(encoding="utf-8") != svg]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check:
        for name, svg in plots(table.RESULTS).items():
            (table.RESULTS / name).write_text(svg, encoding="utf-8")
    elif names := stale(table.RESULTS):
        sys.exit(f"{', '.join(names)}: differs from tools/bench/results: run tools/bench/plots.py")


if __name__ == "__main__":
    main()
