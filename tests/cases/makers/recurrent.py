"""RNN, GRU and LSTM."""

from onnx import TensorProto as T

from makers import SUMS, maker

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}  # per direction
KINDS = ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign", "Softplus")
ALPHA = {"Affine": 0.5, "LeakyRelu": 0.1, "ThresholdedRelu": 0.5, "ScaledTanh": 0.5, "HardSigmoid": 0.3, "Elu": 0.5}
BETA = {"Affine": 0.25, "ScaledTanh": 0.5, "HardSigmoid": 0.4}


def activations(d, count):
    kinds = [d.pick(KINDS) for _ in range(count)]
    d.attr("activations", kinds)
    if any(k in ALPHA for k in kinds):  # onnxruntime reads one value for each activation that has the parameter
        d.attr("activation_alpha", [ALPHA[k] for k in kinds if k in ALPHA])
    if any(k in BETA for k in kinds):
        d.attr("activation_beta", [BETA[k] for k in kinds if k in BETA])


@maker("RNN", "GRU", "LSTM", tolerance=SUMS)
def recurrent(d):
    steps, batch, size, hidden = d.integer(1, 5), d.integer(1, 3), d.integer(1, 4), d.integer(1, 4)
    direction = d.attr("direction", d.pick(["forward", "reverse", "bidirectional"]), 0.7) or "forward"
    directions = 2 if direction == "bidirectional" else 1
    batch_first = d.attr("layout", 1, 0.15)
    d.attr("hidden_size", hidden)
    d.attr("clip", d.pick([0.5, 2.0]), 0.15)
    d.attr("linear_before_reset", d.integer(0, 1), 0.6)
    d.attr("input_forget", 1, 0.15)
    if d.chance(0.25):
        activations(d, ACTIVATIONS[d.op] * directions)
    d.output_count = d.integer(1, len(d.schema.outputs)) if not d.has_attr("output_sequence") else 2
    d.attr("output_sequence", 1)
    gates = GATES[d.op]
    d.tensor([batch, steps, size] if batch_first else [steps, batch, size], low=-2, high=2)
    d.tensor([directions, gates * hidden, size], low=-1, high=1, constant=0.5)
    d.tensor([directions, gates * hidden, hidden], low=-1, high=1, constant=0.5)
    state = [batch, directions, hidden] if batch_first else [directions, batch, hidden]
    optional = [
        lambda: d.tensor([directions, 2 * gates * hidden], low=-1, high=1, constant=0.5),
        lambda: d.integers(d.random.integers(0 if d.chance(0.2) else 1, steps + 1, batch), T.INT32, 0.3),
        lambda: d.tensor(state, low=-1, high=1),
        lambda: d.tensor(state, low=-1, high=1),
        lambda: d.tensor([directions, 3 * hidden], low=-1, high=1, constant=0.5),
    ]
    for add in optional[: d.input_count() - 3]:
        add() if d.chance(0.4) else d.skip()
