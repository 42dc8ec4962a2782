"""The examples run from any folder and show what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples'


def run(name: str, folder: Path) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / 'sim'), os.environ.get('PYTHONPATH', '')])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], cwd=folder, capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': path}, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_agents_find_their_partners_in_under_twenty_lines(tmp_path) -> None:
    text = run('agents_regression.py', tmp_path)
    for agent, partner, stranger in (('ann', 'ben', 'cleo'), ('dan', 'cleo', 'ben')):
        (line,) = (line for line in text.splitlines() if line.startswith(agent))
        weights = {name: float(w) for name, w in re.findall(r"'(\w+)': ([\d.]+)", line)}
        assert weights[partner] > 5 * weights[stranger]
    code = (EXAMPLES / 'agents_regression.py').read_text().splitlines()[1:]
    assert len([line for line in code if line and not line.startswith(('import', 'from'))]) < 20


def test_robots_map_a_flat_and_draw_it(tmp_path) -> None:
    text = run('robots_mapping.py', tmp_path)
    assert (tmp_path / 'robots_mapping.png').read_bytes().startswith(b'\x89PNG')
    f1 = [float(line.split()[3]) for line in text.splitlines() if line.startswith('step')]
    assert f1[-1] > f1[0] + 5
    assert f1[-1] > 70


def test_a_task_from_outside_is_trained_and_tested(tmp_path) -> None:
    text = run('own_task.py', tmp_path)
    assert (tmp_path / 'runs/waves/seed0/bayes.npz').exists()
    rows = {line.split()[0] for line in text.splitlines() if line.strip()}
    assert {'alone', 'bayes', 'last_step'} <= rows


def test_a_method_from_outside_stands_in_the_table(tmp_path) -> None:
    text = run('own_method.py', tmp_path)
    rows = [line.split() for line in text.splitlines() if line.startswith(('gossip', 'dsgd'))]
    assert [row[0] for row in rows] == ['gossip', 'dsgd']
    assert all(row[1:3] == ['gradient', 'plain'] for row in rows)
    assert any('ahead of' in line for line in text.splitlines())


@pytest.mark.parametrize('name', sorted(path.name for path in EXAMPLES.glob('*.py')))
def test_examples_start_with_what_they_show(name) -> None:
    assert (EXAMPLES / name).read_text().startswith('"""')
