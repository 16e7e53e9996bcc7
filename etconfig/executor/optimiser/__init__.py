"""What a plan can do without: copies, results that nobody reads, batch norms after convolutions."""

from etconfig.executor.optimiser.effects import is_straight
from etconfig.executor.optimiser.optimiser import Optimiser

__all__ = ["Optimiser", "is_straight"]
