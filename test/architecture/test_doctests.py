"""Examples in docstrings run, and the public packages have some."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = {'delama_ros.core', 'delama_ros.core.agent', 'delama_ros.mapping', 'delama_sim'}


def modules() -> list[str]:
    """Return the modules that hold examples."""
    found = []
    for root in (ROOT, ROOT / 'sim'):
        for package in ('delama_ros', 'delama_sim'):
            for path in sorted((root / package).rglob('*.py')):
                if '>>> ' in path.read_text():
                    parts = path.relative_to(root).with_suffix('').parts
                    found.append('.'.join(parts[:-1] if parts[-1] == '__init__' else parts))
    return found


@pytest.mark.parametrize('name', modules())
def test_examples_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert not failed


def test_public_packages_have_examples():
    assert set(modules()) >= {*PUBLIC, 'delama_ros.geometry.poses'}


@pytest.mark.parametrize(
    'name', [*sorted(PUBLIC), 'delama_ros.localization', 'delama_ros.rendezvous']
)
def test_public_names_exist_and_are_documented(name):
    package = importlib.import_module(name)
    names = package.__all__
    assert names == sorted(names, key=lambda n: (not n.isupper(), n[0].islower(), n))
    for public in names:
        value = getattr(package, public)
        assert value.__doc__, f'{name}.{public}'
