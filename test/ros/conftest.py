"""A robot node to try things on, for all tests of this folder."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from robot_bench import Bench


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, tmp_path: Path, ros_environment: dict[str, str]
) -> Iterator[Bench]:
    bench = Bench(ros_environment, tmp_path, **getattr(request, 'param', {}))
    yield bench
    bench.close()
    assert 'Traceback' not in bench.log.read_text()
