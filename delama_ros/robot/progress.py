"""What a robot writes to its log as it goes: first scan, peers that come and go, steps, the end."""

from __future__ import annotations

from delama_ros.robot.status import FrameState, PeerState, PeerStatus, Status

EVERY = 10  # steps between lines about the step
PRESENT = (PeerState.COLLABORATING, PeerState.DISAGREES)


class Progress:
    """Compares each status with the one before."""

    def __init__(self) -> None:
        """Start before the first scan."""
        self._scans = self._steps = 0
        self._peers: dict[str, tuple[PeerState, str]] = {}

    def lines(self, status: Status) -> list[str]:
        """Return what has happened since the last call; nothing while all is as before."""
        lines = ['first scan mapped'] if status.scans and not self._scans else []
        if status.tiles:  # before that there is no map that could agree or disagree
            lines += self._changes(status.peers)
        steps, before, limit = status.steps, self._steps, status.steps_limit
        if before < steps == limit:
            lines.append(f'all {steps} steps done, {_summary(status)}; nothing more is mapped')
        elif before == 0 < steps or before // EVERY < steps // EVERY:
            of = f' of {limit}' if limit else ''
            lines.append(f'step {steps}{of} done, {_summary(status)}')
        self._scans, self._steps = status.scans, steps
        return lines

    def _changes(self, peers: tuple[PeerStatus, ...]) -> list[str]:
        """Return one line per kind of change, so that a large swarm stays readable."""
        changed: dict[str, list[str]] = {}
        for peer in peers:
            before, _ = known = self._peers.get(peer.robot, (PeerState.OUT_OF_STEP, ''))
            text = _text(peer)
            if peer.state is PeerState.OUT_OF_STEP or known == (peer.state, text):
                continue
            self._peers[peer.robot] = peer.state, text
            if text and (peer.state in PRESENT or before in PRESENT):
                changed.setdefault(text, []).append(peer.robot)
        return [f'{", ".join(names)}: {text}' for text, names in changed.items()]


def _text(peer: PeerStatus) -> str:
    if peer.state is PeerState.DISAGREES:
        if peer.frame in (FrameState.SEARCHING, FrameState.CANDIDATE):
            return 'heard; how its map lies to ours is not known yet'
        return 'heard, weight 0: ' + (peer.trust or 'maps disagree')
    return {
        PeerState.COLLABORATING: 'joined',
        PeerState.SILENT: 'left: missed a deadline',
        PeerState.OUT_OF_RANGE: 'left: not received',
    }.get(peer.state, '')  # rejected messages have a warning of their own


def _summary(status: Status) -> str:
    peers = sum(peer.weight > 0 for peer in status.peers)
    return (
        f'{peers} of {len(status.peers)} peers, {status.bytes_step / 1e3:.1f} KB sent in '
        f'{1e3 * status.step_seconds:.0f} ms, {status.tiles} tiles'
    )
