"""A robot that joins the common frame in a wrong place is found out, leaves, and comes back."""

import pytest
from wrong_transform import APART, FAR, NEAR, ROBOTS, STEPS, f1, run, stay


@pytest.mark.parametrize(
    ('plan', 'seed'), [('generated:3', 3), ('generated:4', 4), ('generated:6', 1)]
)
def test_a_map_in_a_wrong_place_is_found_out_and_put_right(plan: str, seed: int) -> None:
    right = run(plan, seed, '')
    assert right.joined(STEPS) == len(ROBOTS)
    for error in (FAR, NEAR):
        wrong = run(plan, seed, error)
        joined, left = stay(wrong)
        assert joined > APART
        assert f1(wrong, joined)[1] < f1(right, joined)[1] - 30  # it was in a wrong place
        assert left is not None
        assert left - joined <= 5
        # In the end all is as it would have been.
        assert wrong.joined(STEPS) == len(ROBOTS)
        for now, otherwise in zip(f1(wrong, STEPS), f1(right, STEPS), strict=True):
            assert now > otherwise - 1.0, error
        # Nobody else changed its frame more often for it.
        for name in ('ann', 'bob'):
            moves = [sum(join.robot == name for join in record.joins) for record in (wrong, right)]
            assert moves[0] <= moves[1]
