"""Imports run one way: a package imports only those before it in the list below."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# From the bottom up; each may import what stands before it. Single modules beside the packages
# have their place too: errors, extras, resources and signals at the bottom, output above them.
LAYERS = (
    ('errors', 'extras', 'resources', 'signals'),
    ('geometry', 'output'),
    ('core', 'localization', 'delama_sim'),
    ('transport',),
    ('mapping',),
    ('rendezvous',),
    ('robot', 'data', 'training'),
    ('experiments',),
    ('web',),
    ('ros',),
    ('simulation',),
    ('swarm',),
    ('bench',),
    ('cli',),
)
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
DOTTED = re.compile(r'delama_(ros|sim)(\.\w*)+')  # also the start of an f-string
GENERATED = {'msg', 'srv'}  # by rosidl, from msg/ and srv/
# What runs on a robot: it must not need the simulator, nor anything that only a desk has.
ON_A_ROBOT = (
    'geometry', 'core', 'transport', 'mapping', 'localization', 'rendezvous', 'robot', 'ros',
)

# What may know ROS: nodes and what starts them. All else runs where there is no ROS.
KNOWS_ROS = ('ros', 'simulation', 'swarm')
ROS = re.compile(r'(rclpy|delama_ros\.(msg|srv))(\.|$)')


def package_of(module: str) -> str | None:
    """Return the package that a dotted name belongs to, if it is ours."""
    first, *rest = module.split('.')
    if first == 'delama_sim':
        return first
    return rest[0] if first == 'delama_ros' and rest else None


def imports(path: Path) -> list[str]:
    """Return the dotted names that a module imports, at its top or later, or names in a string.

    Strings count because modules are also loaded by name: import_module('delama_ros.ros.robot').
    """
    return imports_of(path.read_text())


def imports_of(source: str) -> list[str]:
    """Return the same for the text of a module."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
            if node.module == 'delama_ros':
                names += [f'delama_ros.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and DOTTED.fullmatch(str(node.value)):
            names.append(str(node.value))
    return names


def sources() -> list[tuple[str, Path]]:
    """Return every module of ours with the package that it belongs to."""
    found = []
    for path in sorted((ROOT / 'delama_ros').rglob('*.py')):
        parts = path.relative_to(ROOT / 'delama_ros').with_suffix('').parts
        if parts != ('__init__',):
            found.append((parts[0], path))
    return found + [('delama_sim', p) for p in sorted((ROOT / 'sim/delama_sim').rglob('*.py'))]


def test_every_package_has_its_layer():
    unknown = {package for package, _ in sources()} - set(LEVEL)
    assert not unknown, f'add {unknown} to LAYERS, or move what is in them'


def test_modules_named_in_strings_count_as_imports():
    source = "import json\nmain('delama_ros.cli.main')\nload(f'delama_ros.bench.{part}')\n'a text'"
    assert {package_of(name) for name in imports_of(source)} == {None, 'bench', 'cli'}


def test_imports_are_absolute():
    wrong = [
        f'{path.relative_to(ROOT)}:{node.lineno}'
        for _, path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not wrong, f'relative imports in {", ".join(wrong)}'


def test_imports_run_one_way():
    wrong = [
        f'{path.relative_to(ROOT)} imports {name}: {package} must not know {target}'
        for package, path in sources()
        for name in imports(path)
        if (target := package_of(name)) is not None
        and target not in {package, *GENERATED}
        and target in LEVEL
        and LEVEL[target] >= LEVEL[package]
    ]
    assert not wrong, '\n'.join(wrong)


def test_only_nodes_and_what_starts_them_know_ros():
    assert all(map(ROS.match, ('rclpy', 'rclpy.node', 'delama_ros.msg', 'delama_ros.srv')))
    wrong = [
        f'{path.relative_to(ROOT)} imports {name}'
        for package, path in sources()
        if package not in KNOWS_ROS
        for name in imports(path)
        if ROS.match(name)
    ]
    assert not wrong, '\n'.join(wrong)


@pytest.mark.parametrize('package', ON_A_ROBOT)
def test_what_robots_run_does_not_know_the_simulator(package):
    wrong = [
        f'{path.relative_to(ROOT)} imports {name}'
        for owner, path in sources()
        if owner == package
        for name in imports(path)
        if name.split('.')[0] == 'delama_sim'
    ]
    assert not wrong, '\n'.join(wrong)


def test_the_robot_program_loads_neither_torch_nor_simulator_nor_web():
    code = (
        'import sys, delama_ros.ros.robot; print([m for m in sys.modules if m.split(".")[0] in '
        '("torch", "delama_sim", "fastapi", "matplotlib", "rosbags") '
        'or m.startswith(("delama_ros.web", "delama_ros.experiments"))])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'
