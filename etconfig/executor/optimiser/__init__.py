"""What a plan can do without: copies, results that nobody reads, batch norms after convolutions."""

from etconfig.executor.optimiser.effects import EffectsReader, is_straight
from etconfig.executor.optimiser.optimiser import Optimiser

__all__ = ["EffectsReader", "Optimiser", "is_straight"]
