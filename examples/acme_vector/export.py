"""Export a small model with two operators for the backend."""

from pathlib import Path

import torch
from acme_vector.aot import acme_vector_partitioner
from executorch.exir import to_edge_transform_and_lower


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(-x) * 2.0


exported = torch.export.export(Model(), (torch.zeros(4, 6),))
program = to_edge_transform_and_lower(exported, partitioner=[acme_vector_partitioner()]).to_executorch()
with Path("model.pte").open("wb") as file:
    program.write_to_file(file)
