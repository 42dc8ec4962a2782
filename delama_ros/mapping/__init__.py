"""Occupancy mapping as a DeLAMA task: evidence from scans, tiles of learned features, maps."""
