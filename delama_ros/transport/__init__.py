"""Transports: how messages travel between agents."""
