"""`delama bench swarm`: a short real run, and what follows from the times it has taken."""

import math

import pytest

from delama_ros.bench.swarm import figures, run
from delama_ros.swarm.description import from_mapping
from delama_ros.swarm.record import Record, Rounds


def test_a_short_run_measures_everything() -> None:
    swarm = from_mapping({'robots': 5, 'steps': 7, 'seed': 3, 'simulator': {'scan_rate': 2.0}})
    measured = run(swarm=swarm)
    print(measured)
    assert all(math.isfinite(value) and value > 0 for value in measured.values()), measured
    assert measured['rounds_per_step'] >= 2
    assert measured['first_map_s'] < measured['whole_run_s']
    assert measured['step_ms'] > measured['rounds_ms']
    assert measured['step_ms'] >= measured['computing_ms_per_robot_and_step']
    assert 0.05 < measured['memory_gb'] < 2
    # Rounds are messages and computing, of which comparing maps is the most: five robots share two
    # cores. Anything beyond that is waiting.
    computing = 2.5 * measured['computing_ms_per_robot_and_step']
    assert measured['rounds_ms'] < 6 * measured['round_trip_ms_of_all'] + computing


def test_a_step_is_compared_with_its_round_trips() -> None:
    record = Record(('a', 'b'), 2)
    for robot in 'ab':
        record.add_step(robot, 1, 9, Rounds(9, 0, 9.0, 9.0, 9.0))  # the first step is left out
        record.add_step(robot, 2, 100, Rounds(4, 1, 0.2, 0.1, 0.01))
    trips = [{'two': [0.01, 0.01, 9.0], 'all': [0.02]}, {'two': [0.01], 'all': []}]
    told = figures(record, trips)
    assert told['rounds_per_step'] == 5
    assert told['round_trip_ms_of_two'] == pytest.approx(10)
    assert told['rounds_over_round_trips_of_two'] == pytest.approx(2)
    assert told['rounds_over_round_trips_of_all'] == pytest.approx(1)
    assert told['step_over_round_trips_of_all'] == pytest.approx(2)
