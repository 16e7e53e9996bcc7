"""Heads: detection without suppression, sampling of tokens, segments, graphs, quantized values."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor

from blocks.catalog import Inputs, function

D = torch.ops.quantized_decomposed


def logits() -> Inputs:
    return (torch.randn(2, 12),)


def boxes() -> Inputs:
    return (torch.rand(5, 4) * 10,)


def _top_p(x: Tensor) -> tuple[Tensor, Tensor]:
    ordered, places = x.sort(-1, descending=True)
    is_out = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1) > 0.9
    kept = ordered.masked_fill(is_out, float("-inf"))
    return torch.zeros_like(x).scatter(-1, places, kept), kept.softmax(-1)


def _iou(a: Tensor) -> Tensor:
    size = (a[:, 2:] - a[:, :2]).abs().prod(-1)
    low, high = torch.maximum(a[:, None, :2], a[None, :, :2]), torch.minimum(a[:, None, 2:], a[None, :, 2:])
    inter = (high - low).clamp(min=0).prod(-1)
    return inter / (size[:, None] + size[None, :] - inter)


def _matrix_nms(x: Tensor) -> tuple[Tensor, Tensor]:
    scores, order = x[:, 0].sort(descending=True, stable=True)
    overlap = _iou(x[order]).triu(1)
    decay = ((1 - overlap) / (1 - overlap.max(0).values[:, None]).clamp(min=1e-6)).min(0).values
    return scores * decay, order


def _anchors(x: Tensor) -> Tensor:
    rows, columns = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
    centers = torch.stack([columns, rows], -1).view(1, -1, 2) + 0.5
    offsets = x.view(1, 12, 4)
    return torch.cat([centers - offsets[..., :2].exp(), centers + offsets[..., 2:].exp()], -1)


function("Softmax head with the best five", lambda x: x.softmax(-1).topk(5), logits)
function(
    "Sampling: temperature and top k",
    lambda x: torch.where(x < (x / 0.7).topk(4).values[:, -1:] * 0.7, -torch.inf, x).softmax(-1),
    logits,
)
function("Sampling: top p", _top_p, logits)
function(
    "Sampling: minimum p",
    lambda x: x.masked_fill(x.softmax(-1) < 0.1 * x.softmax(-1).amax(-1, keepdim=True), -torch.inf),
    logits,
)
function("Sampling: one token", lambda x: torch.multinomial(x.softmax(-1), 1), logits, is_random=True)
function(
    "Sampling: several tokens, without replacement",
    lambda x: torch.multinomial(x.softmax(-1), 3),
    logits,
    is_random=True,
)
function(
    "Sampling: Gumbel",
    lambda x: (x - torch.empty_like(x).exponential_().log()).argmax(-1),
    logits,
    is_random=True,
)
function("Gumbel softmax", lambda x: F.gumbel_softmax(x, 1.0, hard=True), logits, is_random=True)
function(
    "Repetition penalty",
    lambda x, ids: x.scatter(1, ids, (lambda s: torch.where(s < 0, s * 1.2, s / 1.2))(x.gather(1, ids))),
    lambda: (*logits(), torch.randint(0, 12, (2, 3))),
)
function(
    "Beam search step",
    lambda x, s: (lambda best: (best[0], best[1] // 12, best[1] % 12))(
        (x.log_softmax(-1) + s[:, None]).view(-1).topk(4)
    ),
    lambda: (*logits(), torch.randn(2)),
)
function(
    "Sorting of each kind",
    lambda x: (
        x.sort(),
        x.sort(0, True),
        torch.sort(x, stable=True, dim=-1, descending=True),
        x.argsort(1),
        x.msort(),
    ),
    logits,
)
function(
    "Sorting with ties",
    lambda x: (x.sort(stable=True, descending=True), x.argsort(stable=True), x.topk(3)[0]),
    lambda: (torch.randint(0, 4, (3, 9)),),
)
function("Boxes: overlap", _iou, boxes)
function("Boxes: suppression by matrix", _matrix_nms, boxes)
function("Boxes: decoding of anchors", _anchors, lambda: (torch.randn(48) * 0.1,))
function(
    "Boxes: corners and centers",
    lambda x: (lambda c, w: torch.cat([c - w / 2, c + w / 2], -1))(*x.split(2, -1)),
    boxes,
)
function(
    "Boxes: distribution focal decoding",
    lambda x: (x.view(5, 4, 3).softmax(-1) * torch.arange(3.0)).sum(-1),
    lambda: (torch.randn(5, 12),),
)
function(
    "Heat maps to points",
    lambda x: (lambda best: (torch.stack([best[1] % 5, best[1] // 5], -1), best[0]))(x.flatten(2).max(-1)),
    lambda: (torch.randn(2, 3, 4, 5),),
)
function(
    "Soft argmax",
    lambda x: (
        lambda p: torch.stack(
            [(p.sum(2) * torch.arange(5.0)).sum(-1), (p.sum(3) * torch.arange(4.0)).sum(-1)], -1
        )
    )(x.flatten(2).softmax(-1).view_as(x)),
    lambda: (torch.randn(2, 3, 4, 5),),
)
function(
    "Segmentation head",
    lambda x: (F.interpolate(x, scale_factor=2.0, mode="bilinear").argmax(1), x.sigmoid() > 0.5),
    lambda: (torch.randn(1, 3, 4, 5),),
)
function(
    "One-hot and class weights",
    lambda x: (F.one_hot(x, 6), F.one_hot(x, 6).float() @ torch.arange(6.0)),
    lambda: (torch.randint(0, 6, (2, 3)),),
)
function(
    "Mean of neighbors (graph)",
    lambda x, to: (
        torch.zeros(4, 3).index_add(0, to, x),
        torch.zeros(4, 3).scatter_add(0, to[:, None].expand(-1, 3), x),
        torch.zeros(4, 3).scatter_reduce(0, to[:, None].expand(-1, 3), x, "mean", include_self=False),
        torch.zeros(4, 3).scatter_reduce(0, to[:, None].expand(-1, 3), x, "amax"),
        torch.zeros(4, 3).index_reduce(0, to, x, "prod"),
    ),
    lambda: (torch.randn(7, 3), torch.randint(0, 4, (7,))),
)
function(
    "Writes of each kind",
    lambda x: (
        x.scatter(1, torch.tensor([[0, 2]]), 5.0),
        x.index_fill(1, torch.tensor([1]), 0.0),
        x.masked_scatter(x > 0, -x),
        x.put(torch.tensor([1, 3]), torch.tensor([9.0, 8.0])),
        x.diagonal_scatter(torch.ones(2)),
        x.masked_fill(x > 1, 0.0),
        x.take(torch.tensor([0, 5])),
        torch.take_along_dim(x, x.argsort(1), 1),
        x.as_strided_scatter(torch.ones(2), (2,), (3,)),
    ),
    logits,
)
function(
    "Vector quantization",
    lambda x: (lambda d: (d.argmin(-1), torch.linspace(-1, 1, 12).view(4, 3)[d.argmin(-1)]))(
        torch.cdist(x.view(-1, 3), torch.linspace(-1, 1, 12).view(4, 3))
    ),
    logits,
)
function(
    "Combinations and grids",
    lambda x: (
        torch.cartesian_prod(x[0, :3], x[1, :2]),
        torch.vander(x[0, :3]),
        torch.meshgrid(x[0, :2], x[1, :3], indexing="xy"),
    ),
    logits,
)
function("Standard deviations", lambda x: (x.std(1), x.var(0, unbiased=False)), logits)
function(
    "Whole numbers of a tensor: any, all, counts",
    lambda x: (x.any(), x.all(0), x.count_nonzero(), x.count_nonzero(1), (x > 0).sum(), x.prod(), x.nansum()),
    logits,
)
function(
    "Integrals and differences",
    lambda x: (torch.trapezoid(x), torch.cumulative_trapezoid(x), x.diff(), torch.gradient(x[0])[0]),
    logits,
)

PER_TENSOR = (0.05, 3, -128, 127, torch.int8)
function(
    "Quantized per tensor",
    lambda x: D.dequantize_per_tensor(D.quantize_per_tensor(x, *PER_TENSOR), *PER_TENSOR),
    logits,
)
function(
    "Quantized per channel",
    lambda x: (
        lambda s, z: D.dequantize_per_channel(
            D.quantize_per_channel(x, s, z, 0, -128, 127, torch.int8), s, z, 0, -128, 127, torch.int8
        )
    )(torch.tensor([0.05, 0.1]), torch.tensor([0, 5])),
    logits,
)
function(
    "Quantized per token",
    lambda x: (
        lambda s, z: D.dequantize_per_token(
            D.quantize_per_token(x, s, z, -128, 127, torch.int8), s, z, -128, 127, torch.int8, torch.float32
        )
    )(*D.choose_qparams_per_token_asymmetric(x, torch.int8)),
    logits,
)
function(
    "Quantized by range",
    lambda x: (lambda s, z: D.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8))(
        *D.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    ),
    logits,
)
function(
    "Packed int4 weights by shifts",
    lambda x, w: x @ ((torch.stack([w & 15, w >> 4], -1).flatten(-2).to(torch.float32) - 8) * 0.1).T,
    lambda: (torch.randn(2, 12), torch.randint(0, 256, (3, 6), dtype=torch.uint8)),
)
