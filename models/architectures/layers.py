"""Architectures that packages rarely ship whole: recurrent, generative and point networks, written with torch's layers."""

from architectures.example import ids, normal
from architectures.torch_export import DYNAMO, DYNAMO_SYMBOLIC, SCRIPT, SCRIPT_SYMBOLIC, Network, variants_of


def modules(forward, **parts):
    """A module of parts (functions that make them) whose forward is forward(self, *inputs)."""

    def make():
        import torch

        class Composed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, part in parts.items():
                    setattr(self, name, part())

        Composed.forward = forward
        return Composed()

    return make


def layer(name, *arguments, **options):
    def make():
        from torch import nn

        return getattr(nn, name)(*arguments, **options)

    return make


def sequence(*layers):
    def make():
        from torch import nn

        return nn.Sequential(*(one() for one in layers))

    return make


def conv(inputs, outputs, stride=1):
    return sequence(layer("Conv2d", inputs, outputs, 3, stride, 1, bias=False), layer("BatchNorm2d", outputs), layer("ReLU"))


def tagger(self, words):
    return self.head(self.cells(self.embed(words))[0])


def recurrent(kind, **options):
    width = 16 * (2 if options.get("bidirectional") else 1)
    return modules(tagger, embed=layer("Embedding", 50, 12), cells=layer(kind, 12, 16, batch_first=True, **options), head=layer("Linear", width, 5))


def crnn(self, x):
    y = self.features(x)
    y = y.mean(2).permute(0, 2, 1)
    return self.head(self.cells(y)[0]).log_softmax(-1)


def unet(self, x):
    import torch

    first = self.down1(x)
    second = self.down2(self.pool(first))
    third = self.down3(self.pool(second))
    y = self.join2(torch.cat([self.up2(third), second], 1))
    return self.head(self.join1(torch.cat([self.up1(y), first], 1)))


def style(self, x):
    import torch

    y = self.encode(x)
    y = y + self.residual(y)
    y = torch.nn.functional.interpolate(y, scale_factor=2, mode="nearest")
    return torch.tanh(self.decode(y))


def autoencoder(self, x):
    code = self.encode(x).flatten(1)
    mean, spread = self.to_mean(code), self.to_spread(code)
    y = self.from_code(mean + spread.exp() * 0.1).view(-1, 16, 8, 8)
    return self.decode(y).sigmoid(), mean


def points(self, x):
    y = self.local(x)
    whole = y.max(2, keepdim=True).values.expand(-1, -1, x.shape[2])
    import torch

    return self.head(torch.cat([y, whole], 1))


def wavenet(self, x):
    y = self.start(x)
    total = 0
    for gate, skip in zip(self.gates, self.skips, strict=True):
        a, b = gate(y).chunk(2, 1)
        z = a.tanh() * b.sigmoid()
        y = y + skip(z)
        total = total + z
    return self.end(total.relu())


def gates():
    from torch import nn

    return nn.ModuleList([nn.Conv1d(12, 24, 3, padding=1 << i, dilation=1 << i) for i in range(4)])


def skips():
    from torch import nn

    return nn.ModuleList([nn.Conv1d(12, 12, 1) for _ in range(4)])


def graph_convolution(self, features, edges):
    import torch

    y = self.first(features)
    summed = torch.zeros_like(y).index_add(0, edges[1], y[edges[0]])
    counts = torch.zeros_like(y[:, :1]).index_add(0, edges[1], torch.ones_like(y[edges[0]][:, :1]))
    return self.second((summed / (counts + 1)).relu())


def recommender(self, dense, categories):
    import torch

    vectors = [self.bottom(dense), *(table(categories[:, i]) for i, table in enumerate(self.tables))]
    stacked = torch.stack(vectors, 1)
    products = torch.bmm(stacked, stacked.transpose(1, 2))
    rows, columns = torch.tril_indices(4, 4, -1)
    return self.top(torch.cat([vectors[0], products[:, rows, columns]], 1)).sigmoid()


def tables():
    from torch import nn

    return nn.ModuleList([nn.Embedding(20, 8) for _ in range(3)])


def translate(self, source, target):
    import torch

    mask = torch.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
    return self.head(self.inner(self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True))


def kernels(self, x):
    import torch

    phase = self.first(x)
    return self.head(torch.cat([torch.sin(phase), torch.cos(phase), x], -1))


def super_resolution():
    return sequence(layer("Conv2d", 1, 16, 5, padding=2), layer("Tanh"), layer("Conv2d", 16, 9, 3, padding=1), layer("PixelShuffle", 3))


def generator():
    return sequence(
        layer("ConvTranspose2d", 16, 32, 4, bias=False), layer("BatchNorm2d", 32), layer("ReLU"), layer("ConvTranspose2d", 32, 16, 4, 2, 1, bias=False),
        layer("BatchNorm2d", 16), layer("ReLU"), layer("ConvTranspose2d", 16, 3, 4, 2, 1), layer("Tanh"),
    )  # fmt: skip


WORDS = {"words": ids(50, "N", "L")}
NETWORKS = {
    "lstm": Network(recurrent("LSTM", num_layers=2, bidirectional=True), WORDS, (SCRIPT, SCRIPT_SYMBOLIC, DYNAMO)),
    "gru": Network(recurrent("GRU", num_layers=2), WORDS, (SCRIPT_SYMBOLIC, DYNAMO)),
    "rnn": Network(recurrent("RNN", nonlinearity="relu"), WORDS, (SCRIPT,)),
    "crnn": Network(modules(crnn, features=sequence(conv(1, 8, 2), conv(8, 16, 2)), cells=layer("LSTM", 16, 12, batch_first=True, bidirectional=True),
                            head=layer("Linear", 24, 11)), {"x": normal("N", 1, 16, "W")}, (SCRIPT_SYMBOLIC,)),
    "transformer": Network(modules(translate, embed=layer("Embedding", 50, 16), inner=layer("Transformer", 16, 4, 2, 2, 32, batch_first=True),
                                   head=layer("Linear", 16, 50)), {"source": ids(50, "N", 8), "target": ids(50, "N", 6)}, (SCRIPT, DYNAMO)),
    "unet": Network(modules(unet, down1=conv(3, 8), down2=conv(8, 16), down3=conv(16, 32), pool=layer("MaxPool2d", 2), up2=layer("ConvTranspose2d", 32, 16, 2, 2),
                            join2=conv(32, 16), up1=layer("ConvTranspose2d", 16, 8, 2, 2), join1=conv(16, 8), head=layer("Conv2d", 8, 2, 1)),
                    {"x": normal("N", 3, "H", "W")}, (SCRIPT_SYMBOLIC, DYNAMO)),
    "espcn": Network(super_resolution(), {"x": normal("N", 1, "H", "W")}, (SCRIPT_SYMBOLIC, DYNAMO_SYMBOLIC)),
    "style_transfer": Network(modules(
        style, encode=sequence(layer("ReflectionPad2d", 4), layer("Conv2d", 3, 8, 9, 2), layer("InstanceNorm2d", 8, affine=True), layer("ReLU")),
        residual=sequence(layer("ReflectionPad2d", 1), layer("Conv2d", 8, 8, 3), layer("InstanceNorm2d", 8, affine=True)),
        decode=sequence(layer("ReflectionPad2d", 4), layer("Conv2d", 8, 3, 9))), {"x": normal(1, 3, 32, 32)}, (SCRIPT, DYNAMO)),
    "dcgan": Network(generator(), {"noise": normal("N", 16, 1, 1)}, (SCRIPT, DYNAMO_SYMBOLIC)),
    "vae": Network(modules(autoencoder, encode=sequence(conv(3, 8, 2), conv(8, 16, 2)), to_mean=layer("Linear", 1024, 6), to_spread=layer("Linear", 1024, 6),
                           from_code=layer("Linear", 6, 1024), decode=sequence(layer("ConvTranspose2d", 16, 8, 4, 2, 1), layer("ELU"),
                                                                              layer("ConvTranspose2d", 8, 3, 4, 2, 1))),
                   {"x": normal("N", 3, 32, 32)}, (DYNAMO,)),
    "pointnet": Network(modules(points, local=sequence(layer("Conv1d", 3, 16, 1), layer("BatchNorm1d", 16), layer("ReLU"), layer("Conv1d", 16, 32, 1)),
                                head=layer("Conv1d", 64, 4, 1)), {"x": normal("N", 3, "T")}, (SCRIPT_SYMBOLIC, DYNAMO)),
    "wavenet": Network(modules(wavenet, start=layer("Conv1d", 1, 12, 1), gates=gates, skips=skips, end=layer("Conv1d", 12, 8, 1)), {"x": normal("N", 1, "T")},
                       (SCRIPT_SYMBOLIC, DYNAMO)),
    "gcn": Network(modules(graph_convolution, first=layer("Linear", 6, 12), second=layer("Linear", 12, 3)), {"features": normal("T", 6), "edges": ids(40, 2, "W")},
                   (DYNAMO,)),
    "dlrm": Network(modules(recommender, bottom=sequence(layer("Linear", 5, 16), layer("ReLU"), layer("Linear", 16, 8)), tables=tables,
                            top=sequence(layer("Linear", 14, 16), layer("ReLU"), layer("Linear", 16, 1))),
                    {"dense": normal("N", 5), "categories": ids(20, "N", 3)}, (SCRIPT_SYMBOLIC, DYNAMO)),
    "siren": Network(modules(kernels, first=layer("Linear", 3, 24), head=sequence(layer("Linear", 51, 16), layer("Softplus"), layer("Linear", 16, 4))),
                     {"x": normal("N", 20, 3)}, (SCRIPT, DYNAMO)),
}


def variants():
    return variants_of("torch", NETWORKS)
