"""Node processes of a run: each with its own log and parameter file, stopped cleanly."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from delama_ros.signals import SIGNALS

# DDS ports of higher domain ids overlap with the ephemeral ports of the system.
DOMAINS = range(1, 100)
LOCK_PORT = 41000  # a domain id is in use while this port plus the id is bound


class Domain:
    """A ROS domain id that no other run on this machine uses until it is closed."""

    def __init__(self) -> None:
        ids = random.sample(DOMAINS, len(DOMAINS))
        for self.id in ids:
            self._lock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                self._lock.bind(('127.0.0.1', LOCK_PORT + self.id))
                return
            except OSError:
                self._lock.close()
        raise RuntimeError(f'all {len(DOMAINS)} ROS domain ids are in use on this machine')

    def environment(self) -> dict[str, str]:
        """Return the environment that keeps nodes in this domain and on this machine."""
        return {'ROS_DOMAIN_ID': str(self.id), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}

    def close(self) -> None:
        """Release the id."""
        self._lock.close()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block signals in processes started here until their handler is installed (signals.py)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Processes:
    """The nodes of one run; leaving the context stops all of them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        # One thread per process: a swarm has more processes than the machine has cores.
        threads = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1'}
        self._environment = {**os.environ, **threads, **environment}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.failures: list[str] = []  # of processes that could not end as they should
        for part in ('log', 'parameters'):
            (folder / part).mkdir(parents=True, exist_ok=True)

    def start(
        self,
        name: str,
        module: str,
        namespace: str,
        parameters: dict[str, Any],
        *,
        prefix: Sequence[str] = (),
        remappings: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Start the main function of a module as a node.

        Args:
            name: of the process, for its files.
            module: with a function `main`.
            namespace: of the node.
            parameters: of the node.
            prefix: command that runs another one, on another host for example.
            remappings: pairs of topics.
        """
        file = self._folder / 'parameters' / f'{name}.yaml'
        file.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
        program = [sys.executable, '-m', 'delama_ros.ros.programs', module]
        command = [*program, '--ros-args', '-r', f'__ns:={namespace}']
        for topic, other in remappings:
            command += ['-r', f'{topic}:={other}']
        with (self._folder / 'log' / f'{name}.log').open('wb') as log, signals_blocked():
            self._running[name] = subprocess.Popen(
                [*prefix, *command, '--params-file', str(file)],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches this program alone, which stops the rest
            )

    def failed(self) -> str | None:
        """Return the name of a process that ended by itself, with the end of its log."""
        for name, process in self._running.items():
            code = process.poll()
            if code is not None:
                return self._ending(name, code)
        return None

    def _ending(self, name: str, code: int) -> str:
        log = (self._folder / 'log' / f'{name}.log').read_text(errors='replace')
        return f'{name} ended with code {code}:\n' + '\n'.join(log.splitlines()[-10:])

    def memory(self, name: str | None = None) -> int:
        """Return the memory of one process or all in bytes, shared pages counted once.

        0 if unknown.
        """
        total = 0
        for process in self._running.values() if name is None else [self._running[name]]:
            try:
                lines = Path(f'/proc/{process.pid}/smaps_rollup').read_text().splitlines()
            except OSError:  # just ended, or not on Linux
                continue
            total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith('Pss:'))
        return total

    def kill(self, name: str) -> None:
        """Kill a process, as a crash or an empty battery would."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop(self, patience: float = 5.0) -> None:
        """Interrupt all processes, and kill those that still run after `patience` seconds.

        Those that then report a failure, such as a full disk, are in `failures`.
        """
        for sign in (signal.SIGINT, signal.SIGKILL):
            for process in self._running.values():
                if process.poll() is None:
                    process.send_signal(sign)
            end = time.monotonic() + patience
            for process in self._running.values():
                try:
                    process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue
        for name, process in self._running.items():
            if (process.returncode or 0) > 0:
                self.failures.append(self._ending(name, process.returncode))
        self._running.clear()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
