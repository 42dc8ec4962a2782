"""The runner of every evaluation: cells of task × method × condition × seed, each computed once.

A cell holds everything that decides its outcome, and its file is named by a digest of the cell and
of the source code: a stopped run continues, a repeated one costs nothing, and no figure outlives
the code that computed it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import delama_sim
from delama_ros.experiments import plugins

Figures: TypeAlias = dict[str, Any]  # JSON values

# Packages whose code does not decide any figure.
IGNORED = ('bench', 'cli', 'ros', 'simulation', 'swarm', 'web')


@dataclass(frozen=True)
class Cell:
    """One thing to compute; `condition` is JSON with all that is not in the other fields."""

    task: str
    method: str
    condition: str
    seed: int = 0

    @classmethod
    def make(cls, task: str, method: str, seed: int = 0, **condition: Any) -> Cell:
        """Make a cell from a condition given as JSON values."""
        return cls(task, method, json.dumps(condition, sort_keys=True), seed)

    def __getitem__(self, name: str) -> Any:
        return json.loads(self.condition)[name]

    def changed(self, method: str | None = None, seed: int | None = None, **changes: Any) -> Cell:
        """Return the cell with another method, seed, or values of the condition."""
        condition = json.loads(self.condition) | changes
        return self.make(
            self.task, self.method if method is None else method,
            self.seed if seed is None else seed, **condition,
        )

    @property
    def key(self) -> str:
        """The digest that the cell is stored under."""
        text = json.dumps([source_digest(), asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Digest of the code that decides figures, with that of plugins."""
    digest = hashlib.sha256()
    # Not delama_ros.__file__: that may be the folder of the generated messages.
    for root in (Path(__file__).parents[1], Path(delama_sim.__file__).parent):
        for path in sorted(root.rglob('*.py')):
            if path.relative_to(root).parts[0] not in IGNORED:
                digest.update(path.read_bytes())
    for path in plugins.files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Cache:
    """Computed cells as files, one per cell."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def get(self, cell: Cell) -> Figures | None:
        """Return the figures of a cell, or None; a damaged file counts as missing."""
        try:
            content = json.loads(self._path(cell).read_text())
        except (OSError, ValueError):
            return None
        figures: Figures | None = content.get('figures')
        return figures

    def put(self, cell: Cell, figures: Figures) -> None:
        """Store the figures of a cell, whole or not at all."""
        path = self._path(cell)
        part = path.with_suffix(f'.{os.getpid()}')
        part.write_text(json.dumps({'cell': asdict(cell), 'figures': figures}) + '\n')
        part.replace(path)

    def _path(self, cell: Cell) -> Path:
        return self._folder / f'{cell.task}-{cell.method}-{cell.key}.json'


class Runner:
    """Computes cells in several processes, keeps them, and shows the time left."""

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        """Keep cells in FOLDER/cells."""
        self._cache = Cache(folder / 'cells')
        self._jobs = jobs

    def run(
        self, cells: Sequence[Cell], compute: Callable[[Cell], Figures], what: str = 'cells'
    ) -> dict[Cell, Figures]:
        """Return the figures of all cells and compute those that are missing.

        Args:
            cells: What to compute; duplicates are computed once.
            compute: Returns the figures of a cell as JSON values; runs in other processes.
            what: Name of the cells for the progress line.

        Returns:
            Figures by cell.

        """
        cells = list(dict.fromkeys(cells))
        found = {cell: figures for cell in cells if (figures := self._cache.get(cell)) is not None}
        missing = [cell for cell in cells if cell not in found]
        progress = Progress(len(missing), what)
        for cell, figures in self._computed(missing, compute):
            self._cache.put(cell, figures)
            # As JSON gives them back: computed now or before must make no difference.
            found[cell] = json.loads(json.dumps(figures))
            progress.step()
        progress.end()
        return found

    def _computed(
        self, cells: Sequence[Cell], compute: Callable[[Cell], Figures]
    ) -> Iterator[tuple[Cell, Figures]]:
        if self._jobs <= 1 or len(cells) <= 1:
            for cell in cells:
                yield cell, compute(cell)
            return
        specs = plugins.specs()
        with ProcessPoolExecutor(self._jobs, initializer=plugins.load, initargs=specs) as pool:
            futures = {pool.submit(compute, cell): cell for cell in cells}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class Progress:
    """One line on a terminal: what is done and how much time is left."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what, self._done = total, what, 0
        self._began = time.monotonic()
        self._shown = sys.stderr.isatty() and total > 0

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        spent = time.monotonic() - self._began
        left = spent / self._done * (self._total - self._done)
        text = f'{self._done} of {self._total} {self._what}, {duration(left)} left'
        if self._shown:
            print(f'\r{text:<60}', end='', file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            print(f'\r{"":<60}\r', end='', file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Return a duration in its largest two units."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f'{minutes} min {rest} s' if minutes else f'{rest} s'
    return f'{minutes // 60} h {minutes % 60} min'
