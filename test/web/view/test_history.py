"""Any moment can be shown again, and memory stays bounded."""

import math

from hypothesis import given
from hypothesis import strategies as st

from delama_ros.web.view.history import Chronicle, Series


def test_the_value_that_held_at_a_time() -> None:
    series: Series[str] = Series(10)
    assert series.at(5.0) is None
    series.add(1.0, 'a')
    series.add(2.0, 'b')
    assert series.at(0.9) is None
    assert [series.at(t).value for t in (1.0, 1.9, 2.0, math.inf)] == ['a', 'a', 'b', 'b']  # type: ignore[union-attr]


@given(gaps=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=300))
def test_a_long_series_stays_bounded_and_covers_all_time(gaps: list[float]) -> None:
    series: Series[int] = Series(20)
    times = []
    for number, gap in enumerate(gaps):
        times.append((times[-1] if times else 0.0) + gap)
        series.add(times[-1], number)
    assert len(series) <= 20
    newest, oldest = series.at(math.inf), series.at(times[0])
    assert newest is not None
    assert newest.value == len(gaps) - 1
    assert oldest is not None
    # what is shown of a moment is never newer than it, and not much older
    span = times[-1] - times[0]
    for time, number in zip(times, range(len(gaps)), strict=True):
        entry = series.at(time)
        assert entry is not None
        assert entry.time <= time
        assert number == entry.value or time - entry.time <= span / 4 + max(gaps)


def test_numbers_tell_values_apart_after_thinning() -> None:
    series: Series[int] = Series(8)
    numbers = set()
    for time in range(100):
        series.add(float(time), time)
        entry = series.at(math.inf)
        assert entry is not None
        assert entry.value == time
        numbers.add(entry.number)
    assert len(numbers) == 100
    assert series.pace == 1.0


def test_a_chronicle_drops_its_oldest_and_says_so() -> None:
    log: Chronicle[int] = Chronicle(8)
    for time in range(8):
        log.add(float(time), time)
    assert (log.count(3.5), log.count(math.inf), log.edition) == (4, 8, 0)
    log.add(8.0, 8)
    assert log.edition == 1
    assert log.part(0, log.count(math.inf)) == [2, 3, 4, 5, 6, 7, 8]
