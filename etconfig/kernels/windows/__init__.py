"""Sliding windows and interpolation: convolution, pooling, padding, resampling."""
