"""Hosts on one machine: network namespaces on one bridge, with loss and partition (needs root)."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from types import TracebackType

TABLE = 'inet delama'


class NoHostsError(RuntimeError):
    """This machine cannot have namespaces; the text says why."""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NoHostsError(f'{" ".join(command)}: {done.stderr.strip() or done.stdout.strip()}')
    return done.stdout


class Hosts:
    """Hosts that hear each other through a bridge of their own, while the context is entered."""

    def __init__(self, names: Iterable[str], mark: str = '') -> None:
        """Prepare; with the mark of others, speak of those that they have made."""
        if os.geteuid() != 0:
            raise NoHostsError('network namespaces need root')
        for tool, package in (('ip', 'iproute2'), ('nft', 'nftables')):
            if shutil.which(tool) is None:
                raise NoHostsError(f'{tool} is missing: apt-get install {package}')
        self._names = list(names)
        self.mark = mark or f'dl{os.getpid() % 100_000}'
        self._addresses = {name: f'10.77.0.{i}' for i, name in enumerate(self._names, start=1)}

    def __enter__(self) -> 'Hosts':
        try:
            self._make()
        except NoHostsError:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

    def prefix(self, name: str) -> list[str]:
        """Return what makes a command run on a host."""
        return ['ip', 'netns', 'exec', self._space(name)]

    def lose(self, share: float, among: Iterable[str]) -> None:
        """Drop this share of packets between these hosts, at random."""
        among = set(among)
        for name in among:
            self._filter(name, among - {name}, f'numgen random mod 100 < {round(100 * share)}')

    def part(self, *groups: Iterable[str]) -> None:
        """Let only hosts of the same group hear each other; others hear all."""
        members = [set(group) for group in groups]
        for group in members:
            for name in group:
                self._filter(name, set().union(*members) - group)

    def heal(self) -> None:
        """Let everything through."""
        for name in self._names:
            run(*self.prefix(name), 'nft', 'flush', 'chain', *TABLE.split(), 'hear')

    def dropped(self, name: str) -> int:
        """Return how many packets a host did not hear under the present rule."""
        rules = run(*self.prefix(name), 'nft', 'list', 'chain', *TABLE.split(), 'hear')
        return sum(int(n) for n in re.findall(r'counter packets (\d+)', rules))

    def _space(self, name: str) -> str:
        return f'{self.mark}-{name}'

    def _filter(self, name: str, senders: set[str], condition: str = '') -> None:
        addresses = ', '.join(self._addresses[sender] for sender in sorted(senders))
        rule = f'add rule {TABLE} hear ip saddr {{ {addresses} }} {condition} counter drop'
        run(*self.prefix(name), 'nft', rule)

    def _make(self) -> None:
        run('ip', 'link', 'add', self.mark, 'type', 'bridge', 'mcast_snooping', '0')
        run('ip', 'link', 'set', self.mark, 'up')
        for i, name in enumerate(self._names):
            space, cable = self._space(name), f'{self.mark}v{i}'
            run('ip', 'netns', 'add', space)
            run('ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
            run('ip', 'link', 'set', cable, 'master', self.mark, 'up')
            inside = self.prefix(name)
            run(*inside, 'ip', 'address', 'add', f'{self._addresses[name]}/24', 'dev', 'eth0')
            run(*inside, 'ip', 'link', 'set', 'eth0', 'up')
            run(*inside, 'ip', 'link', 'set', 'lo', 'up')
            run(*inside, 'ip', 'route', 'add', 'default', 'dev', 'eth0')
            run(*inside, 'nft', f'add table {TABLE}')
            hook = '{ type filter hook input priority 0; }'
            run(*inside, 'nft', f'add chain {TABLE} hear {hook}')
            run(*inside, 'nft', f'add rule {TABLE} hear numgen random mod 100 < 0 counter drop')
        self.heal()

    def _remove(self) -> None:
        for name in self._names:
            subprocess.run(['ip', 'netns', 'delete', self._space(name)], capture_output=True)
        subprocess.run(['ip', 'link', 'delete', self.mark], capture_output=True)
