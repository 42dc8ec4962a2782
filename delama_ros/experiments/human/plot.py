"""The figure of section 6.4: ratings by people against the log distance of the lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from delama_ros.experiments.human.game import MAX_RATING


def plot_ratings(figures: dict[str, Any], path: str) -> None:
    """Draw a panel per quality, the highest first as in the paper; ValueError if not writable."""
    figure = Figure(figsize=(10, 3.6), layout='constrained')
    panels = figure.subplots(1, len(figures['correlation']), sharey=True)
    spread = np.random.default_rng(0)  # so that equal ratings do not hide each other
    for panel, row in zip(panels, reversed(figures['correlation']), strict=True):
        rating, distance = np.array(row['rating']), np.array(row['log_distance'])
        shown = rating + spread.uniform(-0.18, 0.18, len(rating))
        panel.scatter(shown, distance, s=14, alpha=0.6, color='#0072b2', edgecolors='none')
        present = sorted(set(row['rating']))
        means = [distance[rating == k].mean() for k in present]
        panel.plot(present, means, color='#d55e00', marker='D', label='mean')
        r = 'none' if row['r'] is None else f'{row["r"]:.2f}'
        panel.set_title(f'{row["quality"]} quality: r = {r}, n = {row["n"]}')
        panel.set_xlabel('rating by people')
        panel.set_xlim(-0.5, MAX_RATING + 0.5)
    panels[0].set_ylabel('log distance of lines')
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise ValueError(f'cannot write {path}: {error.strerror}') from error
