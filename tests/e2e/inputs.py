"""Inputs of the real models, made from the photograph by the preprocessing of each model's package."""

import pathlib

import numpy as np
from PIL import Image

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def photo(width, height, box=None):
    """The photograph (or box = (left, upper, right, lower) of it), resized; float32 [height, width, 3], RGB from 0 to 255."""
    image = Image.open(MODELS / "photo.jpg").convert("RGB").resize((width, height), Image.Resampling.BILINEAR, box=box)
    return np.asarray(image, np.float32)


def planes(image, mean, deviation):
    """[1, 3, height, width]: (image / 255 - mean) / deviation, per channel."""
    scaled = (image / 255 - np.float32(mean)) / np.float32(deviation)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis], np.float32)


def open_nsfw():
    """The central 224x224 of 256x256, BGR minus the mean, NHWC."""
    cropped = photo(256, 256)[16:240, 16:240, ::-1]
    return {"input:0": np.ascontiguousarray(cropped - np.float32([104, 117, 123]))[np.newaxis]}


def text_detection():
    # On larger images onnxruntime's mean over a plane has an error of 5e-6 (ours 2e-8, compared with doubles).
    return {"x": planes(photo(448, 512), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])}


def text_recognition():
    return {"x": planes(photo(320, 48, box=(100, 420, 420, 468)), [0.5] * 3, [0.5] * 3)}


def resnet():
    return {"input": planes(photo(224, 224), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])}


# {stem of the model's file: function that makes its inputs}
INPUTS = {
    "open-nsfw": open_nsfw,
    "PP-OCRv6_det_small": text_detection,
    "PP-OCRv6_rec_small": text_recognition,
    "resnet18": resnet,
    "resnet50": resnet,
}
