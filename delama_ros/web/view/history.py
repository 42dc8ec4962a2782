"""Values over time in bounded memory, so that any time can be shown again."""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar('Value')


class Entry(NamedTuple, Generic[Value]):
    """A value, the time from which it holds, and its unique number in the series."""

    number: int
    time: float
    value: Value


class Series(Generic[Value]):
    """Values that replace each other; when full, every second old value is dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._times: list[float] = []
        self._entries: list[Entry[Value]] = []
        self._added = 0
        self._gap = 0.0  # s between values, minimum

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, time: float, value: Value) -> None:
        """Add a value that holds from `time` on; calls are in order of time."""
        if self._times and time < self._times[-1]:
            time = self._times[-1]
        if len(self._times) > 1 and time - self._times[-2] < self._gap:
            self._times.pop()
            self._entries.pop()
        self._times.append(time)
        self._entries.append(Entry(self._added, time, value))
        self._added += 1
        if len(self._times) > self._limit:
            self._gap = 2 * (time - self._times[0]) / self._limit
            self._times[:-1] = self._times[:-1:2]
            self._entries[:-1] = self._entries[:-1:2]

    def at(self, time: float) -> Entry[Value] | None:
        """Return the value at a time; None before the first."""
        count = bisect_right(self._times, time)
        return self._entries[count - 1] if count else None

    @property
    def pace(self) -> float:
        """Mean s between values; 0 while there are fewer than two."""
        span = self._times[-1] - self._times[0] if self._times else 0.0
        return span / (self._added - 1) if self._added > 1 else 0.0


class Chronicle(Generic[Value]):
    """Values that accumulate, such as a log; when full, the oldest quarter is dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._times: list[float] = []
        self._values: list[Value] = []
        self.edition = 0  # increases whenever existing values move

    def add(self, time: float, value: Value) -> None:
        """Add a value; calls are in order of time."""
        self._times.append(max(time, self._times[-1]) if self._times else time)
        self._values.append(value)
        if len(self._values) > self._limit:
            del self._times[: self._limit // 4], self._values[: self._limit // 4]
            self.edition += 1

    def clear(self) -> None:
        """Remove all values."""
        self._times.clear()
        self._values.clear()
        self.edition += 1

    def count(self, time: float) -> int:
        """Return the number of values at a time."""
        return bisect_right(self._times, time)

    def part(self, first: int, end: int) -> list[Value]:
        """Return a range of values."""
        return self._values[first:end]
