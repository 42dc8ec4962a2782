"""Output of commands: aligned tables and JSON files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from delama_ros.errors import UserError


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: the first column to the left, figures to the right."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return '  '.join([first, *others])

    rule = '  '.join('-' * width for width in widths)
    return '\n'.join([line(header), rule, *map(line, rows)])


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    print(format_table(header, rows))


def write_json(path: str | Path, figures: Any) -> None:
    """Write figures as JSON."""
    try:
        text = json.dumps(_finite(figures), indent=2, allow_nan=False)
        Path(path).write_text(text + '\n')
    except OSError as error:
        raise UserError(f'cannot write {path}: {error.strerror}') from error


def _finite(value: Any) -> Any:
    """Return a value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
