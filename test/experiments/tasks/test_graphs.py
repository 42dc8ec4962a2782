"""Communication graphs: as dense as asked for, symmetric, and refused if they cannot be drawn."""

import numpy as np
import pytest

from delama_ros.core.graph import components
from delama_ros.experiments.tasks import graphs


@pytest.mark.parametrize(
    ('spec', 'density'),
    [('full', 1.0), ('er:0.3', 0.3), ('er:0.5', 0.5), ('ba:0.3', 5 / 15), ('ba:0.5', 8 / 15)],
)
def test_density(spec, density) -> None:
    links = graphs.draw(spec, np.random.default_rng(0), 2000, 6)
    assert links.shape == (2000, 6, 6)
    assert (links == np.swapaxes(links, 1, 2)).all()
    assert not np.einsum('bii->bi', links).any()
    assert links.sum() / (2000 * 30) == pytest.approx(density, abs=0.02)


def test_barabasi_albert_is_connected_and_has_hubs() -> None:
    links = graphs.draw('ba:0.3', np.random.default_rng(1), 500, 12)
    assert (components(links, np.zeros((12, 12))) == 1).all()
    spread = graphs.draw('er:0.16', np.random.default_rng(1), 500, 12)  # as many links
    assert links.sum(-1).max(-1).mean() > spread.sum(-1).max(-1).mean()
    # Any agent may be the hub.
    assert np.bincount(links.sum(-1).argmax(-1), minlength=12).min() > 0


def test_from_file(tmp_path) -> None:
    file = tmp_path / 'graph.txt'
    file.write_text('0 1 0\n1 0 1\n0 1 0\n')
    links = graphs.draw(str(file), np.random.default_rng(0), 2, 3)
    assert links.tolist() == [[[False, True, False], [True, False, True], [False, True, False]]] * 2


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('0 1\n1 0\n', ['(2, 2)', '3']),
        ('0 1 0\n0 0 1\n0 1 0\n', ['both directions']),
        ('0 1 x\n', ['no matrix']),
        (None, ['no such file', 'er:']),
    ],
)
def test_files_that_are_no_graph(tmp_path, text, words) -> None:
    file = tmp_path / 'graph.txt'
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match='graph') as caught:
        graphs.check(str(file), 3)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize('spec', ['er:0', 'er:much', 'ba:1.5', 'er:'])
def test_connectivity_out_of_range(spec) -> None:
    with pytest.raises(ValueError, match='above 0 and up to 1'):
        graphs.check(spec, 6)
