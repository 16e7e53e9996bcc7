"""What a plan can do without: copies, results that nobody reads, batch norms after convolutions."""

from etconfig.executor.optimiser.effects import Effects, EffectsReader, is_straight
from etconfig.executor.optimiser.optimiser import Optimiser

__all__ = ["Effects", "EffectsReader", "Optimiser", "is_straight"]
