"""Models of the other tables as onnxruntime's own tools rewrite them: quantized, and with its fused ops of com.microsoft."""

import functools
import importlib
import pathlib
import tempfile

from architectures.example import Variant


def original(table, name):
    """A Variant of another table."""
    return next(variant for variant in importlib.import_module(f"architectures.{table}").variants() if variant.name == name)


def quantize_dynamically(source, target, inputs):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8)


def quantize_statically(form, source, target, inputs):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Once(CalibrationDataReader):
        def __init__(self):
            self.rows = iter([inputs])

        def get_next(self):
            return next(self.rows, None)

    quantize_static(source, target, Once(), quant_format=getattr(QuantFormat, form), activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def optimize(source, target, inputs):
    """Its optimizer's extended level, which fuses into ops of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def fuse(kind, source, target, inputs):
    """Its offline tool for transformers: whole attentions become one op."""
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(str(source), model_type=kind, num_heads=4, hidden_size=32, opt_level=0).save_model_to_file(str(target))


QDQ, OPERATORS = functools.partial(quantize_statically, "QDQ"), functools.partial(quantize_statically, "QOperator")
# {name: (table, model, rewrite)}
REWRITTEN = {
    "resnet_qdq": ("vision_networks", "resnet.script", QDQ),
    "resnet_qoperator": ("vision_networks", "resnet.script", OPERATORS),
    "mobilenet_v2_qdq": ("vision_networks", "mobilenet_v2.script", QDQ),
    "unet_qdq": ("layers", "unet.script-symbolic", QDQ),
    "bert_quantized": ("text_networks", "bert.script", quantize_dynamically),
    "gpt2_quantized": ("text_networks", "gpt2.script", quantize_dynamically),
    "lstm_quantized": ("layers", "lstm.script", quantize_dynamically),
    "bert_qdq": ("text_networks", "bert.script", QDQ),
    "resnet_fused": ("vision_networks", "resnet.script", optimize),
    "convnext_fused": ("vision_networks", "convnext.script-symbolic", optimize),
    "bert_fused": ("text_networks", "bert.script-symbolic", optimize),
    "gpt2_fused": ("text_networks", "gpt2.script", optimize),
    "llama_fused": ("text_networks", "llama.script", optimize),
    "whisper_fused": ("multimodal_networks", "whisper.dynamo", optimize),
    "bert_attention": ("text_networks", "bert.script-symbolic", functools.partial(fuse, "bert")),
    "gpt2_attention": ("text_networks", "gpt2.script-symbolic", functools.partial(fuse, "gpt2")),
    "vit_attention": ("multimodal_networks", "vit_hf.script-symbolic", functools.partial(fuse, "vit")),
    "swin_attention": ("vision_networks", "swin.script", functools.partial(fuse, "swin")),
}


def write(variant, rewrite, path):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "original.onnx")
        inputs = variant.write(source)
        rewrite(source, path, inputs)
    return inputs


def variants():
    for name, (table, model, rewrite) in REWRITTEN.items():
        variant = original(table, model)
        yield Variant(f"{name}.onnxruntime", "onnxruntime", "onnxruntime's tools", variant.symbols, functools.partial(write, variant, rewrite))
