"""The real ExecuTorch runtime as an executor of etconfig."""
