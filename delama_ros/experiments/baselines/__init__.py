"""Comparison methods, batched over tasks and agents."""
