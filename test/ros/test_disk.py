"""Nodes on a disk that gets full: what was written stays, and diagnostics and exit codes say so."""

import subprocess
import sys
import time
from pathlib import Path

from robot_bench import Bench
from rosbags.highlevel import AnyReader

from delama_ros.data.types import typestore
from delama_ros.srv import File

SAVED = 'the memory was not saved to'


def test_a_memory_that_does_not_fit(
    full_disk: Path, tmp_path: Path, ros_environment: dict[str, str]
) -> None:
    bench = Bench(
        ros_environment, tmp_path, memory_file=str(full_disk / 'memory.npz'), memory_period='0.5',
        save_folder=str(full_disk),
    )
    bench.until(lambda: SAVED in bench.status['message'], meanwhile=bench.scan)
    answer = bench.call(File, 'save_memory', path='other.npz')
    assert not answer.success
    assert 'No space left' in answer.message
    bench.process.send_signal(2)
    assert bench.process.wait(60) == 1
    bench.process.returncode = 0  # all that close() asks for
    bench.close()
    log = bench.log.read_text()
    assert log.splitlines()[-1].startswith(f'delama_robot: error: {SAVED} {full_disk}')
    assert 'Traceback' not in log
    assert [file.name for file in full_disk.iterdir()] == ['memory.npz']  # of the start


def test_a_bag_that_does_not_fit(
    full_disk: Path, tmp_path: Path, ros_environment: dict[str, str], bench: Bench
) -> None:
    path, log = full_disk / 'bag', tmp_path / 'recorder.log'
    command = [sys.executable, '-m', 'delama_ros.ros.recorder', '--ros-args']
    with log.open('w') as out:
        process = subprocess.Popen(
            [*command, '-p', f'path:={path}', '-p', 'robots:=[ann]'],
            env=ros_environment, stdout=out, stderr=out,
        )
    bench.until(lambda: (path / 'metadata.yaml').exists())
    end = time.monotonic() + 60.0
    while process.poll() is None:
        assert time.monotonic() < end
        bench.scan()
        time.sleep(0.05)
    assert process.returncode == 1, log.read_text()
    assert f'delama_recorder: error: bag {path} cannot be written' in log.read_text()
    assert 'Traceback' not in log.read_text()
    with AnyReader([path], default_typestore=typestore()) as reader:
        topics = {connection.topic for connection, _, _ in reader.messages()}
    # What fitted can be read; which topic filled the disk first differs from run to run.
    assert topics & {'/ann/scan', '/ann/map', '/ann/status'}
    assert not list(path.glob('*.tmp'))


def test_a_bag_on_a_disk_without_room(full_disk: Path, ros_environment: dict[str, str]) -> None:
    (full_disk / 'filler').write_bytes(bytes(190_000))
    command = [sys.executable, '-m', 'delama_ros.ros.recorder', '--ros-args']
    result = subprocess.run(
        [*command, '-p', f'path:={full_disk / "bag"}'],
        env=ros_environment, capture_output=True, text=True, timeout=120,
    )
    assert result.returncode == 2
    assert 'cannot be written' in result.stderr
    assert 'Traceback' not in result.stderr
    assert [file.name for file in full_disk.iterdir()] == ['filler']
