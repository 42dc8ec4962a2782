import pytest

from delama_ros.data.log import Log
from delama_ros.data.playback import NANO, Playback
from delama_ros.data.prepare import split


def times(playback: Playback) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {}
    while not playback.ended:
        for robot, _ in playback.advance():
            taken.setdefault(robot, []).append(playback.time / NANO)
    return taken


def test_stretches_of_one_log_begin_together(log: Log) -> None:
    a, b = split(log.readings, 2)
    taken = times(Playback({'a': a, 'b': b}))
    assert taken['a'] == taken['b'] == [1.0 + 2.0 * i for i in range(20)]


def test_robots_recorded_together_keep_their_offset(log: Log) -> None:
    taken = times(Playback({'a': log.readings, 'b': log.readings[5:]}))
    assert taken['a'][0] == 1.0
    assert taken['b'][0] == 11.0


def test_clock_ticks_between_scans_and_after_them(log: Log) -> None:
    playback = Playback({'a': log.readings[:1]}, tick=0.1)
    seen = [playback.time for _ in range(15) if playback.advance() is not None]
    assert seen == [100_000_000 * (i + 1) for i in range(15)]
    assert playback.ended


def test_poses_between_scans_are_interpolated(log: Log) -> None:
    playback = Playback({'a': log.readings}, tick=1.0)
    before, middle, after = (log.readings[i].pose for i in (0, 0, 1))
    assert playback.pose('a') == pytest.approx(before)  # at 0 s, before the first scan at 1 s
    playback.advance()
    assert playback.pose('a') == pytest.approx(middle)
    playback.advance()
    assert playback.pose('a') == pytest.approx([(x + y) / 2 for x, y in zip(middle, after,
                                                                           strict=True)])
