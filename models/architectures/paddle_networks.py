"""Networks of PaddlePaddle by paddle2onnx."""

import functools

from architectures.example import EXPORTED, RUN, Variant, arrays, ids, normal

SEED = 20
OPSET = 16


def vision(name, **options):
    import paddle

    return getattr(paddle.vision.models, name)(pretrained=False, **options)


def recurrent():
    import paddle

    class Tagger(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.embed = paddle.nn.Embedding(50, 12)
            self.cells = paddle.nn.LSTM(12, 16, direction="bidirect")
            self.head = paddle.nn.Linear(32, 5)

        def forward(self, words):
            return self.head(self.cells(self.embed(words))[0])

    return Tagger()


def encoder():
    import paddle

    class Encoder(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.embed = paddle.nn.Embedding(50, 16)
            self.blocks = paddle.nn.TransformerEncoder(paddle.nn.TransformerEncoderLayer(16, 4, 32, activation="gelu"), 2)

        def forward(self, words):
            return self.blocks(self.embed(words))

    return Encoder()


IMAGE = {"x": normal("N", 3, 64, 64)}
# {name: (function that makes it, inputs, whether shapes are symbolic)}
NETWORKS = {
    "paddle_resnet": (functools.partial(vision, "resnet18", num_classes=10), IMAGE, False),
    "paddle_mobilenet_v1": (functools.partial(vision, "mobilenet_v1", scale=0.25, num_classes=10), IMAGE, True),
    "paddle_mobilenet_v3": (functools.partial(vision, "mobilenet_v3_small", num_classes=10), IMAGE, False),
    "paddle_shufflenet_v2": (functools.partial(vision, "shufflenet_v2_x0_25", num_classes=10), IMAGE, True),
    "paddle_lstm": (recurrent, {"words": ids(50, "N", "L")}, True),
    "paddle_encoder": (encoder, {"words": ids(50, "N", "L")}, False),
}


def write(name, make, inputs, symbolic, path):
    import paddle

    paddle.seed(SEED)
    network = make()
    network.eval()
    specs = [paddle.static.InputSpec([-1 if symbolic and isinstance(dim, str) else EXPORTED.get(dim, dim) for dim in value.dims],
                                     "int64" if key == "words" else "float32", key) for key, value in inputs.items()]
    paddle.onnx.export(network, str(path.with_suffix("")), input_spec=specs, opset_version=OPSET)
    return arrays(name, inputs, RUN if symbolic else EXPORTED)


def variants():
    for name, (make, inputs, symbolic) in NETWORKS.items():
        symbols = tuple(dict.fromkeys(s for value in inputs.values() for s in value.symbols().values())) if symbolic else ()
        yield Variant(f"{name}.paddle2onnx" + ("-symbolic" if symbolic else ""), "paddlepaddle", "paddle2onnx", symbols,
                      functools.partial(write, name, make, inputs, symbolic))
