"""What is expected of a case, by what its judges say, and the folder that says so to run_cases."""

import dataclasses
import pathlib


import judges
from case import tensor_of
from differences import decided, is_open

AGREED, ALONE, REFUSED, ASIDE = "agreed", "alone", "refused", "aside"


@dataclasses.dataclass
class Expectation:
    name: str
    op: str
    text: str
    kind: str  # AGREED, ALONE: one judge ran it; REFUSED by both; ASIDE: they differ
    judge: str = ""  # whose outputs are expected
    onnxruntime: str = ""  # its refusal
    reference: str = ""
    checker: str = ""  # why ONNX's checker finds the model invalid
    difference: str = ""  # between the judges
    spoiled: bool = False


def expect(case, answers):
    """The Expectation of a case and the outputs that are expected (None: none)."""
    runtime, reference = answers["onnxruntime"], answers["reference"]
    made = Expectation(case.name, case.op, case.text, REFUSED, "", runtime.refusal, reference.refusal, judges.by_checker(case), spoiled=case.spoiled)
    if runtime.ran and reference.ran:
        made.kind, made.judge = AGREED, "onnxruntime"
        made.difference = judges.disagreement(reference, runtime, case.tolerance)
    elif runtime.ran or reference.ran:
        made.kind, made.judge = ALONE, "onnxruntime" if runtime.ran else "reference"
    if made.kind != REFUSED and is_open(case):
        made.kind, made.judge = ASIDE, ""
    elif case.spoiled and made.kind == ALONE:
        made.kind, made.judge = REFUSED if made.checker else ASIDE, ""
    elif made.difference or made.kind == ALONE:
        choice = decided(case, made)
        if choice is not None:
            made.judge, made.kind = choice, ALONE if choice else ASIDE
        elif made.difference:
            made.judge, made.kind = "", ASIDE
    return made, answers[made.judge].outputs if made.judge else None


def write_case(folder, case, outputs):
    """A folder as ONNX's backend vectors have, without outputs where none are expected; answers its line for cases.tsv."""
    data = pathlib.Path(folder, case.name, "test_data_set_0")
    data.mkdir(parents=True)
    (data.parent / "model.onnx").write_bytes(case.model.SerializeToString())
    elem_of = {o.name: o.type.tensor_type.elem_type for o in case.model.graph.output}
    for i, (name, array) in enumerate(case.feeds.items()):
        (data / f"input_{i}.pb").write_bytes(tensor_of(array, case.elems[name], name).SerializeToString())
    relative = of_largest = units = 0
    for i, (info, array) in enumerate(zip(case.model.graph.output, outputs or ())):
        (data / f"output_{i}.pb").write_bytes(tensor_of(array, elem_of[info.name], info.name).SerializeToString())
        allowed = judges.tolerance_of(case.tolerance, array.dtype)
        relative, of_largest, units = (max(a, b) for a, b in zip((relative, of_largest, units), allowed))
    return f"{case.name}\t{relative}\t{of_largest}\t{units}"


class Writer:
    """What a worker does with a judged case: writes its folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, case, answers):
        made, outputs = expect(case, answers)
        return made, write_case(self.folder, case, outputs)


