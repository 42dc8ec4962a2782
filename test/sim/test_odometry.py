import numpy as np
import pytest

from delama_ros.geometry.poses import compose, relative
from delama_sim.odometry import (
    PRESETS,
    Odometry,
    OdometryState,
    odometry_preset,
)


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


def straight_then_turned(model, seed):
    """Misjudged share of 10 m straight ahead, heading per metre on it, share of 20 rad turned."""
    state = OdometryState(model, np.zeros(3), np.random.default_rng(seed))
    heading = 0.0
    for k in range(1, 201):
        before = state.pose[2]
        state.move_to(np.array([0.05 * k, 0.0, 0.0]))
        heading += state.pose[2] - before
    way = float(np.hypot(*state.pose[:2]))
    turned = 0.0
    for k in range(1, 201):
        before = state.pose[2]
        state.move_to(np.array([10.0, 0.0, 0.1 * k]))
        turned += np.remainder(state.pose[2] - before + np.pi, 2 * np.pi) - np.pi
    return way / 10 - 1, heading / 10, turned / 20 - 1


def test_systematic_errors_have_the_asked_spread_over_robots():
    model = Odometry(scale=0.03, heading_bias=0.01, turn_scale=0.05)
    found = np.array([straight_then_turned(model, seed) for seed in range(150)])
    assert found[:, 1].std() == pytest.approx(0.01, rel=0.2)
    assert found[:, 2].std() == pytest.approx(0.05, rel=0.2)
    assert np.abs(found.mean(0)) == pytest.approx([0, 0, 0], abs=0.012)
    scale_only = [straight_then_turned(Odometry(scale=0.03), seed)[0] for seed in range(150)]
    assert np.std(scale_only) == pytest.approx(0.03, rel=0.2)


def test_presets_are_ordered_from_exact_to_bad():
    errors = {}
    for name in PRESETS:
        model = odometry_preset(name)
        ends = [drive(model, seed, 400) for seed in range(40)]
        start = np.array([3.0, -1.0, 0.4])
        off = [np.hypot(*(compose(start, s.pose) - true)[:2]) for s, true in ends]
        errors[name] = float(np.sqrt(np.mean(np.square(off))))  # m after 20 m of way
    assert errors['exact'] == pytest.approx(0, abs=1e-9)
    assert 0.1 < errors['good'] < min(errors['pioneer'], errors['turtlebot'])
    assert max(errors['pioneer'], errors['turtlebot']) < errors['bad']
    assert 1.5 < errors['turtlebot'] < 5.0


def test_the_turtlebot_preset_is_the_drift_all_figures_use():
    preset = odometry_preset('turtlebot')
    assert preset.scale == preset.turn_scale == 0.035
    assert np.degrees(preset.heading_bias) == pytest.approx(1.5)


def test_unknown_presets_are_refused():
    with pytest.raises(ValueError, match="'wheelbarrow', expected one of: exact"):
        odometry_preset('wheelbarrow')
    with pytest.raises(ValueError, match='heading_bias is nan'):
        Odometry(heading_bias=np.nan)
