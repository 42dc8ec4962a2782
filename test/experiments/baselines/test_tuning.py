"""Settings are searched on a grid that goes on where its best value stands at an edge."""

import math

import pytest

from delama_ros.experiments.baselines.tuning import best_of


@pytest.mark.parametrize(
    ('goal', 'further', 'best', 'tried'),
    [
        (1.3, 2, 1.0, 3),  # inside: nothing more is tried
        (90.0, 2, 100.0, 5),  # one further, and one more to see that it was the best
        (1e6, 2, 1000.0, 5),  # two further and no more
        (0.011, 2, 0.01, 5),
        (90.0, 0, 10.0, 3),
    ],
)
def test_the_grid_goes_on(goal, further, best, tried) -> None:
    asked = set()

    def how_good(value: float) -> float:
        asked.add(value)
        return -abs(math.log(value / goal))

    assert best_of((1.0, 0.1, 10.0), how_good, further) == pytest.approx(best)
    assert len(asked) == tried


def test_of_equally_good_values_the_first_is_taken() -> None:
    assert best_of((1.0, 0.1, 10.0), lambda value: 20.0, 2) == 1.0


def test_a_coefficient_that_may_be_zero_has_no_ratio_to_go_on_by() -> None:
    assert best_of((0.0, 0.5), lambda value: value, 5) == 0.5
