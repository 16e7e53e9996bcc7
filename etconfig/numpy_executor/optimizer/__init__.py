"""Leaves out what no output needs: copies, results that nothing reads, batch norms after convolutions."""

from etconfig.numpy_executor.optimizer.optimizer import Optimizer, can_optimize

__all__ = ["Optimizer", "can_optimize"]
