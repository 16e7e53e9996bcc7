"""Option schemas of the backends that ExecuTorch ships; none of them is run by this package."""
