"""Recurrent layers, audio front ends, embedding bags, control flow and dynamic sizes."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from blocks.catalog import Inputs, block, function


def steps() -> Inputs:
    return (torch.randn(2, 5, 8),)


def signal() -> Inputs:
    return (torch.randn(2, 1, 64),)


class Recurrent(nn.Module):
    """The outputs and the last state of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> object:
        return self.layer(x)


for kind in (nn.RNN, nn.LSTM, nn.GRU):
    block(kind.__name__, lambda kind=kind: Recurrent(kind(8, 6, batch_first=True)), steps)
    block(
        f"{kind.__name__} in two directions",
        lambda kind=kind: Recurrent(kind(8, 6, 2, batch_first=True, bidirectional=True)),
        steps,
    )
block("LSTM with projection", lambda: Recurrent(nn.LSTM(8, 6, proj_size=3, batch_first=True)), steps)
block("LSTM cell", lambda: Recurrent(nn.LSTMCell(8, 6)), lambda: (torch.randn(2, 8),))
block("GRU cell", lambda: Recurrent(nn.GRUCell(8, 6)), lambda: (torch.randn(2, 8),))
block(
    "Whisper stem",
    lambda: nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), nn.GELU(), nn.Conv1d(8, 8, 3, 2, 1), nn.GELU()),
    signal,
)
block(
    "wav2vec feature extractor",
    lambda: nn.Sequential(
        nn.Conv1d(1, 8, 10, 5, bias=False), nn.GroupNorm(8, 8), nn.GELU(), nn.Conv1d(8, 8, 3, 2, bias=False)
    ),
    signal,
)
block(
    "wav2vec positions",
    lambda: nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 8, 4, padding=2, groups=2), dim=2), nn.GELU()
    ),
    lambda: (torch.randn(2, 8, 9),),
)
block(
    "Conformer convolution",
    lambda: nn.Sequential(
        nn.Conv1d(8, 16, 1),
        nn.GLU(1),
        nn.Conv1d(8, 8, 5, padding=2, groups=8),
        nn.BatchNorm1d(8),
        nn.SiLU(),
        nn.Conv1d(8, 8, 1),
    ),
    lambda: (torch.randn(2, 8, 9),),
)
block(
    "Causal dilated convolutions (WaveNet)",
    lambda: nn.Sequential(nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(8, 8, 3, dilation=2), nn.Tanh()),
    lambda: (torch.randn(2, 8, 9),),
)
function(
    "Log spectrum by products",
    lambda x: torch.log10(
        (
            torch.stack(
                [
                    x.unfold(-1, 16, 8)
                    @ torch.cos(torch.outer(torch.arange(16.0), torch.arange(9.0)) * 0.3927),
                    x.unfold(-1, 16, 8)
                    @ torch.sin(torch.outer(torch.arange(16.0), torch.arange(9.0)) * 0.3927),
                ],
                -1,
            )
            .square()
            .sum(-1)
        ).clamp(min=1e-10)
    ),
    lambda: (torch.randn(2, 64),),
)
function(
    "Spectrum by FFT",
    lambda x: (torch.fft.rfft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.rfft(x).real),
    lambda: (torch.randn(2, 16),),
)
function(
    "Short-time spectrum",
    lambda x: torch.stft(x, 16, 8, window=torch.hann_window(16), return_complex=True).abs(),
    lambda: (torch.randn(2, 64),),
)
function(
    "Spectrum of each kind",
    lambda x: (
        torch.fft.fft(x).real,
        torch.fft.ifft(torch.fft.fft(x)).imag,
        torch.fft.fft2(x).real,
        torch.fft.fftshift(x),
        torch.fft.rfftfreq(8),
        torch.fft.fftfreq(8),
    ),
    lambda: (torch.randn(4, 16),),
)
function(
    "Mel scale, deltas",
    lambda x: (
        F.conv1d(x, torch.tensor([[[-0.5, 0.0, 0.5]]]), padding=1),
        (x.clamp(min=1e-5).log() + 4) / 4,
        torch.maximum(x, x.amax() - 8.0),
        x.flip(-1),
    ),
    signal,
)
function(
    "Pooled signals",
    lambda x: (
        F.avg_pool1d(x, 4, 2),
        F.max_pool1d(x, 4, 2),
        F.adaptive_avg_pool1d(x, 5),
        F.adaptive_max_pool1d(x, 3),
        F.lp_pool1d(x, 2, 4),
    ),
    signal,
)
function(
    "Edges of bins",
    lambda x: (
        torch.bucketize(x, torch.tensor([-1.0, -0.2, 0.4, 1.0])),
        torch.bucketize(x, torch.tensor([-1.0, 0.4]), right=True, out_int32=True),
        torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x),
        torch.searchsorted(x.sort(-1).values, x),
    ),
    lambda: (torch.randn(3, 5),),
)
function("Bucketed number", lambda x: torch.bucketize(0.3, x), lambda: (torch.linspace(-1, 1, 7),))
for mode in ("sum", "mean", "max"):

    class _Bag(nn.Module):
        def __init__(self, mode: str) -> None:
            super().__init__()
            self.bag = nn.EmbeddingBag(12, 4, mode=mode, padding_idx=1)

        def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
            return self.bag(ids, offsets)

    block(
        f"Embedding bag, {mode}",
        lambda mode=mode: _Bag(mode),
        lambda: (torch.randint(0, 12, (9,)), torch.tensor([0, 3, 3, 7])),
    )
block("Embedding bag of rows", lambda: nn.EmbeddingBag(12, 4), lambda: (torch.randint(0, 12, (3, 5)),))


class _Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(12, 4, mode="sum", include_last_offset=True)

    def forward(self, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        return self.bag(ids, offsets, weights)


block(
    "Embedding bag with weights",
    _Weighted,
    lambda: (torch.randint(0, 12, (9,)), torch.tensor([0, 3, 3, 9]), torch.randn(9)),
)
function(
    "Condition",
    lambda x: torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,)),
    lambda: (torch.randn(4),),
)


class _Map(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops.map import map as map_over

        return map_over(lambda row: row.cumsum(0) * 2, x)


block("Map over rows", _Map, lambda: (torch.randn(3, 4),))
block(
    "Dynamic rows through a network",
    lambda: nn.Sequential(nn.Linear(8, 6), nn.SiLU(), nn.LayerNorm(6), nn.Softmax(-1)),
    lambda: (torch.randn(3, 8),),
    is_dynamic=True,
)
function(
    "Dynamic rows, sorted and summed",
    lambda x: (
        x.sort(0).values,
        x.argsort(0, descending=True),
        x.cumsum(0),
        x.cumprod(0),
        x.mean(0),
        x.flip(0),
    ),
    lambda: (torch.randn(3, 8),),
    is_dynamic=True,
)
function(
    "Dynamic sequence of tokens",
    lambda x: (
        x.softmax(-1).argmax(-1),
        torch.arange(x.shape[0]),
        x.new_zeros(x.shape[0]),
        x[-1],
        x @ x.mT,
        torch.full((x.shape[0], 2), 0.5),
    ),
    lambda: (torch.randn(3, 8),),
    is_dynamic=True,
)
function(
    "Selection by mask", lambda x: (x[x > 0], torch.masked_select(x, x < 0)), lambda: (torch.randn(3, 4),)
)
function("Unique tokens", lambda x: torch.unique(x), lambda: (torch.randint(0, 5, (9,)),))
function(
    "CTC decoding, greedily",
    lambda x: (lambda best: (best, (best[:, 1:] != best[:, :-1]) & (best[:, 1:] != 0)))(x.argmax(-1)),
    steps,
)
