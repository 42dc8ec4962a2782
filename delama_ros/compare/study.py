"""A comparison as a set of cells, each computed once and kept: settings chosen, then tested."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

VERSION = 2  # raised when cells computed before would come out otherwise

Kind: TypeAlias = Literal['tune', 'test']
Figures: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """How much is spent; the paper's appendix has 100 rounds of 5 iterations per step."""

    rounds: int = 100
    local: int = 5
    sequences: int = 20  # tested per seed
    validation: int = 5  # sequences that settings are chosen on
    horizon: int = 0  # their first steps that plain settings are chosen on, 0 for all
    full: bool = False  # plain networks of images are as large as DeLAMA's backbone


@dataclass(frozen=True)
class Cell:
    """One thing to compute; everything that decides its outcome is here."""

    kind: Kind
    task: str
    method: str
    setup: str  # 'plain', 'strong' or 'delama'
    seed: int
    sizes: Sizes
    model: str  # fingerprint of the trained network that the cell uses, '' for none
    setting: str = ''  # JSON of what was chosen, for tests

    @property
    def key(self) -> str:
        """Return the name the cell is kept under."""
        text = json.dumps([VERSION, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Cache:
    """Computed cells as files, one per cell."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def get(self, cell: Cell) -> Figures | None:
        """Return what a cell came to, or None; damaged files count as absent."""
        try:
            content = json.loads(self._path(cell).read_text())
        except (OSError, ValueError):
            return None
        figures: Figures | None = content.get('figures')
        return figures

    def put(self, cell: Cell, figures: Figures) -> None:
        """Keep what a cell came to; a stopped program leaves no half file."""
        path = self._path(cell)
        part = path.with_suffix(f'.{os.getpid()}')
        part.write_text(json.dumps({'cell': asdict(cell), 'figures': figures}) + '\n')
        part.replace(path)

    def _path(self, cell: Cell) -> Path:
        setup = Path(cell.setup).stem  # of mapping it is a plan, which may be a file
        return self._folder / f'{cell.task}-{cell.method}-{setup}-{cell.kind}-{cell.key}.json'


def compute_all(
    cells: Sequence[Cell],
    work: Callable[[Cell], Figures],
    cache: Cache,
    *,
    jobs: int,
    done: Callable[[Cell], None] = lambda cell: None,
) -> dict[Cell, Figures]:
    """Compute what is missing, in several processes; done is called after each cell."""
    results = {cell: found for cell in cells if (found := cache.get(cell)) is not None}
    for cell in results:
        done(cell)
    for cell, figures in _computed([c for c in cells if c not in results], work, jobs):
        cache.put(cell, figures)
        results[cell] = figures
        done(cell)
    return results


def _computed(
    cells: Sequence[Cell], work: Callable[[Cell], Figures], jobs: int
) -> Iterator[tuple[Cell, Figures]]:
    if jobs <= 1 or len(cells) <= 1:
        for cell in cells:
            yield cell, work(cell)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, cell): cell for cell in cells}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
