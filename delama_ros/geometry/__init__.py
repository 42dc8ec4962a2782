"""Poses, frames, occupancy grids and map files: what robots, simulator and experiments share."""
