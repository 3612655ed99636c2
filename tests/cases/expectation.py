"""The expected result of a case, derived from its judges' answers, and the folder in which run_cases reads it."""

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
    kind: str  # AGREED: both ran it; ALONE: one ran it; REFUSED: both refused; ASIDE: nothing is expected
    judge: str = ""  # the judge whose outputs are expected
    onnxruntime: str = ""  # its error
    reference: str = ""
    checker: str = ""  # why ONNX's checker finds the model invalid
    difference: str = ""  # between the judges
    spoiled: bool = False


def expect(case, answers):
    """The Expectation of a case, and the expected outputs or None."""
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
    """Writes a folder like those of ONNX's backend tests, with outputs only if some are expected; returns its line for cases.tsv."""
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
    """Writes the folder of each judged case; called by a worker."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, case, answers):
        made, outputs = expect(case, answers)
        return made, write_case(self.folder, case, outputs)
