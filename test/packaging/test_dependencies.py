"""package.xml: what the code imports is declared, and rosdep can install what is declared."""

import ast
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from delama_ros.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
KNOWN = yaml.safe_load((Path(__file__).parent / 'rosdep_keys.yaml').read_text())
OURS = {'delama_ros', 'delama_sim'}
# Keys are named after packages, except for these modules.
KEYS = {'PIL': 'python3-pil'}
COMES_WITH = {'pydantic': 'fastapi', 'starlette': 'fastapi'}
# What rosdep does not install; whoever needs it is told which extra has it.
EXTRA = {name for name, extra in EXTRAS.items() if extra in ('logs', 'train', 'test')}


def declared(distro: str, *tags: str) -> set[str]:
    """Return the keys that package.xml has for a distribution, under these tags or all."""
    keys = set()
    for element in ET.parse(ROOT / 'package.xml').getroot():
        if element.tag in tags or (not tags and element.tag.endswith('depend')):
            condition = element.get('condition', 'True').replace('$ROS_DISTRO', repr(distro))
            if eval(' '.join(_quoted(condition))):
                assert element.text is not None
                keys.add(element.text)
    return keys


def _quoted(condition: str) -> Iterator[str]:
    for word in condition.split():
        plain = word in ('==', '!=', 'and', 'or', 'True') or word.startswith("'")
        yield word if plain else repr(word)


def imported(*folders: str) -> dict[str, Path]:
    """Return the modules that files import, without ours and those of Python."""
    found: dict[str, Path] = {}
    for file in (file for folder in folders for file in (ROOT / folder).rglob('*.py')):
        for node in ast.walk(ast.parse(file.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            found |= {name.partition('.')[0]: file for name in names}
    beside = {file.stem for folder in folders for file in (ROOT / folder).rglob('*.py')}
    return {n: f for n, f in found.items() if n not in sys.stdlib_module_names | OURS | beside}


def key(module: str) -> str:
    module = COMES_WITH.get(module, module)
    return KEYS.get(module, module if module in KNOWN['packages'] else f'python3-{module}')


@pytest.mark.parametrize('distro', ['jazzy', 'kilted', 'rolling'])
def test_rosdep_can_install_what_is_declared(distro: str) -> None:
    keys = declared(distro)
    assert len(keys) > 30
    assert keys <= set(KNOWN['packages']) | set(KNOWN['apt'])
    on_noble = distro in ('jazzy', 'kilted')
    assert not on_noble or {k for k in keys if KNOWN['apt'].get(k, k) is None} == set()
    assert ('python3-numba' in keys) == (not on_noble)


def test_what_is_imported_is_declared() -> None:
    run = declared('rolling', 'depend', 'exec_depend')
    needed = imported('delama_ros', 'sim', 'launch')
    assert {'numpy', 'rclpy', 'launch', 'fastapi'} <= set(needed)
    assert {m: f for m, f in needed.items() if key(m) not in run and m not in EXTRA} == {}
    with_tests = run | declared('rolling', 'test_depend')
    tested = imported('test', 'examples')
    assert {m: f for m, f in tested.items() if key(m) not in with_tests and m not in EXTRA} == {}


def test_nothing_is_declared_in_vain() -> None:
    generators = {'rosidl_default_runtime', 'ros2launch', 'rviz2'}  # run, but not imported
    run = declared('rolling', 'exec_depend')
    needed = {key(module) for module in imported('delama_ros', 'sim', 'launch', 'test')}
    assert run - needed == generators
