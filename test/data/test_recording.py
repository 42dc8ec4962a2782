"""Bags that are written while the swarm runs: a crash costs seconds, a full disk is reported."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader

from delama_ros.data.recording import Recording
from delama_ros.data.types import typestore
from delama_ros.errors import UserError

TEXT = 'std_msgs/msg/String'
WRITE = """
import sys, time
from pathlib import Path
from delama_ros.data.recording import Recording
from delama_ros.data.types import typestore
types = typestore()
bag = Recording(Path(sys.argv[1]))
text = bag.add_connection('/said', 'std_msgs/msg/String', typestore=types)
for k in range(10**6):
    message = types.types['std_msgs/msg/String'](f'{k} ' + 5000 * 'x')
    bag.write(text, k, types.serialize_cdr(message, text.msgtype))
    if k % 100 == 99:
        bag.flush()
        print(k + 1, flush=True)
    time.sleep(0.0005)
"""


def said(path: Path) -> list[str]:
    types = typestore()
    with AnyReader([path], default_typestore=types) as reader:
        return [reader.deserialize(data, c.msgtype).data for c, _, data in reader.messages()]


def test_a_killed_recorder_loses_only_what_came_after_the_last_flush(tmp_path: Path) -> None:
    path = tmp_path / 'bag'
    process = subprocess.Popen(
        [sys.executable, '-c', WRITE, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(3):
        flushed = int(process.stdout.readline())
    time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = said(path)
    assert len(found) >= flushed == 300
    assert [int(text.split()[0]) for text in found] == list(range(len(found)))
    assert not list(path.glob('*.tmp'))


def test_a_bag_is_readable_before_the_first_message(tmp_path: Path) -> None:
    bag = Recording(tmp_path / 'bag')
    bag.add_connection('/said', TEXT, typestore=typestore())
    bag.flush()
    assert said(tmp_path / 'bag') == []
    bag.close()


def test_a_full_disk_is_named_and_what_was_written_stays(full_disk: Path) -> None:
    types, path = typestore(), full_disk / 'bag'
    bag = Recording(path)
    text = bag.add_connection('/said', TEXT, typestore=types)
    number = 0

    def fill() -> None:
        nonlocal number
        for _ in range(1000):
            said_now = types.types[TEXT](f'{number} ' + 5000 * 'x')
            bag.write(text, number, types.serialize_cdr(said_now, TEXT))
            number += 1
            if number % 5 == 0:
                bag.flush()

    with pytest.raises(UserError, match=r'bag .*/disk/bag cannot be written: .*(full|space)'):
        fill()
    with suppress(UserError):  # whether there is room for a last commit depends
        bag.close()
    found = said(path)
    assert len(found) >= 10
    assert [int(t.split()[0]) for t in found] == list(range(len(found)))
    assert not list(path.glob('*.tmp'))


def test_a_disk_without_any_room(full_disk: Path) -> None:
    (full_disk / 'filler').write_bytes(b'x' * 190_000)
    with pytest.raises(UserError, match='cannot be written'):
        Recording(full_disk / 'bag')
    assert not (full_disk / 'bag').exists()
