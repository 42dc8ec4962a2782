"""Mapping experiments: meta-training, evaluation on floor plans and on recorded logs."""
