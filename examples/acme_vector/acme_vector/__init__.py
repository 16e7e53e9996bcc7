"""Runs element-wise operators on Acme's vector unit."""
