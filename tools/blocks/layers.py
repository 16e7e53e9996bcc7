"""Activations, normalizations, products and elementwise functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from blocks.catalog import Inputs, block, function

ATEN = torch.ops.aten


def rows() -> Inputs:
    return (torch.randn(3, 8),)


def pair() -> Inputs:
    return torch.randn(3, 8), torch.randn(3, 8)


for activation in (
    *(nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.1), nn.PReLU(), nn.ELU(), nn.SELU(), nn.CELU(), nn.GELU()),
    *(nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.Softplus()),
    *(
        nn.Softsign(),
        nn.Tanhshrink(),
        nn.Hardshrink(),
        nn.Softshrink(),
        nn.LogSigmoid(),
        nn.Threshold(0.1, 5),
    ),
    *(nn.GLU(), nn.Softmax(-1), nn.Softmin(-1), nn.LogSoftmax(-1), nn.Tanh(), nn.Sigmoid()),
):
    block(f"Activation {activation}", lambda activation=activation: activation, rows)
for name in ("silu", "hardswish", "hardsigmoid"):
    function(f"{name} left whole", getattr(F, name), rows, preserved=(getattr(ATEN, name).default,))
function(
    "GELU of GPT-2, quick GELU, squared ReLU",
    lambda x: (
        0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3))),
        x * torch.sigmoid(1.702 * x),
        F.relu(x).square(),
    ),
    rows,
)
function("GELU in 16 bits", lambda x: F.gelu(x.bfloat16()).float() + F.silu(x.half()).float(), rows)

block("Layer norm without bias", lambda: nn.LayerNorm(8, bias=False), rows)
block("RMS norm", lambda: nn.RMSNorm(8), rows)
block("Group norm", lambda: nn.GroupNorm(2, 8), lambda: (torch.randn(2, 8, 3, 4),))
block("Instance norm", lambda: nn.InstanceNorm2d(3, affine=True), lambda: (torch.randn(2, 3, 4, 5),))
block(
    "Instance norm with running statistics",
    lambda: nn.InstanceNorm1d(3, track_running_stats=True),
    lambda: (torch.randn(2, 3, 5),),
)
block("Batch norm of vectors", lambda: nn.BatchNorm1d(8), rows)
block("Batch norm in training", lambda: nn.BatchNorm1d(8, track_running_stats=False), rows)
block("Local response norm of signals", lambda: nn.LocalResponseNorm(2), lambda: (torch.randn(2, 4, 5),))
block("Spectral norm", lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)), rows)
block("Weight norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)), rows)
function(
    "Normalize, renorm",
    lambda x: (F.normalize(x, dim=-1), F.normalize(x, p=1, dim=0), torch.renorm(x, 2, 0, 1.0)),
    rows,
)
function(
    "Norms of each kind",
    lambda x: (
        x.norm(),
        x.norm(dim=1),
        x.norm(p=1, dim=0),
        torch.linalg.norm(x),
        torch.linalg.vector_norm(x, float("inf")),
        torch.linalg.matrix_norm(x),
    ),
    rows,
)

block("Linear in float16", lambda: nn.Linear(8, 4).half(), lambda: (torch.randn(3, 8).half(),))
block(
    "Linear in bfloat16, dynamic",
    lambda: nn.Linear(8, 4).bfloat16(),
    lambda: (torch.randn(3, 8).bfloat16(),),
    is_dynamic=True,
)


class _Bilinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Bilinear(8, 8, 3)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.layer(x, y)


block("Bilinear layer", _Bilinear, pair)
function(
    "Bilinear left whole",
    lambda x, y, w: torch.bilinear(x, y, w),
    lambda: (*pair(), torch.randn(3, 8, 8)),
    preserved=(ATEN._trilinear.default,),
)
function(
    "Einsum of each kind",
    lambda x, y: (
        torch.einsum("ij,kj->ik", x, y),
        torch.einsum("ij,ij->", x, y),
        torch.einsum("ij,ij->ij", x, y),
        torch.einsum("ij,kl->ijkl", x, y),
        torch.einsum("ii->i", x[:, :3]),
    ),
    pair,
)
function(
    "Products of each kind",
    lambda x, y: (
        x @ y.T,
        torch.outer(x[0], y[0]),
        torch.dot(x[0], y[0]),
        x @ y[0],
        torch.kron(x[:2, :2], y[:2, :2]),
        torch.tensordot(x, y, ([1], [1])),
        torch.linalg.multi_dot([x, y.T, x]),
        torch.addmv(x[:, 0], x, y[0]),
        torch.addr(x, x[:, 0], y[0]),
        torch.chain_matmul(x, y.T),
    ),
    pair,
)
function(
    "Batched products",
    lambda x, y: (
        torch.bmm(x, y),
        torch.baddbmm(x[:, :, :3], x, y),
        torch.addbmm(x[0, :, :3], x, y),
        torch.matmul(x, y[0]),
    ),
    lambda: (torch.randn(2, 3, 4), torch.randn(2, 4, 3)),
)
function("Cross products", lambda x, y: torch.linalg.cross(x[:, :3], y[:, :3]), pair)
function(
    "Triangles",
    lambda x: (
        x.tril(),
        x.triu(1),
        torch.tril_indices(3, 4) + 1,
        torch.triu_indices(3, 4),
        torch.diag(x[0]),
        torch.diag_embed(x),
        x.diagonal(),
        torch.trace(x),
    ),
    rows,
)
function(
    "Matrix inverse",
    lambda x: torch.linalg.inv_ex(x).inverse,
    lambda: (torch.randn(2, 3, 3) + 4 * torch.eye(3),),
)
function(
    "Cholesky factor",
    lambda x: torch.linalg.cholesky_ex(x @ x.mT + torch.eye(3)).L,
    lambda: (torch.randn(3, 3),),
)

function(
    "Exponentials and logarithms",
    lambda x: (
        x.exp2(),
        x.expm1(),
        x.abs().log2(),
        x.abs().log1p(),
        torch.logaddexp(x, -x),
        torch.logsumexp(x, -1),
        torch.xlogy(x, x.abs()),
    ),
    rows,
)
function("Error functions", lambda x: (x.erf(), x.erfc(), x.tanh().erfinv(), torch.special.ndtr(x)), rows)
function(
    "Gamma functions", lambda x: (x.abs().add(0.5).lgamma(), x.abs().add(0.5).digamma(), torch.i0(x)), rows
)
function(
    "Signs",
    lambda x, y: (
        torch.copysign(x, y),
        torch.copysign(x, -1.0),
        x.sign(),
        x.signbit(),
        torch.heaviside(x, y),
        x.sgn(),
        torch.nextafter(x, y),
    ),
    pair,
)
function(
    "Rounding of each kind",
    lambda x: (x.round(), torch.round(x, decimals=2), x.floor(), x.ceil(), x.trunc(), x.frac(), x.fix()),
    rows,
)
function(
    "Remainders",
    lambda x, y: (
        x % y,
        torch.fmod(x, y),
        x // y,
        torch.floor_divide(x, 0.3),
        torch.div(x, y, rounding_mode="trunc"),
    ),
    pair,
)
function(
    "Integers",
    lambda x, y: (torch.gcd(x, y), torch.lcm(x, y), x // y, x % y, x & y, x | y, x ^ y, ~x, x << 2, y >> 1),
    lambda: (torch.randint(1, 99, (4, 5)), torch.randint(1, 9, (5,))),
)
function(
    "Minima and maxima",
    lambda x, y: (
        torch.fmax(x, y),
        torch.fmin(x, y),
        torch.maximum(x, y),
        x.amin(1),
        x.aminmax(),
        torch.aminmax(x, dim=1),
        x.clamp(-1, 1),
        torch.clamp(x, min=y),
    ),
    pair,
)
function(
    "Angles",
    lambda x, y: (
        torch.atan2(x, y),
        torch.hypot(x, y),
        x.sinc(),
        x.deg2rad(),
        x.angle(),
        torch.sinh(x),
        x.logit(1e-3),
    ),
    pair,
)
function("Mantissas", lambda x: (torch.frexp(x), torch.ldexp(x, torch.arange(8))), rows)
function(
    "NaN and infinities",
    lambda x: (
        x.log().nan_to_num(0.5),
        x.log().isnan(),
        (x / 0).isinf(),
        x.log().isfinite(),
        x.log().nansum(),
        x.log().nanmean(1),
        (x / 0).isposinf(),
    ),
    rows,
)
function(
    "Prefix sums, products, extremes",
    lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1), x.cummin(0), x.logcumsumexp(1)),
    rows,
)
function(
    "Interpolating",
    lambda x, y: (
        torch.lerp(x, y, 0.3),
        torch.lerp(x, y, y.sigmoid()),
        torch.addcmul(x, x, y, value=0.5),
        torch.addcdiv(x, x, y.abs() + 1),
    ),
    pair,
)
function(
    "Comparisons",
    lambda x, y: (
        x == y,
        x.ne(y),
        torch.isclose(x, y),
        (x > y).any(),
        (x > -9).all(1),
        torch.eq(x, 0),
        torch.logical_xor(x > 0, y > 0),
    ),
    pair,
)
function(
    "Powers",
    lambda x, y: (
        x**2,
        x.abs() ** 0.5,
        x**3.0,
        2**x,
        x.abs().pow(y),
        x.rsqrt(),
        x.square(),
        x.reciprocal(),
        x.sqrt(),
    ),
    pair,
)
function(
    "Conversions",
    lambda x: (
        x.int(),
        x.long().float(),
        x.half().float(),
        x.bfloat16().float(),
        x.double(),
        x > 0,
        (x > 0).float(),
        x.to(torch.uint8),
    ),
    lambda: (torch.rand(3, 8),),
)
function(
    "Views of another dtype",
    lambda x: (
        x.view(torch.int32),
        x.half().view(torch.int16),
        x.view(torch.uint8),
        x.view(torch.int32).view(torch.float32),
    ),
    rows,
)
function(
    "Randomness in inference",
    lambda x: (
        torch.rand_like(x),
        torch.randn_like(x),
        torch.rand(3, 4),
        torch.randn(2, 3),
        torch.randint(0, 5, (4,)),
        torch.randint_like(x, 3),
        torch.randperm(5),
        torch.bernoulli(x.sigmoid()),
        torch.normal(x, 1.0),
    ),
    rows,
    is_random=True,
)
function(
    "Dropout in training", lambda x: (F.dropout(x, 0.5, True), F.dropout(x, 0.1, True)), rows, is_random=True
)
function(
    "Creation",
    lambda x: (
        torch.zeros(2, 3),
        torch.ones_like(x),
        torch.full((2,), 3.5),
        torch.arange(5),
        torch.linspace(0, 1, 5),
        torch.eye(3),
        torch.empty_like(x).fill_(2),
        x.new_zeros(3),
        torch.logspace(0, 1, 3),
        torch.arange(0, 1, 0.25),
    ),
    rows,
)
function(
    "Joining and splitting",
    lambda x, y: (
        torch.cat([x, y]),
        torch.stack([x, y], 1),
        x.split(3, 1),
        x.chunk(2, 1),
        torch.hstack([x, y]),
        x.unbind(0),
        x.repeat(2, 1),
        x.tile(2),
        x.repeat_interleave(2, 1),
        torch.block_diag(x, y),
    ),
    pair,
)
function(
    "Losses in inference",
    lambda x, y: (
        F.mse_loss(x, y),
        F.l1_loss(x, y),
        F.smooth_l1_loss(x, y),
        F.huber_loss(x, y),
        F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
        F.cross_entropy(x, torch.tensor([1, 2, 3])),
        F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        F.nll_loss(x, torch.tensor([0, 1, 2])),
        F.triplet_margin_loss(x, y, x.flip(0)),
        F.cosine_embedding_loss(x, y, torch.ones(3)),
        F.hinge_embedding_loss(x, y.sign()),
        F.poisson_nll_loss(x, y.abs()),
        F.soft_margin_loss(x, y.sign()),
        F.multi_margin_loss(x, torch.tensor([1, 2, 3])),
        F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    ),
    pair,
)
