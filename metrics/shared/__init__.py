"""Kernels that several metrics share."""
