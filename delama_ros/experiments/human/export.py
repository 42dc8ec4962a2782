"""The games as CSV files, a file per table; names and cookies of people stay behind."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path

TABLES = {
    'games': 'SELECT id AS game, quality, people, stage, round FROM game ORDER BY id',
    'targets': 'SELECT game, target, slope, offset FROM target ORDER BY game, target',
    'seats': """
        SELECT game, seat, iif(person IS NULL, 'agent', 'person') AS kind, person,
            CAST(substr(game.targets, seat + 1, 1) AS INTEGER) AS target
        FROM seat JOIN game ON game.id = seat.game ORDER BY game, seat""",
    'points': 'SELECT game, round, seat, x, y FROM point ORDER BY game, round, seat, number',
    'answers': """
        SELECT game, round, seat, stage, slope, offset, mse, at FROM answer
        ORDER BY game, round, stage = 'aggregate', seat""",
    'ratings': 'SELECT game, round, seat, rated, rating FROM rating ORDER BY 1, 2, 3, 4',
}


def write_csv(database: sqlite3.Connection, folder: Path) -> dict[Path, int]:
    """Write all tables into a folder; returns how many rows each file has."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, query in TABLES.items():
        rows = database.execute(query)
        path = folder / f'{name}.csv'
        with path.open('w', newline='') as file:
            writer = csv.writer(file)
            writer.writerow([column[0] for column in rows.description])
            data = rows.fetchall()
            writer.writerows(data)
        written[path] = len(data)
    return written
