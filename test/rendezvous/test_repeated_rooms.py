"""Real agents in a building whose rooms are all alike, and in one where they are not."""

from __future__ import annotations

import pytest

from delama_ros.experiments.rendezvous.episodes import run_models
from delama_ros.experiments.rendezvous.follow import evaluate_beliefs, follow
from delama_ros.experiments.rendezvous.study import evaluate_rendezvous
from delama_ros.rendezvous.belief import Rules
from delama_ros.rendezvous.outcome import Rule

STEPS = (4, 6, 8, 10, 12)


# Furnished alike, two rooms show nothing that one would not: there the user has to say so.
@pytest.mark.parametrize(('plan', 'wall'), [('rooms:3', 0.0), ('rooms:3:furnished', 36.0)])
def test_nobody_joins_wrongly_where_rooms_are_alike(plan: str, wall: float) -> None:
    figures = evaluate_beliefs(
        [lambda: run_models(plan, 5, robots=3, steps=STEPS)], pairs=3, rules=Rules(wall=wall)
    )
    assert figures['pairs'] == 3
    assert figures['false'] == 0


def test_robots_in_a_flat_join_rightly() -> None:
    models = run_models('generated:902', 3, robots=2, steps=(4, 8, 12))
    history = follow(models, 0, 1)
    assert history[-1] is True
    assert False not in history


def test_figures_of_the_study_add_up() -> None:
    figures = evaluate_rendezvous(
        ['generated:901', 'generated:902'], seeds=(0,), steps=(4,), pairs=2, different=3
    )
    assert figures['attempts'] == 4
    different = figures['different']
    assert (different['attempts'], different['false']) == (3, 0)
    for key in ('highest_scores_m', 'highest_leads_m'):
        assert different[key] == sorted(different[key], reverse=True)
    assert len(different['highest_scores_m']) == 3
    assert max(different['highest_leads_m']) < Rule().lead
    rows = figures['found']['smaller']['all'][2:]
    assert sum(row['pairs'] for row in rows) == 4
    assert figures['false'] == 0
    with pytest.raises(ValueError, match='1 plans'):
        evaluate_rendezvous(['generated:901'])
    with pytest.raises(ValueError, match='5'):
        evaluate_rendezvous(['generated:901', 'generated:902'], steps=(5,))
