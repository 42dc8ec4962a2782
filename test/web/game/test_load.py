"""Fifty participants at once, as the benchmark has them, in more of a hurry."""

import pytest

from delama_ros.bench import human


def test_every_answer_of_fifty_participants_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(human, 'THINK', 0.3)
    figures = human.run(seed=1)
    assert figures['participants'] == 50
    assert figures['games finished'] == 13
    assert figures['acts'] == 50 * (1 + 3 * 3)
    assert figures['answers not stored as sent'] == 0
    assert 0 < figures['median response, ms'] <= figures['longest response, ms']


def test_the_comparison_notices_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    compare = human._compare
    counted = []

    def compare_twice(database: object, sent: human.Sent) -> tuple[int, int]:
        line = next(key for key in sent if key[3] == 'learn')
        counted.append(compare(database, {**sent, line: [9.0, 9.0], (99, 1, 0, 2): 1})[1])  # type: ignore[arg-type]
        return compare(database, sent)  # type: ignore[arg-type]

    monkeypatch.setattr(human, 'CROWDS', [1])
    monkeypatch.setattr(human, 'THINK', 0.0)
    monkeypatch.setattr(human, '_compare', compare_twice)
    assert human.run(seed=2)['answers not stored as sent'] == 0
    assert counted == [2]
