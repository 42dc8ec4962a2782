"""The figures that the paper prints, to stand beside ours (its tables 2 to 6, printed.yaml)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Figures = dict[str, dict[int, float]]  # method → step → figure


@dataclass(frozen=True)
class Table:
    """One of the paper's tables: the steps shown, and whether it compares graphs."""

    title: str
    steps: list[int]
    graphs: bool = False


_TASKS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix('.yaml').read_text())

TABLES = {name: [Table(**table) for table in task['tables']] for name, task in _TASKS.items()}
PRINTED: dict[str, Figures] = {name: task['scores'] for name, task in _TASKS.items()}
GRAPH_ERRORS: dict[str, Figures] = {
    name: task.get('graph_errors', {}) for name, task in _TASKS.items()
}
