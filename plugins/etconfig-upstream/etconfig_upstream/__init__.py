"""Option schemas of the backends that ExecuTorch ships; this package runs none of them."""
