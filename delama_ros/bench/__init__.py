"""Benchmarks: each module measures one part and returns named figures."""
