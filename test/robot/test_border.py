"""Who is let in: names and their owners, numbers of names, messages and bytes, and the seal."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from serialised import serialised

from delama_ros.core.agent.messages import Label
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.robot.border import BYTES, MESSAGES, NAMES, STRANGERS, Border
from delama_ros.transport.envelope import SwarmKey, read_envelope

KEY = SwarmKey(b'sixteen letters.')


class Gate:
    """A border of the robot ann, and the step that it is in."""

    def __init__(self, key: SwarmKey | None = None) -> None:
        self.step = 5
        self.dropped: list[str] = []
        self.border = Border('ann', encoding='delta', key=key, drop=self.dropped.append)

    def check(
        self, robot: str, publisher: str = '', step: int | None = None, topic: str = 'params',
        make: Callable[[bytes], bytes] = bytes, size: int = 100,
    ) -> Refusal | None:
        label = Label(robot, self.step if step is None else step, 0, 0, 7)
        data = make(serialised(label, size))
        checked = self.border.check(
            data, topic, (publisher or robot).encode(), self.step, lambda *_: True, self.unwanted
        )
        assert checked is not None
        return None if checked[1] is None else checked[1].reason

    def unwanted(self, label: Label) -> Refused | None:
        late = label.step < self.step
        return Refused(Refusal.PAST_STEP, 'old') if late else None


def test_a_name_belongs_to_its_first_publisher() -> None:
    gate = Gate()
    assert gate.check('bob', 'first') is None
    assert gate.check('bob', 'second') is Refusal.IMPERSONATED
    assert gate.check('bob', 'second', gate.step + 1) is Refusal.IMPERSONATED
    twice = ['two robots are named bob: the second one is refused']
    assert gate.border.problems(gate.step) == twice
    gate.step += 1  # the owner need not have spoken in this step yet
    assert gate.check('bob', 'second') is Refusal.IMPERSONATED
    assert gate.check('bob', 'first') is None
    assert gate.border.problems(gate.step + 3) == []
    assert not gate.dropped


def test_an_impostor_does_not_use_up_what_the_owner_may_send() -> None:
    gate = Gate()
    gate.check('bob', 'first')
    for _ in range(4):
        gate.step += 1
        said = {gate.check('bob', 'second') for _ in range(2 * MESSAGES)}
        assert said == {Refusal.IMPERSONATED}
        assert gate.check('bob', 'first') is None


def test_a_robot_that_talks_too_much_keeps_its_name() -> None:
    gate = Gate()
    for _ in range(3):
        gate.step += 1
        for _ in range(MESSAGES + 1):
            gate.check('bob', 'first')
        assert gate.check('bob', 'first') in {Refusal.TOO_OFTEN, Refusal.TOO_LARGE}
        assert gate.check('bob', 'second') is Refusal.IMPERSONATED


def test_replayed_messages_do_not_hold_a_name() -> None:
    gate = Gate(KEY)
    assert gate.check('bob', 'first', make=KEY.seal) is None
    gate.step += 2
    assert gate.check('bob', 'eve', make=KEY.seal) is None  # a fresh one, while bob is silent
    for _ in range(2):  # from now on she has only what she recorded
        gate.step += 1
        assert gate.check('bob', 'eve', step=gate.step - 2, make=KEY.seal) is Refusal.PAST_STEP
    assert gate.check('bob', 'first', make=KEY.seal) is None


def test_a_robot_that_was_restarted_is_let_in_after_a_step() -> None:
    gate = Gate()
    gate.check('bob', 'first')
    gate.step += 2
    assert gate.check('bob', 'again') is None
    assert gate.dropped == ['bob']  # the old one's stream of changes does not go on
    assert gate.check('bob', 'first') is Refusal.IMPERSONATED
    gate.border.restart()
    gate.step = 0
    assert gate.check('bob', 'first') is Refusal.IMPERSONATED


def test_nobody_takes_the_name_of_this_robot_unnoticed() -> None:
    gate = Gate()
    assert gate.check('ann', 'stranger') is Refusal.OWN_MESSAGE
    assert gate.border.problems(gate.step) == [
        'another robot is named ann too: rename one of them'
    ]
    gate.border.own = {b'mine'}
    mine = serialised(Label('ann', 5, 0, 0, 7))
    checked = gate.border.check(mine, 'dual', b'mine', 5, lambda *_: True, gate.unwanted)
    assert checked is None


@pytest.mark.parametrize('name', ['', '1bob', 'bo b', 'böb', 'a/b', 'x\n'])
def test_names_are_those_of_ros(name: str) -> None:
    gate = Gate()
    assert gate.check(name, 'p') is Refusal.MALFORMED
    with pytest.raises(ValueError, match='text of 66 bytes'):
        gate.check('b' * 65)
    assert gate.border.names == frozenset()


def test_messages_and_bytes_of_a_step_are_limited() -> None:
    gate = Gate()
    said = [gate.check('bob') for _ in range(MESSAGES + 1)]
    assert said == [None] * MESSAGES + [Refusal.TOO_OFTEN]
    gate.step += 1
    assert gate.check('bob') is None
    half = BYTES['delta'] // 2
    assert gate.check('eve', size=half) is gate.check('eve', size=half) is None
    assert gate.check('eve', size=half) is Refusal.TOO_LARGE


def test_a_publisher_of_many_names_makes_room_for_others() -> None:
    gate = Gate()
    gate.check('bob')
    gate.border.trusted = frozenset(['name0'])
    for i in range(3 * NAMES):
        gate.check(f'name{i}', 'liar')
    assert len(gate.border.names) == STRANGERS + 1
    assert gate.check('last', 'liar') is Refusal.TOO_MANY_ROBOTS
    assert gate.check('eve') is None
    assert {'bob', 'eve', 'name0'} < gate.border.names
    assert len(gate.dropped) == 1
    assert len(gate.border.names) == STRANGERS + 1
    for i in range(2 * NAMES):  # robots that take part make room for others, up to a limit
        gate.border.trusted = gate.border.names
        gate.check(f'robot{i}')
    assert len(gate.border.names) == NAMES


def test_a_message_of_another_step_gives_nobody_a_name_that_is_taken() -> None:
    gate = Gate()
    assert gate.check('bob', 'first') is None
    gate.step += 2
    assert gate.check('bob', 'second', gate.step - 2) is Refusal.PAST_STEP
    assert gate.check('bob', 'first') is None


def test_with_a_key_only_sealed_messages_are_let_in() -> None:
    gate = Gate(KEY)
    assert gate.check('bob', make=KEY.seal) is None
    assert gate.check('bob') is Refusal.UNSEALED
    assert gate.check('eve', make=SwarmKey(b'another key, not ours').seal) is Refusal.UNSEALED
    assert 'eve' not in gate.border.names
    assert gate.border.problems(gate.step) == [
        'messages of eve are refused: they lack the seal of the swarm key'
    ]

    def changed(data: bytes) -> bytes:
        sealed = bytearray(KEY.seal(data))
        sealed[50] ^= 1
        return bytes(sealed)

    assert gate.check('bob', make=changed) is Refusal.UNSEALED


def test_the_first_fields_are_read_in_either_byte_order() -> None:
    label = Label('bob', 2**40, 6, 513, 2**63 + 1)
    little = serialised(label, stamp=12.5)
    assert read_envelope(little).label == label
    assert read_envelope(little).stamp == 12.5
    for cut in range(44):
        with pytest.raises(ValueError, match=r'bytes|CDR'):
            read_envelope(little[:cut])


def test_a_key_is_a_private_file_of_at_least_16_bytes(tmp_path: Path) -> None:
    file = tmp_path / 'key'
    file.write_bytes(os.urandom(32))
    file.chmod(0o640)
    with pytest.raises(ValueError, match='mode 640: others may read or write it; run chmod 600'):
        SwarmKey.read(file)
    file.chmod(0o600)
    key = SwarmKey.read(file)
    assert file.read_bytes().hex() not in f'{key!r} {key}'
    file.write_bytes(b'short')
    with pytest.raises(ValueError, match='5 bytes, expected 16 to 4096'):
        SwarmKey.read(file)
    with pytest.raises(ValueError, match='not a file'):
        SwarmKey.read(Path('/dev/null'))
