"""Communication graphs: full, Erdős–Rényi and Barabási–Albert of a given density, or from a file.

Connectivity is the share of possible links that exist, so that 1 is the full graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Links = NDArray[np.bool_]

EXPECTED = 'expected full, er:CONNECTIVITY, ba:CONNECTIVITY (such as er:0.3) or a file'


def check(spec: str, agents: int) -> None:
    """Refuse a graph that cannot be drawn for so many agents."""
    draw(spec, np.random.default_rng(0), 1, agents)


def draw(spec: str, rng: np.random.Generator, batch: int, agents: int) -> Links:
    """Return symmetric links (batch, N, N) without self-loops; a graph per sequence."""
    kind, _, number = spec.partition(':')
    if spec == 'full':
        return np.broadcast_to(~np.eye(agents, dtype=bool), (batch, agents, agents)).copy()
    if kind in ('er', 'ba'):
        return (_erdos_renyi if kind == 'er' else _barabasi_albert)(
            rng, batch, agents, _connectivity(spec, number)
        )
    return np.repeat(_from_file(Path(spec), agents)[None], batch, 0)


def _connectivity(spec: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise ValueError(f'graph is {spec!r}, expected a connectivity above 0 and up to 1')
    return value


def _erdos_renyi(
    rng: np.random.Generator, batch: int, agents: int, connectivity: float
) -> Links:
    upper = np.triu(rng.random((batch, agents, agents)) < connectivity, 1)
    return upper | np.swapaxes(upper, 1, 2)


def _barabasi_albert(
    rng: np.random.Generator, batch: int, agents: int, connectivity: float
) -> Links:
    """Grow from a star: each newcomer links to m others, chosen in proportion to their degree.

    m is the number whose m (N − m) links come nearest to the connectivity.
    """
    sizes = np.arange(1, max(2, agents // 2 + 1))
    wanted = connectivity * agents * (agents - 1) / 2
    m = int(sizes[np.argmin(abs(sizes * (agents - sizes) - wanted))])
    links = np.zeros((batch, agents, agents), dtype=bool)
    links[:, 0, 1 : m + 1] = links[:, 1 : m + 1, 0] = True
    rows = np.arange(batch)[:, None]
    for newcomer in range(m + 1, agents):
        degree = links[:, :newcomer].sum(-1)
        # The m largest of log degree + Gumbel noise are a draw without replacement.
        keys = np.log(degree) + rng.gumbel(size=degree.shape)
        chosen = np.argsort(-keys, -1)[:, :m]
        links[rows, newcomer, chosen] = links[rows, chosen, newcomer] = True
    # Who came first is no property of an agent's number.
    order = rng.permuted(np.tile(np.arange(agents), (batch, 1)), axis=1)
    mixed: Links = links[rows[..., None], order[:, :, None], order[:, None, :]]
    return mixed


def _from_file(path: Path, agents: int) -> Links:
    """Read an N × N matrix of 0 and 1 as text, one row per line."""
    try:
        matrix = np.loadtxt(path, ndmin=2)
    except OSError:
        raise ValueError(f'graph is {str(path)!r}: there is no such file, {EXPECTED}') from None
    except ValueError as error:
        raise ValueError(f'graph {path} is no matrix of numbers: {error}') from None
    if matrix.shape != (agents, agents):
        raise ValueError(f'graph {path} is {matrix.shape}, expected a row and column per agent '
                         f'({agents})')
    if not np.isin(matrix, (0, 1)).all() or (matrix != matrix.T).any():
        raise ValueError(f'graph {path}: expected 0 and 1 only, the same in both directions')
    return (matrix > 0) & ~np.eye(agents, dtype=bool)
