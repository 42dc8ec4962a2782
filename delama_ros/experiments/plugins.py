"""Tasks and comparison methods from outside the package: `--plugin` and entry points.

A plugin is one class in a module of its own. With `draw` and `inputs` it is a task (see
`tasks/task.py`), with `step` it is a comparison method (see `baselines/method.py`). It is named on
the command line as `module:Class` or `path/to/file.py:Class`; an installed distribution may list it
in the entry-point group `delama_ros.tasks` or `delama_ros.methods` instead.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

GROUPS = {'task': 'delama_ros.tasks', 'method': 'delama_ros.methods'}

_loaded: dict[str, type[Any]] = {}  # by specification


def load(*specs: str) -> None:
    """Load plugins for this process.

    Args:
        specs: Each `module:Class` or `file.py:Class`.

    Raises:
        ValueError: There is no such module or class, or it is neither a task nor a method.

    """
    for spec in specs:
        if spec not in _loaded:
            _loaded[spec] = _class(spec)


def specs() -> tuple[str, ...]:
    """Return the specifications loaded so far, for other processes to load."""
    return tuple(_loaded)


def files() -> list[Path]:
    """Return the source files of all plugins."""
    return sorted({Path(inspect.getfile(kind)) for kind in _loaded.values()})


def tasks() -> dict[str, type[Any]]:
    """Return the classes of tasks by the name of the task."""
    return _of_kind('task')


def methods() -> dict[str, type[Any]]:
    """Return the classes of comparison methods by the name of the method."""
    return _of_kind('method')


def _of_kind(kind: str) -> dict[str, type[Any]]:
    for point in entry_points(group=GROUPS[kind]):
        load(point.value)
    return {found.name: found for found in _loaded.values() if _kind(found) == kind}


def _kind(found: type[Any]) -> str | None:
    if hasattr(found, 'draw') and hasattr(found, 'inputs'):
        return 'task'
    return 'method' if hasattr(found, 'step') else None


def _class(spec: str) -> type[Any]:
    module, colon, name = spec.rpartition(':')
    if not colon or not module or not name:
        raise ValueError(f'--plugin is {spec!r}, expected module:Class or file.py:Class')
    found = getattr(_module(spec, module), name, None)
    if not inspect.isclass(found) or _kind(found) is None:
        raise ValueError(
            f'--plugin is {spec!r}, expected a class with draw and inputs (a task) or with step '
            '(a method)'
        )
    if not isinstance(getattr(found, 'name', None), str):
        raise ValueError(f'{spec}: has no name, expected a class attribute such as name = "own"')
    return found


def _module(spec: str, module: str) -> ModuleType:
    try:
        if not module.endswith('.py'):
            if '' not in sys.path:
                sys.path.insert(0, '')  # modules in the working directory
            return importlib.import_module(module)
        path = Path(module)
        name = f'delama_plugin_{path.stem}'
        described = importlib.util.spec_from_file_location(name, path)
        if described is None or described.loader is None or not path.is_file():
            raise ValueError(f'--plugin is {spec!r}: there is no file {path}')
        loaded = importlib.util.module_from_spec(described)
        sys.modules[name] = loaded
        described.loader.exec_module(loaded)
    except ImportError as error:
        raise ValueError(f'--plugin is {spec!r}: {error}') from error
    return loaded
