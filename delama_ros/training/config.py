"""Settings of a training run: YAML and NAME=VALUE into dataclasses, every value checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

from delama_ros.resources import resource

T = TypeVar('T')


def read_file(path: str | Path) -> dict[str, Any]:
    """Return the settings in a YAML file; ValueError names what is wrong with it."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise ValueError(f'{path}: cannot be read: {error.strerror}') from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f'{path}: is not YAML: {" ".join(str(error).split())}') from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ValueError(f'{path}: holds {type(values).__name__}, expected settings "name: value"')
    return values


def task_settings(task: str) -> dict[str, Any]:
    """Return the settings that the package has for a task, none for one from outside it."""
    try:
        return read_file(resource(f'config/train_{task}.yaml'))
    except FileNotFoundError:
        return {}


def run_settings(task: str, file: str | None, changes: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a run.

    Args:
        task: Name of the task.
        file: YAML file; None: that of the package, config/train_TASK.yaml.
        changes: NAME=VALUE each, in place of what the file has; VALUE is YAML.

    Returns:
        Settings by name.

    Raises:
        ValueError: The file or a change cannot be read.

    """
    values = read_file(file) if file else task_settings(task)
    for change in changes:
        name, equals, value = change.partition('=')
        if not equals:
            raise ValueError(f'--set is {change!r}, expected NAME=VALUE')
        try:
            values[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ValueError(f'{name} is {value!r}, expected a YAML value') from None
    return values


def configure(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make a dataclass of ints, floats, strings, choices, flags and lists of these."""
    made: T = configure_all((kind,), values)[0]
    return made


def configure_all(kinds: tuple[type, ...], values: Mapping[str, Any]) -> list[Any]:
    """Make several dataclasses from one set of settings; each takes those it knows."""
    names = [[f.name for f in fields(kind)] for kind in kinds]
    known = [name for part in names for name in part]
    for name in values:
        if name not in known:
            raise ValueError(f'{name} is not a setting, expected one of: {", ".join(known)}')
    made = []
    for kind, part in zip(kinds, names, strict=True):
        hints = get_type_hints(kind)
        own = {name: values[name] for name in part if name in values}
        made.append(kind(**{name: _checked(name, v, hints[name]) for name, v in own.items()}))
    return made


def _checked(name: str, value: Any, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError(f'{name} is {value!r}, expected one of: {_words(get_args(hint))}')
        return value
    if get_origin(hint) is tuple:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f'{name} is {value!r}, expected a list')
        return tuple(_checked(name, item, get_args(hint)[0]) for item in value)
    # A flag is an int to Python, never to us; YAML reads 1e-3 as text.
    if hint is float and not isinstance(value, bool):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    elif isinstance(value, hint) and isinstance(value, bool) == (hint is bool):
        return value
    raise ValueError(f'{name} is {value!r}, expected {hint.__name__}')


def _words(choices: tuple[Any, ...]) -> str:
    return ', '.join(str(choice) for choice in choices)


def require(name: str, value: Any, right: bool, expected: str) -> None:
    """Reject a setting of the right type and a value that makes no sense."""
    if not right:
        raise ValueError(f'{name} is {value}, expected {expected}')
