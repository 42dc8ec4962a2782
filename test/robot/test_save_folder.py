"""Where services may write; the same over ROS is in test/ros/test_robot.py."""

from pathlib import Path

import pytest

from delama_ros.robot.save_folder import below, save_folder


def test_what_is_below(tmp_path: Path) -> None:
    folder = save_folder(str(tmp_path), 'ann')
    (folder / 'real').mkdir()
    (folder / 'link').symlink_to(folder / 'real')
    assert below(folder, 'map') == folder / 'map'
    assert below(folder, 'a/../b/./map.yaml') == folder / 'b' / 'map.yaml'
    assert below(folder, str(folder / 'x')) == folder / 'x'
    assert below(folder, 'link/x') == folder / 'real' / 'x'
    assert below(folder, '.') == folder


@pytest.mark.parametrize('path', ['', '..', '/', '../x', '~/x', 'nul\0', '~nobody_at_all', '//x'])
def test_what_is_not(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match=r'^path '):
        below(save_folder(str(tmp_path), 'ann'), path)


def test_a_folder_that_begins_alike_is_another_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='outside'):
        below(save_folder(str(tmp_path / 'ann'), 'ann'), str(tmp_path / 'anna' / 'x'))


def test_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    assert save_folder('', 'ann') == tmp_path / 'delama' / 'ann'
    monkeypatch.delenv('ROS_HOME')
    assert save_folder('', 'ann') == Path.home() / '.ros' / 'delama' / 'ann'


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(ValueError, match=r'save_folder is .* which is a file, expected a folder'):
        save_folder(str(tmp_path / 'file'), 'ann')
