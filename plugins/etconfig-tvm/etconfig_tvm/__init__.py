"""Apache TVM for etconfig: models compiled ahead of time, alone or as delegates of ExecuTorch."""
