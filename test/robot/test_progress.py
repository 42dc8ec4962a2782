"""What a robot logs as it goes."""

from delama_ros.robot.progress import EVERY, Progress
from delama_ros.robot.status import FrameState, PeerState, PeerStatus, Status


def status(
    steps: int = 0, *peers: PeerStatus, limit: int = 0, scans: int = 1, tiles: int = 7
) -> Status:
    return Status(
        robot='ann', steps=steps, steps_limit=limit, scans=scans, peers=peers, tiles=tiles,
        step_seconds=0.05, bytes_local=1200,
    )


def bob(state: PeerState, weight: float = 0.0, **values: object) -> PeerStatus:
    return PeerStatus('bob', state, weight=weight, **values)  # type: ignore[arg-type]


def test_first_scan_steps_and_the_end_once_each() -> None:
    progress, last = Progress(), 3 * EVERY
    assert progress.lines(status(scans=0)) == []
    assert progress.lines(status()) == ['first scan mapped']
    assert progress.lines(status()) == []
    said = [line for t in range(1, last + 1) for line in progress.lines(status(t, limit=last))]
    assert [line.partition(' done')[0] for line in said] == [
        f'step 1 of {last}', f'step {EVERY} of {last}', f'step {2 * EVERY} of {last}',
        f'all {last} steps',
    ]
    assert '0 of 0 peers, 1.2 KB sent in 50 ms, 7 tiles' in said[0]
    assert progress.lines(status(last, limit=last)) == []


def test_steps_that_were_not_seen_do_not_hide_a_line() -> None:
    progress = Progress()
    assert len(progress.lines(status(1, scans=0))) == 1
    assert progress.lines(status(EVERY - 1, scans=0)) == []
    assert len(progress.lines(status(EVERY + 3, scans=0))) == 1


def test_a_peer_that_joins_disagrees_and_leaves() -> None:
    progress = Progress()
    seen = [
        bob(PeerState.OUT_OF_RANGE), bob(PeerState.OUT_OF_STEP), bob(PeerState.COLLABORATING, 1.0),
        bob(PeerState.OUT_OF_STEP), bob(PeerState.COLLABORATING, 1.0),
        bob(PeerState.DISAGREES), bob(PeerState.DISAGREES, trust='3 of 40 walls match'),
        bob(PeerState.SILENT), bob(PeerState.OUT_OF_RANGE), bob(PeerState.COLLABORATING, 0.5),
    ]
    progress.lines(status())
    assert [progress.lines(status(0, peer)) for peer in seen] == [
        [], [], ['bob: joined'], [], [],
        ['bob: heard, weight 0: maps disagree'], ['bob: heard, weight 0: 3 of 40 walls match'],
        ['bob: left: missed a deadline'], [], ['bob: joined'],
    ]


def test_a_peer_whose_frame_is_not_known_yet_does_not_disagree() -> None:
    progress = Progress()
    progress.lines(status())
    searched = bob(PeerState.DISAGREES, frame=FrameState.SEARCHING)
    (line,) = progress.lines(status(0, searched))
    assert line == 'bob: heard; how its map lies to ours is not known yet'


def test_nobody_disagrees_with_an_empty_map() -> None:
    progress = Progress()
    progress.lines(status())
    assert progress.lines(status(0, bob(PeerState.DISAGREES), tiles=0)) == []
    assert len(progress.lines(status(0, bob(PeerState.DISAGREES)))) == 1


def test_peers_that_do_the_same_share_a_line() -> None:
    progress = Progress()
    progress.lines(status())
    others = [PeerStatus(name, PeerState.COLLABORATING, weight=0.5) for name in ('bob', 'carl')]
    assert progress.lines(status(0, *others)) == ['bob, carl: joined']
