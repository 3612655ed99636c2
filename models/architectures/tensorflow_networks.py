"""Networks of Keras and functions of TensorFlow by tf2onnx: channels stand last, and loops and choices of boxes are TensorFlow's own."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from architectures.example import EXPORTED, RUN, Input, Variant, arrays, ids, normal, uniform

SEED = 20
OPSET = 18


@dataclasses.dataclass(frozen=True)
class Network:
    make: Callable  # () -> a function of tensors
    inputs: dict[str, Input]
    symbolic: bool = False


def application(name, **options):
    import keras

    return getattr(keras.applications, name)(weights=None, classes=10, **options)


def layers(*specs, classes=5):
    """A Sequential of (name of a keras layer, arguments, options)."""

    def make():
        import keras

        made = [getattr(keras.layers, name)(*arguments, **options) for name, arguments, options in specs]
        return keras.Sequential([*made, keras.layers.Dense(classes, activation="softmax")])

    return make


def transformer():
    """One encoder block with keras' attention."""
    import keras

    words = keras.Input((8,), dtype="int64")
    x = keras.layers.Embedding(50, 16)(words)
    y = keras.layers.MultiHeadAttention(4, 4)(x, x)
    x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
    y = keras.layers.Dense(16)(keras.layers.Dense(32, activation="silu")(x))
    x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
    return keras.Model(words, keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling1D()(x)))


def loop():
    """Newton's iteration until it is precise, as a while loop whose count the data decide."""
    import tensorflow as tf

    def run(x):
        def more(root, count):
            return tf.logical_and(tf.reduce_max(tf.abs(root * root - x)) > 1e-3, count < 50)

        root, count = tf.while_loop(more, lambda root, count: (0.5 * (root + x / root), count + 1), (tf.ones_like(x), tf.constant(0)))
        return root, count

    return run


def boxes():
    """Resizing before and the choice of boxes behind a convolution."""
    import tensorflow as tf

    weights = np.random.default_rng(SEED).standard_normal((3, 3, 3, 5), np.float32)

    def run(image):
        x = tf.image.resize(image, (16, 16), method="bilinear")
        y = tf.nn.conv2d(x, weights, 2, "SAME")
        flat = tf.reshape(y, (-1, 5))
        corners = tf.sigmoid(flat[:, :2])
        sides = corners + 0.1 + 0.3 * tf.sigmoid(flat[:, 2:4])
        rectangles = tf.concat([corners, sides], 1)
        chosen = tf.image.non_max_suppression(rectangles, flat[:, 4], 10, iou_threshold=0.3)
        return tf.gather(rectangles, chosen), tf.gather(flat[:, 4], chosen)

    return run


def image(size):
    return {"x": normal(2, size, size, 3)}


NETWORKS = {
    "keras_mobilenet_v2": Network(functools.partial(application, "MobileNetV2", alpha=0.35, input_shape=(64, 64, 3)), image(64)),
    "keras_efficientnet": Network(functools.partial(application, "EfficientNetV2B0", input_shape=(64, 64, 3), include_preprocessing=False),
                                  {"x": normal("N", 64, 64, 3)}, True),
    "keras_xception": Network(functools.partial(application, "Xception", input_shape=(96, 96, 3)), image(96)),
    "keras_nasnet": Network(functools.partial(application, "NASNetMobile", input_shape=(64, 64, 3)), image(64)),
    "keras_lstm": Network(layers(("Embedding", (50, 12), {}), ("LSTM", (16,), {"return_sequences": True}), ("LSTM", (16,), {})), {"words": ids(50, 2, 8)}),
    "keras_gru": Network(layers(("Embedding", (50, 12), {}), ("GRU", (16,), {"go_backwards": True})), {"words": ids(50, "N", 8)}, True),
    "keras_conv_lstm": Network(layers(("ConvLSTM2D", (4, 3), {}), ("Flatten", (), {})), {"x": normal(2, 3, 8, 8, 2)}),
    "keras_transformer": Network(transformer, {"words": ids(50, "N", 8)}, True),
    "keras_separable": Network(layers(("SeparableConv1D", (12, 3), {"activation": "relu"}), ("BatchNormalization", (), {}), ("MaxPooling1D", (2,), {}),
                                      ("DepthwiseConv1D", (3,), {}), ("GlobalMaxPooling1D", (), {})), {"x": normal("N", 32, 4)}, True),
    "keras_upsampling": Network(layers(("Conv2DTranspose", (6, 3), {"strides": 2, "padding": "same"}), ("LeakyReLU", (), {}),
                                       ("UpSampling2D", (), {"interpolation": "bilinear"}), ("GroupNormalization", (2,), {})), image(8)),
    "tf_while_loop": Network(loop, {"x": uniform("N", 4)}, True),
    "tf_boxes": Network(boxes, {"image": uniform(1, 32, 40, 3)}),
}  # fmt: skip


def write(name, network, path):
    import keras
    import tensorflow as tf
    import tf2onnx

    keras.utils.set_random_seed(SEED)
    signature = [tf.TensorSpec([None if network.symbolic and isinstance(dim, str) else EXPORTED.get(dim, dim) for dim in value.dims],
                               tf.int64 if "words" in key else tf.float32, name=key) for key, value in network.inputs.items()]
    run = network.make()
    if isinstance(run, keras.Model):
        inner = run
        run = lambda *values: inner(values[0], training=False)  # noqa: E731
    tf2onnx.convert.from_function(tf.function(run), input_signature=signature, opset=OPSET, output_path=str(path))
    return arrays(name, network.inputs, RUN if network.symbolic else EXPORTED)


def variants():
    for name, network in NETWORKS.items():
        symbols = tuple(dict.fromkeys(s for value in network.inputs.values() for s in value.symbols().values())) if network.symbolic else ()
        yield Variant(f"{name}.tf2onnx" + ("-symbolic" if network.symbolic else ""), "tensorflow", "tf2onnx", symbols, functools.partial(write, name, network))
