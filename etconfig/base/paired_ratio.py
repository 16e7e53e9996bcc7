"""`PairedRatio`: how two sides that were measured in turns compare."""

from __future__ import annotations

import math

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class PairedRatio:
    """The time of the second side divided by the time of the first: less than 1 is faster.

    Attributes:
        ratio: The median over all pairs.
        low: The lower end of its 95 % interval.
        high: The upper end; infinite if there were too few pairs for an interval.
        pairs: The number of pairs.
    """

    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def noise(self) -> float:
        """The largest distance of the interval from 1; of two equal sides, the noise floor."""
        return max(self.high - 1, 1 - self.low)

    @property
    def interval(self) -> str:
        """The interval as people read it: `[0.560, 0.600]`."""
        return f"[{self.low:.3f}, {self.high:.3f}]"

    def inverse(self) -> PairedRatio:
        """Return the ratio of the first side to the second."""
        low, high = 1 / self.high, 1 / max(self.low, 1e-9)
        return PairedRatio(ratio=1 / self.ratio, low=low, high=high, pairs=self.pairs)

    def to_jsonable(self) -> dict[str, float | int]:
        """The ratio as plain data; without an upper end that is infinite."""
        data = {"ratio": self.ratio, "low": self.low, "high": self.high, "pairs": self.pairs}
        return {name: value for name, value in data.items() if math.isfinite(value)}
