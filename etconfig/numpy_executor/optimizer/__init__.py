"""What a plan can do without: copies, results that nobody reads, batch norms after convolutions."""

from etconfig.numpy_executor.optimizer.effects import Effects, EffectsReader, is_straight
from etconfig.numpy_executor.optimizer.optimizer import Optimiser

__all__ = ["Effects", "EffectsReader", "Optimiser", "is_straight"]
