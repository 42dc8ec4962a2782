"""The table of equations in docs/algorithm.md names functions that exist."""

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_functions_of_the_table_exist():
    text = (ROOT / 'docs' / 'algorithm.md').read_text()
    table = text.partition('## Where each equation is')[2].partition('\n## ')[0]
    rows = [line.split('|')[3] for line in table.splitlines() if line.startswith('| ')][1:]
    checked = 0
    for row in rows:
        module = None
        for name in re.findall(r'`([^`]+)`', row):
            if name.endswith('.py'):
                assert (ROOT / 'delama_ros' / name).exists(), name
                continue
            parts = name.split('.')
            path = ROOT / 'delama_ros' / 'core'
            while parts and ((path / parts[0]).is_dir() or (path / f'{parts[0]}.py').exists()):
                path /= parts.pop(0)
                dotted = '.'.join(path.relative_to(ROOT).parts)
                module = importlib.import_module(dotted)
            value = module
            for part in parts:
                value = getattr(value, part)
            assert value is not None, name
            checked += 1
    assert checked > 25
