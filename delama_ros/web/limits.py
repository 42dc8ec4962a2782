"""Rate limits: a bucket of tokens per key that refills over time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Bucket:
    tokens: float
    filled: float  # s, when tokens was right


class RateLimit:
    """Allows `burst` actions at once and `rate` per second in the long run, for each key."""

    def __init__(
        self,
        rate: float,
        burst: float,
        *,
        keys: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep at most `keys` buckets; the least recently used one is dropped, and full again."""
        self._rate, self._burst, self._keys, self._clock = rate, burst, keys, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, key: str) -> bool:
        """Take a token of this key; False if there is none."""
        bucket = self._filled(key)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def exhausted(self, key: str) -> bool:
        """Tell whether this key has no token left, without taking one."""
        return self._filled(key).tokens < 1

    def _filled(self, key: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(key, _Bucket(self._burst, now))
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._keys:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + self._rate * (now - bucket.filled))
        bucket.filled = now
        return bucket
