"""For whom a robot waits, and how much the others can make it wait."""

from delama_ros.robot.patience import KNOWN, Patience


def costly(patience: Patience, step: int, present: list[str], answering: set[str]) -> bool:
    """Run a step; tell whether a deadline passed."""
    waited_for = set(present) - patience.silent - patience.unhurried(present)
    late = waited_for - answering
    if late:
        patience.miss(late)
    patience.complete(answering & set(present))
    return bool(late)


def test_one_that_dies_costs_one_deadline_and_is_waited_for_when_it_returns() -> None:
    patience = Patience()
    everybody = ['bob', 'eve']
    assert not any(costly(patience, t, everybody, {'bob', 'eve'}) for t in range(20))
    assert costly(patience, 20, everybody, {'eve'})
    assert not any(costly(patience, t, everybody, {'eve'}) for t in range(21, 30))
    patience.hear('bob')
    assert patience.unhurried(everybody) == frozenset()


def test_one_that_begins_every_step_and_ends_none_costs_few_deadlines() -> None:
    patience = Patience()
    cost = []
    for t in range(60):
        patience.hear('liar')
        cost.append(costly(patience, t, ['bob', 'liar'], {'bob'}))
    assert sum(cost) <= 2


def test_new_names_in_every_step_cost_few_deadlines() -> None:
    patience = Patience()
    for t in range(2 * KNOWN):
        costly(patience, t, ['bob'], {'bob'})
    cost = [costly(patience, t, ['bob', f'liar{t}'], {'bob'}) for t in range(60)]
    assert sum(cost) <= 3
    # a robot that answers is let in all the same, though nobody waits for it at first
    steps = 0
    while 'eve' in patience.unhurried(['eve']):
        costly(patience, steps, ['bob', 'eve'], {'bob', 'eve'})
        steps += 1
    assert 0 < steps <= 4


def test_what_is_forgotten_is_new() -> None:
    patience = Patience()
    patience.miss(['bob'])
    patience.hear('bob')
    assert patience.unhurried(['bob']) == {'bob'}
    patience.forget('bob')
    assert patience.unhurried(['bob']) == frozenset()
