"""OpenVINO for etconfig: typed options, the engine's own models, and delegates of ExecuTorch programs.

etconfig loads `plugin`, which does not import OpenVINO; `engine` and `backend` import it when a model is
built.
`aot` exports programs and needs executorch.
"""
