"""Docstrings of what the public packages export say what goes in, what comes out and what can fail.

The rule, for each function of an `__all__` and each public method that a class in it defines:

* it has a docstring of its own;
* with parameters (besides self) it has an `Args:` section that names each of them. A sole
  parameter may instead be named, or its shape given, in the summary;
* with a result it has a `Returns:` section, or a summary that starts with 'Return';
* if its own body raises, it has a `Raises:` section that names the errors.

A method that fulfils an interface (`Protocol`) needs no sections beside those of the interface, and
a property none at all. An `__init__` written by hand follows the rule; the fields of a dataclass
have comments beside them. Constants and unions have no docstring of their own: that of the package
names them.
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

import pytest

PUBLIC = ('delama_ros.core', 'delama_ros.core.agent', 'delama_ros.mapping', 'delama_sim')


def exported(package: str) -> Iterator[tuple[str, object]]:
    """Return the names of an `__all__` with what they stand for."""
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        # Below what caches a result is the function itself.
        yield f'{package}.{name}', inspect.unwrap(value) if callable(value) else value


def is_interface(value: object) -> bool:
    """Return whether a value is a Protocol."""
    return inspect.isclass(value) and getattr(value, '_is_protocol', False)


INTERFACES = [value for p in PUBLIC for _, value in exported(p) if is_interface(value)]


def fulfilled(owner: type) -> set[str]:
    """Return the methods of a class that belong to an interface which it fulfils."""
    found: set[str] = set()
    for interface in INTERFACES:
        asked = {name for name in vars(interface) if not name.startswith('_')}
        if owner is not interface and all(
            hasattr(owner, name) or not inspect.isfunction(vars(interface)[name]) for name in asked
        ):
            found |= asked
    return found


def functions(package: str) -> Iterator[tuple[str, Callable]]:
    """Return the functions and methods under the rule, with their names."""
    for name, value in exported(package):
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            excused = fulfilled(value)
            for method, member in vars(value).items():
                member = getattr(member, '__func__', member)  # static and class methods
                if not inspect.isfunction(member) or method in excused:
                    continue
                written = inspect.getsourcefile(member) == inspect.getsourcefile(value)
                created = written and method == '__init__' and not is_interface(value)
                if created or not method.startswith('_'):
                    yield f'{name}.{method}', member


def raised(function: Callable) -> set[str]:
    """Return the names of the errors that the function's own body raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found.add(ast.unparse(error).rpartition('.')[2])
    return found


def section(text: str, title: str) -> str:
    """Return the indented lines under 'title:', or an empty string."""
    found = re.search(rf'^{title}:\n((?:(?: .*)?\n?)+)', text, re.MULTILINE)
    return found[1] if found else ''


def complaints(function: Callable) -> list[str]:
    """Return what the docstring of a function lacks."""
    text = inspect.cleandoc(function.__doc__ or '')
    if not text:
        return ['no docstring']
    summary = ' '.join(text.partition('\n\n')[0].split())
    signature = inspect.signature(function)
    names = [name for name in signature.parameters if name not in ('self', 'cls')]
    described = section(text, 'Args')
    found = []
    for name in names:
        listed = re.search(rf'^ +\*{{0,2}}{name}\b.*:', described, re.MULTILINE)
        # A sole parameter: by its name, in the singular or plural, or by its shape.
        told = len(names) == 1 and re.search(rf'\b{name.rstrip("s")}|\(.*\)', summary)
        if not listed and not told:
            found.append(f'Args: {name}')
    silent = signature.return_annotation in (None, 'None', inspect.Signature.empty)
    if not silent and not summary.startswith('Return') and not section(text, 'Returns'):
        found.append('Returns')
    errors = section(text, 'Raises')
    found += [f'Raises: {name}' for name in sorted(raised(function)) if name not in errors]
    return found


@pytest.mark.parametrize('package', PUBLIC)
def test_public_functions_say_what_goes_in_and_out(package):
    lacking = {name: found for name, value in functions(package) if (found := complaints(value))}
    assert not lacking, '\n'.join(f'{name}: {", ".join(found)}' for name, found in lacking.items())


@pytest.mark.parametrize('package', PUBLIC)
def test_public_classes_and_constants_are_described(package):
    described = importlib.import_module(package).__doc__ or ''
    lacking = []
    for name, value in exported(package):
        if inspect.isclass(value):
            text = vars(value).get('__doc__') or ''
            if not text or text.startswith(f'{value.__name__}('):  # as a dataclass writes it
                lacking.append(name)
            lacking += [
                f'{name}.{member}'
                for member, inner in vars(value).items()
                if isinstance(inner, property) and not member.startswith('_') and not inner.__doc__
            ]
        elif not inspect.isfunction(value) and name.rpartition('.')[2] not in described:
            lacking.append(f'{name}, which the docstring of the package has to name')
    assert not lacking, 'no docstring: ' + ', '.join(lacking)


def test_the_rule_notices_what_is_missing():
    def undescribed(length: float, width: float) -> float:
        """Multiply."""
        if length < 0:
            raise ValueError('length')
        return length * width

    def sole(length: float) -> float:
        """Return the length doubled."""
        return 2 * length

    def full(length: float, width: float) -> float:
        """Multiply.

        Args:
            length: m.
            width: m.

        Returns:
            The area, m².

        Raises:
            ValueError: if the length is negative.
        """
        if length < 0:
            raise ValueError('length')
        return length * width

    wanted = ['Args: length', 'Args: width', 'Returns', 'Raises: ValueError']
    assert complaints(undescribed) == wanted
    assert complaints(sole) == complaints(full) == []
