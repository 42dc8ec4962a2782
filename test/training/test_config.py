"""Settings of a run: what does not belong is refused by name, with what would be right."""

from dataclasses import dataclass
from typing import Literal

import pytest

from delama_ros.training.config import configure, read_file


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    rate: float = 1e-3
    graph: Literal['full', 'random'] = 'full'
    noise: tuple[float, ...] = (0.1, 0.3)
    fresh: bool = True


def test_values_become_settings(tmp_path) -> None:
    file = tmp_path / 'run.yaml'
    file.write_text('seed: 3\nrate: 2e-3\ngraph: random\nnoise: [1, 2.5]\nfresh: no\n')
    assert configure(Settings, read_file(file)) == Settings(3, 2e-3, 'random', (1.0, 2.5), False)
    file.write_text('')
    assert configure(Settings, read_file(file)) == Settings()


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'sead': 1}, ['sead', 'seed, rate, graph']),
        ({'seed': 'many'}, ['seed', "'many'", 'int']),
        ({'seed': True}, ['seed', 'True', 'int']),
        ({'seed': 1.5}, ['seed', '1.5', 'int']),
        ({'rate': 'quick'}, ['rate', "'quick'", 'float']),
        ({'rate': None}, ['rate', 'None', 'float']),
        ({'graph': 'ring'}, ['graph', "'ring'", 'full, random']),
        ({'noise': 0.3}, ['noise', '0.3', 'list']),
        ({'noise': [0.3, 'a']}, ['noise', "'a'", 'float']),
        ({'fresh': 1}, ['fresh', '1', 'bool']),
    ],
)
def test_what_does_not_belong_is_named(values, words) -> None:
    with pytest.raises(ValueError, match='expected') as caught:
        configure(Settings, values)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ('text', 'word'), [('- 1\n- 2\n', 'list'), ('a: [', 'not YAML'), (None, 'No such file')]
)
def test_files_that_hold_no_settings(tmp_path, text, word) -> None:
    file = tmp_path / 'run.yaml'
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=word) as caught:
        read_file(file)
    assert '\n' not in str(caught.value)
