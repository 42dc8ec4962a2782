import numpy as np
import pytest

from delama_sim.odometry import Odometry, OdometryState, compose, relative


def drive(model, seed, steps=2000):
    """A winding drive of 100 m; returns the state at its end and the true end."""
    true = np.array([3.0, -1.0, 0.4])
    state = OdometryState(model, true, np.random.default_rng(seed))
    for k in range(steps):
        true = compose(true, np.array([0.05, 0.0, 0.02 * np.sin(k / 40)]))
        state.move_to(true)
    return state, true


def test_perfect_odometry_is_the_way_from_the_start():
    state, true = drive(Odometry(), 0)
    assert compose(np.array([3.0, -1.0, 0.4]), state.pose) == pytest.approx(true, abs=1e-9)
    assert state.correction() == pytest.approx([3.0, -1.0, 0.4], abs=1e-9)


def test_the_correction_always_leads_to_the_truth():
    state, true = drive(Odometry(slip=0.05, turn_slip=0.05, scale=0.05), 1)
    assert compose(state.correction(), state.pose) == pytest.approx(true, abs=1e-9)
    assert np.hypot(*(state.correction()[:2] - [3.0, -1.0])) > 0.2, 'it has drifted'


def test_drift_grows_with_the_square_root_of_the_way():
    errors = {steps: [] for steps in (200, 1800)}
    for steps, found in errors.items():
        for seed in range(60):
            state, true = drive(Odometry(slip=0.02), seed, steps)
            found.append(compose(np.array([3.0, -1.0, 0.4]), state.pose)[:2] - true[:2])
    spread = {steps: float(np.std(found)) for steps, found in errors.items()}
    assert spread[200] == pytest.approx(0.02 * np.sqrt(10), rel=0.25)
    assert spread[1800] / spread[200] == pytest.approx(3, rel=0.3)


def test_relative_undoes_compose():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-0.4, 0.2, 1.0])
    assert relative(a, compose(a, b)) == pytest.approx(b)


def test_negative_errors_are_refused():
    with pytest.raises(ValueError, match='slip is -1'):
        Odometry(slip=-1)
