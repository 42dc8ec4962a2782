"""The paper's table and figure of section 6.4: people from the database, agents by simulation."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np

from delama_ros.experiments.human.task import QUALITIES, ROUNDS, SEATS, SPAN, Floats, draw
from delama_ros.experiments.human.team import SETTINGS, team_lines

# Lines people settled on; agents' seats have no person.
PEOPLE = """
    SELECT answer.game, answer.seat, answer.round, answer.mse
    FROM answer JOIN seat USING (game, seat) JOIN game ON game.id = answer.game
    WHERE seat.person IS NOT NULL AND answer.stage = 'aggregate' AND game.quality = ?
"""
# Each rating by a person, with the two lines it compares, as they were when it was given.
RATINGS = """
    SELECT rating.rating, mine.slope - theirs.slope, mine.offset - theirs.offset
    FROM rating JOIN seat USING (game, seat) JOIN game ON game.id = rating.game
    JOIN answer AS mine ON (mine.game, mine.round, mine.seat, mine.stage)
        = (rating.game, rating.round, rating.seat, 'learn')
    JOIN answer AS theirs ON (theirs.game, theirs.round, theirs.seat, theirs.stage)
        = (rating.game, rating.round, rating.rated, 'learn')
    WHERE seat.person IS NOT NULL AND game.quality = ?
"""


def make_report(database: sqlite3.Connection, tasks: int, seed: int) -> dict[str, Any]:
    """Return the figures: MSE per round and quality, ratings against log distance."""
    table, correlation = [], []
    for quality in QUALITIES:
        rows = database.execute(PEOPLE, (quality,)).fetchall()
        table.append({
            'players': 'people',
            'quality': quality,
            'n': len({(game, seat) for game, seat, _, _ in rows}),
            'mse': [_mean([mse for *_, t, mse in rows if t == k + 1]) for k in range(ROUNDS)],
        })
    for quality in QUALITIES:
        losses = simulate(quality, tasks, seed)
        table.append({
            'players': 'agents', 'quality': quality, 'n': tasks,
            'mse': [_mean(losses[:, k].mean(-1).tolist()) for k in range(ROUNDS)],
        })
    for quality in QUALITIES:
        rated = np.array(database.execute(RATINGS, (quality,)).fetchall()).reshape(-1, 3)
        distance = np.hypot(rated[:, 1], rated[:, 2])
        rating, log_distance = rated[distance > 0, 0], np.log(distance[distance > 0])
        correlation.append({
            'quality': quality,
            'n': len(rating),
            'r': _pearson(rating, log_distance),
            'rating': rating.astype(int).tolist(),
            'log_distance': log_distance.tolist(),
        })
    return {'seed': seed, 'table': table, 'correlation': correlation}


def simulate(quality: str, tasks: int, seed: int) -> Floats:
    """Return the losses (tasks, ROUNDS, SEATS) of teams that are agents only."""
    rng = np.random.default_rng([seed, *quality.encode()])
    drawn = [draw(QUALITIES[quality], rng) for _ in range(tasks)]
    targets = np.array([[task.target(seat) for seat in range(SEATS)] for task in drawn])
    lines = team_lines(np.stack([task.points for task in drawn]), SETTINGS[quality])
    slope, offset = np.moveaxis(lines - targets[:, None], -1, 0)
    losses: Floats = slope**2 * SPAN**2 / 3 + offset**2
    return losses


def _mean(values: list[float]) -> dict[str, float | None] | None:
    """Return mean and standard error; None of nothing, and no error of one."""
    if not values:
        return None
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    return {'mean': float(np.mean(values)), 'se': None if error is None else float(error)}


def _pearson(x: Floats, y: Floats) -> float | None:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])
