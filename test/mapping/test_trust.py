"""Whom a robot believes: bounds on what is said, liars caught and healed, and where trust ends."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delama_ros.core.blocks import Model
from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.experiments.mapping.runner import run_swarm
from delama_ros.geometry.score import score
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.mapping.tiles import PARTS
from delama_ros.mapping.trust import HEAVY, Trust
from delama_ros.mapping.verdict import LONGEST, STRIKES, TEXT, WAIT
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

MODEL, SETTINGS = packaged().model, packaged().settings
LEFT, RIGHT, DOOR = (2.0, 2.0), (6.5, 2.5), (3.0, 1.0)
AWAY = 1000 << 32  # tiles: to where nobody else is


def trust() -> Trust:
    return Trust(MODEL, SETTINGS)


def believed(own: Model, said: dict[str, Model]) -> set[str]:
    """Return who is believed when all say the same for as many steps as a verdict takes."""
    judge = trust()
    return [set(judge.admit(step, own, said)) for step in range(1, STRIKES + 1)][-1]


def effort(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return θᵀ(M + 2 λ1 I) θ of each tile and T² Σ w, from the matrices that fusion uses."""
    M = np.einsum('np,pkl->nkl', model.evidence, MODEL.part_matrices)
    M += 2 * SETTINGS.lambda1_local * np.eye(M.shape[-1])
    cells = (MODEL.cells // PARTS) ** 2
    return (
        np.einsum('nk,nkl,nl->n', model.theta[..., 0], M, model.theta[..., 0]),
        np.abs(MODEL.targets).max() ** 2 * cells * model.evidence.sum(1),
    )


@pytest.fixture(scope='module')
def true(hall, seen):
    """What robots see of the hall as it is."""
    plan = hall(4.0)
    return {place: seen(plan, place) for place in (LEFT, RIGHT, DOOR)}


@pytest.fixture(scope='module')
def false(hall, seen):
    """The wall is elsewhere."""
    return seen(hall(2.5), LEFT, DOOR)


# -- bounds ------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 1e6), claimed=st.floats(0.0, 1e6),
    tiles=st.integers(1, 4),
)
def test_nothing_outside_the_bound_is_believed(seed, size, claimed, tiles):
    rng = np.random.default_rng(seed)
    own = Model(
        np.arange(tiles), rng.normal(size=(tiles, 32, 1)), rng.uniform(0, 1, (tiles, PARTS**2))
    )
    said = Model(
        np.arange(tiles), size * rng.normal(size=own.theta.shape),
        claimed * rng.uniform(0, 1, own.evidence.shape),
    )
    judge = trust()
    admitted = judge.admit(1, own, {'b': said}) | judge.admit_more({'c': said})
    for model in admitted.values():
        assert model.evidence.max(initial=0.0) <= HEAVY * own.evidence.max() * (1 + 1e-9)
        used, allowed = effort(model)
        assert (used <= 1.26 * allowed + 1e-9).all()
        assert np.isfinite(model.theta).all()


def test_an_honest_map_is_not_touched(true):
    (mine, theirs) = true[LEFT], true[RIGHT]
    believed = trust().admit(1, mine, {'b': theirs})['b']
    np.testing.assert_array_equal(believed.theta, theirs.theta)
    np.testing.assert_array_equal(believed.evidence, theirs.evidence)


def test_what_no_scanner_can_measure_is_dropped_at_once(true):
    judge = trust()
    absurd = replace(true[RIGHT], theta=1e4 * true[RIGHT].theta)
    assert judge.admit(7, true[LEFT], {'b': absurd}) == {}
    assert judge.said_of('b') == 'distrusted since step 7: claims what no scanner can measure'


def test_a_pull_without_evidence_moves_nothing(true):
    nothing = np.zeros_like(true[RIGHT].evidence)
    light = replace(true[RIGHT], theta=0.001 * true[RIGHT].theta, evidence=nothing)
    assert (trust().admit(1, true[LEFT], {'b': light})['b'].theta == 0).all()


# -- who is believed ---------------------------------------------------------------------------


def test_a_liar_is_caught_with_witnesses_and_comes_back_later_each_time(true, false):
    judge = trust()
    honest = {'b': true[DOOR], 'c': true[RIGHT]}
    steps = iter(range(1, 100))

    def heard(model: Model, epoch: int) -> bool:
        """A new epoch: it does not contradict itself."""
        said = Model(model.codes, model.theta, model.evidence, {'d': epoch})
        admitted = judge.admit(next(steps), true[LEFT], {**honest, 'd': said})
        assert {'b', 'c'} <= admitted.keys()
        return 'd' in admitted

    assert heard(true[DOOR], 0)
    for wait in (WAIT, 2 * WAIT):
        assert heard(false, 1)  # once may be chance
        assert not heard(false, 1)
        text = judge.said_of('d')
        assert text.startswith(f'distrusted since step {next(steps) - 1}: contradicts ')
        assert text.endswith('m that this robot, b and c have seen')
        assert [heard(true[DOOR], 2) for _ in range(wait)] == [False] * (wait - 1) + [True]
        assert judge.said_of('d') == ''


def test_texts_fit_into_their_message(true, false):
    judge = trust()
    witness = 'a_robot_with_quite_a_long_name_' * 4
    for step in (1, 2):
        judge.admit(step, true[LEFT], {witness: true[DOOR], 'd': false})
    assert len(judge.said_of('d')) <= TEXT
    assert 'others have seen' in judge.said_of('d')


@pytest.mark.parametrize('liars', [1, 2, 3, 6])
def test_nobody_outvotes_what_a_robot_has_seen_itself(true, false, liars):
    said = {'honest': true[DOOR]} | {f'liar{k}': false for k in range(liars)}
    assert believed(true[LEFT], said) == {'honest'}


@pytest.mark.parametrize(('honest', 'liars'), [(2, 1), (3, 2), (4, 3)])
def test_elsewhere_liars_lose_as_long_as_they_are_fewer(true, false, honest, liars):
    """The breakdown point: of those who have seen a place, fewer liars than honest robots."""
    own = Model(true[LEFT].codes + AWAY, true[LEFT].theta, true[LEFT].evidence)
    said = {f'h{k}': true[(DOOR, LEFT)[k % 2]] for k in range(honest)}
    said |= {f'l{k}': false for k in range(liars)}
    assert believed(own, said) == {f'h{k}' for k in range(honest)}


def test_elsewhere_more_liars_than_honest_robots_win(true, false):
    own = Model(true[LEFT].codes + AWAY, true[LEFT].theta, true[LEFT].evidence)
    said = {'h': true[LEFT], 'l0': false, 'l1': false}
    assert believed(own, said) == {'l0', 'l1'}


def test_a_robot_is_held_to_what_it_said_unless_it_corrects_its_poses(true, false):
    """Nobody else has been there."""
    own = Model(true[LEFT].codes + AWAY, true[LEFT].theta, true[LEFT].evidence)
    judge = trust()
    assert 'b' in judge.admit(1, own, {'b': true[LEFT]})
    assert all('b' not in judge.admit(step, own, {'b': false}) for step in range(2, 20))
    assert judge.said_of('b').endswith('m that b has seen')
    corrected = Model(false.codes, false.theta, false.evidence, {'b': 1})
    heard = ['b' in judge.admit(step, own, {'b': corrected}) for step in range(20, 20 + WAIT)]
    assert heard == [False] * (WAIT - 1) + [True]
    later = trust()
    later.admit(1, own, {'b': true[LEFT]})
    assert 'b' in later.admit(1 + LONGEST + 1, own, {'b': false})


def test_only_the_wrong_tile_of_a_good_map_is_dropped(true, hall, seen):
    """A stretch of wall across one tile, too short to doubt the rest."""
    plan = hall(4.0)
    theirs = seen(plan, DOOR)
    short = plan.cells.copy()
    short[44:56, 30:32] = 100  # 0.6 m
    wrong = seen(plan.with_cells(short), DOOR)
    changed = wrong.codes[np.abs(wrong.theta - theirs.on(wrong.codes)[0]).max((1, 2)) > 2.0]
    judge = trust()
    believed = judge.admit(1, true[LEFT], {'b': wrong, 'c': theirs})
    gone = np.setdiff1d(wrong.codes, believed['b'].codes)
    assert 1 <= len(gone) <= 3
    assert np.isin(gone, changed).all()
    assert len(believed['c'].codes) == len(theirs.codes)


# -- in a team ---------------------------------------------------------------------------------


class Team:
    """Robots that scan the hall in every step, each from its places, unless told otherwise."""

    def __init__(self, look, plan, places) -> None:
        self.mappers = {name: make_mapper(name, packaged()) for name in places}
        self._look, self._plan, self._places = look, plan, places
        self.transport = LocalTransport(
            (m.agent for m in self.mappers.values()), encoding=Encoding.DELTA
        )
        self.step = 0

    def run(self, links, steps: int = 1, *, instead=None) -> None:
        """instead: what robots see in place of the hall."""
        for _ in range(steps):
            self.step += 1
            for name in links:
                plan = (instead or {}).get(name, self._plan)
                self._look(self.mappers[name], plan, *self._places[name])
                self.mappers[name].prepare()
            self.transport.run_step(self.step, links)

    def restart(self, name: str) -> None:
        """Go on from the memory of a robot."""
        again = make_mapper(name, packaged())
        again.restore(self.mappers[name].state())
        self.transport.remove(name)
        self.mappers[name] = again
        self.transport.add(again.agent)


def full(*names: str) -> dict[str, list[str]]:
    return {name: [n for n in names if n != name] for name in names}


def walls_at(mapper, x: float) -> int:
    """Return how many cells of 5 cm are walls in a strip of 10 cm across the hall, 144 at most."""
    drawn = mapper.occupancy()
    column = round((x + 0.4 - drawn.origin[0]) / 0.05)
    low, high = (round((y - drawn.origin[1]) / 0.05) for y in (0.7, 4.3))
    return int((drawn.cells[low:high, column : column + 2] > 50).sum())


@pytest.mark.parametrize('restarts', [False, True])
def test_a_map_heals_when_a_liar_is_gone_also_after_a_restart(look, hall, restarts):
    team = Team(look, hall(4.0), {
        'ann': [LEFT], 'bob': [DOOR], 'cid': [RIGHT], 'dan': [DOOR, LEFT, DOOR],
    })
    ann, bob = (team.mappers[name] for name in ('ann', 'bob'))
    team.run(full('ann', 'bob', 'cid', 'dan'), 3, instead={'dan': hall(2.5)})
    assert ann.trust.distrusted == bob.trust.distrusted == {'dan'}
    if restarts:
        team.restart('ann')
        assert team.mappers['ann'].trust.distrusted == {'dan'}
    team.run(full('ann', 'bob', 'cid'), 3)
    for name in ('ann', 'bob', 'cid'):
        assert walls_at(team.mappers[name], 4.0) > 60, name
        assert walls_at(team.mappers[name], 2.5) == 0, name


@pytest.mark.parametrize('lies', [False, True])
def test_what_a_distrusted_robot_says_does_not_come_through_others(look, hall, lies):
    """Ann has caught dan, bob has not; then dan tells bob alone of another building."""
    team = Team(look, hall(4.0), {'ann': [LEFT], 'bob': [], 'dan': [DOOR, LEFT]})
    team.run(
        {'ann': ['dan'], 'bob': [], 'dan': ['ann']}, 2,
        instead={'dan': hall(2.5)} if lies else {},
    )
    ann, bob = (team.mappers[name] for name in ('ann', 'bob'))
    assert (ann.trust.distrusted == {'dan'}) == lies
    look(bob, hall(4.0), LEFT, moved=(30.0, 0.0))
    dan = make_mapper('dan', packaged())
    dan.agent.start_epoch(5)
    look(dan, hall(4.0), LEFT, moved=(-30.0, 0.0))
    dan.prepare()
    team.transport.remove('dan')
    team.transport.add(dan.agent)
    team.mappers['dan'], team._places['dan'] = dan, []
    team.run({'ann': ['bob'], 'bob': ['ann', 'dan'], 'dan': ['bob']}, 2)
    far = dan.agent.local.codes
    assert len(far) > 10
    assert np.isin(far, bob.known.codes).all()
    assert bob.trust.distrusted == set()
    assert np.isin(far, ann.known.codes).any() != lies


def test_a_damaged_account_of_suspicions_is_refused(look, hall):
    team = Team(look, hall(4.0), {'ann': [LEFT]})
    team.run({'ann': []})
    state = team.mappers['ann'].state()
    with pytest.raises(ValueError, match=r'suspicions have shape \(0, 5\), expected 1 × 5'):
        make_mapper('ann', packaged()).restore({**state, 'suspects': np.array(['bob'])})
    huge = {**state, 'theta': np.full_like(state['theta'], 1e9)}
    with pytest.raises(ValueError, match='saved theta holds 1e\\+09, expected at most 1e\\+06'):
        make_mapper('ann', packaged()).restore(huge)


# -- on floor plans ----------------------------------------------------------------------------


@pytest.mark.parametrize('links', ['full', 'line'])
def test_honest_robots_do_not_doubt_each_other(links):
    run = mapping_run(prepare(load('generated:21'), 0), 0, robots=5, steps=8)
    number = np.arange(5)
    near = np.abs(number[:, None] - number) <= (1 if links == 'line' else 5)
    doubts = []
    run_swarm(
        run, packaged(), links=near,
        take=lambda step, t: doubts.extend(m.trust.distrusted for m in step.mappers),
    )
    assert len(doubts) == 40
    assert not frozenset().union(*doubts)


def test_both_sides_of_thin_walls(data_dir):
    """Two robots start outside and see the walls of the others from the other side."""
    plan = prepare(load(str(data_dir / 'cubicasa5k' / 'hard' / '1308.yaml')), 11)
    run = mapping_run(plan, 11)
    f1, doubts = [], []

    def take(step, t):
        doubts.extend(m.trust.distrusted for m in step.mappers)
        edges = (step.weights > 0).sum()
        f1.append(([100 * score(m.occupancy(), run.truth).f1 for m in step.mappers], edges))

    run_swarm(run, packaged(), take=take)
    central = make_mapper('all', packaged())
    for t in range(len(run.poses)):
        for i in range(run.poses.shape[1]):
            central.add_scan(scan_of(run, t, i), tuple(run.poses[t, i].tolist()))
    central.begin(1, [])
    central.agent.advance()
    best = 100 * score(central.occupancy(), run.truth).f1
    assert f1[-1][1] == 20
    assert min(f1[-1][0]) > best - 1
    assert not frozenset().union(*doubts)
