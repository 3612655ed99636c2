"""torch_networks.py NAME [--output FILE]: writes a network of torchvision, BERT-base or Whisper-small's encoder, with random weights, as torch's TorchScript
exporter exports it.

The file's one input has a symbolic batch N. Needs torch and torchvision, which are not among this project's dependencies. tools/bench/torch_peer.py
runs the same networks.
"""

import argparse
import contextlib
import io
import pathlib
import warnings

import torch
import torchvision
from torch import nn
from torch.nn import functional

SEED = 20
OPSET = 17
TOKENS = 128
MELS, FRAMES = 80, 3000
VISION = ("vit_b_16", "swin_t", "convnext_tiny")


class Layer(nn.Module):
    """A layer of BERT: attention over all tokens with a mask, then an MLP; LayerNormalization behind each sum."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x, mask):
        batch, tokens, width = x.shape
        q, k, v = (project(x).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for project in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norms[0](x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width)))
        return self.norms[1](x + self.down(functional.gelu(self.up(x))))


class Bert(nn.Module):
    """BERT-base, as in transformers: ids [N, TOKENS] of which 0 is padding → hidden states [N, TOKENS, 768]."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072, words=30522):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(512, width)
        self.kinds = nn.Parameter(torch.randn(width) * 0.02)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, hidden) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + self.kinds)
        is_padding = (ids == 0)[:, None, None, :]
        mask = is_padding.to(x.dtype) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x


class EncoderLayer(nn.Module):
    """A layer of Whisper's encoder: LayerNormalization before attention and before the MLP; the keys' product has no bias."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.value, self.out = (nn.Linear(width, width) for _ in range(3))
        self.key = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x):
        batch, frames, width = x.shape
        y = self.norms[0](x)
        q, k, v = (project(y).view(batch, frames, self.heads, width // self.heads).transpose(1, 2) for project in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, frames, width))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class WhisperEncoder(nn.Module):
    """The encoder of Whisper-small, as in transformers: mel spectrogram [N, MELS, FRAMES] → hidden states [N, FRAMES / 2, 768]."""

    def __init__(self, layers=12, width=768, heads=12):
        super().__init__()
        self.convs = nn.ModuleList((nn.Conv1d(MELS, width, 3, padding=1), nn.Conv1d(width, width, 3, stride=2, padding=1)))
        self.positions = nn.Parameter(torch.randn(FRAMES // 2, width) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, mels):
        for conv in self.convs:
            mels = functional.gelu(conv(mels))
        x = mels.transpose(1, 2) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


OWN = {"bert_base": Bert, "whisper_small_encoder": WhisperEncoder}
NAMES = (*OWN, *VISION)


def network(name):
    """The network in f32, for inference, with the weights of SEED. Raises ValueError if torchvision has none of this name."""
    torch.manual_seed(SEED)
    made = OWN[name]() if name in OWN else torchvision.models.get_model(name, weights=None)
    for module in made.modules():  # the last product of torchvision's ViT begins as 0
        if isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
    return made.eval()


def random_input(name, batch, size=224):
    """ids [batch, TOKENS] in int64, none of them padding, mels [batch, MELS, FRAMES] or images [batch, 3, size, size] in f32."""
    if name == "bert_base":
        return torch.randint(1, 1000, (batch, TOKENS))
    if name == "whisper_small_encoder":
        return torch.randn(batch, MELS, FRAMES)
    return torch.randn(batch, 3, size, size)


def write(name, output=None):
    """Exports the network and returns the path of its file; default: models/NAME.onnx."""
    path = pathlib.Path(output) if output else pathlib.Path(__file__).resolve().with_name(f"{name}.onnx")
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(network(name), (random_input(name, 2),), path, input_names=["input"], output_names=["output"],
                          dynamic_axes={"input": {0: "N"}, "output": {0: "N"}}, opset_version=OPSET, dynamo=False)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--output", help="file to write (default: models/NAME.onnx)")
    print(write(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
