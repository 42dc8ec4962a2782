"""Which messages a robot lets in, decided before anything of them is unpacked.

A name belongs to the publisher that was heard first under it, for as long as that is heard: a
second one is refused and reported. Only when the owner has been silent for a whole step may another
publisher have the name, such as the same robot after a restart. Number of names, and messages and
bytes per name and step, are limited.

Without a swarm key (`envelope.SwarmKey`) or SROS2 whoever comes first has a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from delama_ros.core.agent.messages import Label
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.robot.parameters import NAME
from delama_ros.transport.envelope import Envelope, SwarmKey, read_envelope

NAMES = 64  # robots besides this one; the topics are deep enough for twenty
STRANGERS = 24  # of them that have not shown yet that they answer
MESSAGES = 64  # of one robot in a step; seven are usual
# Bytes of one robot in a step, by encoding; a robot sends 8 KB at most if it sends changes.
BYTES = {'delta': 32_000, 'float64': 16_000_000}
SILENT = 2  # steps without a message after which a name is free
GONE = 6  # steps after which a stranger makes room for another one
SHOWN = 5  # names in a problem


@dataclass
class _Peer:
    # Publisher on each topic, and the robot's own step in which it was heard last.
    owners: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    heard: int = 0
    window: int = -1  # step in which messages and bytes are counted
    messages: int = 0
    bytes: int = 0


class Border:
    """Checks what arrives; not thread-safe."""

    def __init__(
        self, name: str, *, encoding: str, key: SwarmKey | None, drop: Callable[[str], None]
    ) -> None:
        """Know nobody.

        Args:
            name: of this robot.
            encoding: of models, which decides how large messages are.
            key: of the swarm, if it has one.
            drop: called with a name that is forgotten, or has a new owner.
        """
        self._name, self._key, self._drop = name, key, drop
        self.longest = BYTES[encoding]  # bytes of one message
        self.own: set[bytes] = set()  # publishers of this robot
        self.trusted: frozenset[str] = frozenset()  # robots that are never dropped for others
        self._peers: dict[str, _Peer] = {}
        self._doubles: dict[str, int] = {}  # names with a second publisher → step of its message
        self._unsealed: tuple[str, int] | None = None  # last robot without the seal, and when

    @property
    def names(self) -> frozenset[str]:
        """Robots whose messages are let in."""
        return frozenset(self._peers)

    def check(
        self,
        data: bytes,
        topic: str,
        publisher: bytes,
        step: int,
        in_range: Callable[[str, int], bool],
        unwanted: Callable[[Label], Refused | None],
    ) -> tuple[Envelope, Refused | None] | None:
        """Check a message; returns who sent it and why it is refused.

        A message of this robot's own, or out of a radio's reach, gives None.

        Args:
            data: the serialised message.
            topic: on which it came.
            publisher: GID of its publisher.
            step: in which this robot is.
            in_range: tells whether messages of a robot in a step reach this one.
            unwanted: tells why a message of some label is refused whatever it says, or None.

        Raises:
            ValueError: if it does not say who sent it.
        """
        if publisher in self.own:
            return None
        envelope = read_envelope(data)
        if not in_range(envelope.label.robot, envelope.label.step):
            return None
        return envelope, self._refused(envelope, data, topic, publisher, step, unwanted)

    def problems(self, step: int) -> list[str]:
        """Return what is wrong, in the robot's present step."""
        doubles = sorted(name for name, when in self._doubles.items() if step - when <= SILENT)
        told = [
            f'another robot is named {name} too: rename one of them' if name == self._name else
            f'two robots are named {name}: the second one is refused'
            for name in doubles[:SHOWN]
        ]
        if self._unsealed is not None and step - self._unsealed[1] <= SILENT:
            told.append(
                f'messages of {self._unsealed[0]} are refused: they lack the seal of the swarm key'
            )
        return told

    def restart(self) -> None:
        """Begin to count steps anew; names keep their owners."""
        for peer in self._peers.values():
            peer.heard, peer.window = 0, -1
            peer.owners = {topic: (gid, 0) for topic, (gid, _) in peer.owners.items()}
        self._doubles, self._unsealed = {}, None

    def _refused(
        self,
        envelope: Envelope,
        data: bytes,
        topic: str,
        publisher: bytes,
        step: int,
        unwanted: Callable[[Label], Refused | None],
    ) -> Refused | None:
        robot = envelope.label.robot
        if not NAME.fullmatch(robot):
            return Refused(Refusal.MALFORMED, 'its name, expected letters, digits and _')
        if self._key is not None and not self._key.sealed(data):
            self._unsealed = robot, step
            return Refused(Refusal.UNSEALED, "it lacks the seal of this swarm's key")
        if robot == self._name:
            self._doubles[robot] = step
            return Refused(Refusal.OWN_MESSAGE, "another robot has this robot's name")
        peer = self._peers.get(robot)
        if peer is not None:
            owner, heard = peer.owners.get(topic, (publisher, step))
            if owner != publisher and step - heard < SILENT:
                self._doubles[robot] = step
                return Refused(Refusal.IMPERSONATED, 'another publisher has this name')
            # Only its owner uses up what a name may send, and is there even if that is too much.
            refused = self._over(peer, len(data), step) if owner == publisher else None
            if refused is not None:
                peer.owners[topic] = publisher, step
                return refused
        refused = unwanted(envelope.label)
        if refused is not None and not refused.reason.out_of_step:
            return refused
        if peer is None:
            if not self._room(topic, publisher, step):
                return Refused(
                    Refusal.TOO_MANY_ROBOTS,
                    f'{STRANGERS} that have not taken part yet, or {NAMES} in all, are the limit',
                )
            peer = self._peers[robot] = _Peer()
            self._over(peer, len(data), step)
        elif peer.owners.get(topic, (publisher, 0))[0] != publisher:
            if refused is not None:  # nobody gets a name with a word out of season
                return refused
            self._drop(robot)  # what was held came from somebody else
            peer.owners.clear()
            peer.window = -1
            self._over(peer, len(data), step)
        if refused is None or self._key is None:  # what is sealed but old may be a replay
            peer.owners[topic] = publisher, step
            peer.heard = step
        return refused

    def _over(self, peer: _Peer, size: int, step: int) -> Refused | None:
        """Count a message; returns why it is one too many."""
        if peer.window != step:
            peer.window, peer.messages, peer.bytes = step, 0, 0
        peer.messages += 1
        peer.bytes += size
        if peer.messages > MESSAGES:
            return Refused(Refusal.TOO_OFTEN, f'more than {MESSAGES} messages in a step')
        if peer.bytes > self.longest:
            return Refused(
                Refusal.TOO_LARGE,
                f'{peer.bytes} bytes in a step, expected at most {self.longest}; all robots need '
                'the same encoding',
            )
        return None

    def _room(self, topic: str, publisher: bytes, step: int) -> bool:
        """Make room for a name; a publisher of few names goes before one of many."""
        if len(self._peers) < NAMES and len(self._peers.keys() - self.trusted) < STRANGERS:
            return True
        owners = {
            name: peer.owners[topic][0] for name, peer in self._peers.items()
            if topic in peer.owners
        }
        count = Counter(owners.values())
        least = count[publisher] + 1
        candidates = [
            (self._peers[name].heard - step, -count[gid], name) for name, gid in owners.items()
            if name not in self.trusted
            and (count[gid] > least or self._peers[name].heard <= step - GONE)
        ]
        if not candidates:
            return False
        name = min(candidates)[2]
        del self._peers[name]
        self._doubles.pop(name, None)
        self._drop(name)
        return True
