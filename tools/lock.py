"""`make lock`: resolve all requirements and write requirements/*.lock, with hashes.

One resolution covers everything, so that the files agree with each other; each gets its share:

    robot.lock       what setup.cfg requires, with the extras web and logs
    ros.lock         ROS 2 as wheels, for machines without a ROS 2 of their own
    torch-cpu.lock   torch's CPU build, which PyPI does not have
    torch.lock       PyPI's build of torch, with what both need
    torch-cuda.lock  the libraries without which PyPI's build for x86-64 cannot be imported
    test.lock        the extras train and test, without what is in the files above

Locked versions are kept where they still fit; --upgrade takes the newest that limits.in allows.
"""

from __future__ import annotations

import argparse
import configparser
import hashlib
import re
import subprocess
import tempfile
import venv
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'requirements'
PYTHONS = ('3.11', '3.12')
MACHINES = ('x86_64', 'aarch64')
CUDA = re.compile(r'(nvidia|cuda)-|triton$')
Lock = dict[str, str]  # name of a package -> its lines of a lock file


def main() -> int:
    """Resolve, divide and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--upgrade', action='store_true', help='newest versions, not locked ones')
    args = parser.parse_args()
    wanted = requirements()
    limits = (FOLDER / 'limits.in').read_text()
    with tempfile.TemporaryDirectory() as scratch:
        resolver = Resolver(Path(scratch))
        locked = '' if args.upgrade else ''.join(f.read_text() for f in FOLDER.glob('*.lock'))
        everything = resolver.resolve([*chain.from_iterable(wanted.values())], limits, locked)
        locks = {name: parse(resolver.resolve(wanted[name], everything)) for name in wanted}
        cuda = [package for package in locks['torch'] if CUDA.match(package)]
        locks['torch-cuda'] = {package: locks['torch'].pop(package) for package in cuda}
        locks['torch-cpu'] = {'torch': resolver.cpu_builds(locks['torch']['torch'])}
    for name in ('ros', 'torch', 'test'):
        locks[name] = without(locks[name], locks['robot'])
    locks['test'] = without(locks['test'], {**locks['torch'], **locks['torch-cuda']})
    for name, lock in locks.items():
        text = ''.join(lock[package] for package in sorted(lock))
        (FOLDER / f'{name}.lock').write_text(f'# Written by `make lock`.\n{text}')
        print(f'requirements/{name}.lock: {len(lock)} packages')
    return 0


def requirements() -> dict[str, list[str]]:
    """Return what is asked for, per lock file."""
    config = configparser.ConfigParser()
    config.read(ROOT / 'setup.cfg')
    extras = {name: text.split() for name, text in config['options.extras_require'].items()}
    needed = config['options']['install_requires'].split()
    return {
        'robot': [*needed, *extras['web'], *extras['logs'], 'setuptools'],
        'ros': (FOLDER / 'ros.in').read_text().splitlines(),
        'torch': ['torch'],
        'test': [*extras['train'], *extras['test']],
    }


def parse(text: str) -> Lock:
    """Divide a lock file into packages: a line with the version, then lines with hashes."""
    lock: Lock = {}
    for block in re.split(r'\n(?=\S)', text.strip()):
        if not block.startswith('#'):
            name = re.split(r'[=\s]', block)[0]
            lock[name] = lock.get(name, '') + block + '\n'
    return lock


def without(lock: Lock, others: Iterable[str]) -> Lock:
    """Return a lock without what others hold already."""
    return {package: lines for package, lines in lock.items() if package not in others}


class Resolver:
    """uv in an environment of its own, with the package index that it is set up to use."""

    def __init__(self, folder: Path) -> None:
        """Install uv into a folder."""
        self._folder = folder
        self._python = folder / 'venv' / 'bin' / 'python'
        venv.create(folder / 'venv', with_pip=True)
        self._pip('install', 'uv')
        machines = ' or '.join(f"platform_machine == '{machine}'" for machine in MACHINES)
        pythons = ' or '.join(f"python_version == '{version}'" for version in PYTHONS)
        cpython = "platform_python_implementation == 'CPython' and sys_platform == 'linux'"
        used = f'{cpython} and ({machines}) and ({pythons})'
        (folder / 'pyproject.toml').write_text(f'[tool.uv]\nenvironments = ["{used}"]\n')

    def resolve(self, wanted: list[str], limits: str, locked: str = '') -> str:
        """Return all that `wanted` needs on the supported machines and Pythons, with hashes."""
        files = {'wanted.in': '\n'.join(wanted), 'limits.txt': limits, 'result.txt': locked}
        for name, text in files.items():
            (self._folder / name).write_text(text)
        subprocess.run(
            [
                *(self._python, '-m', 'uv', 'pip', 'compile', '--quiet', '--universal'),
                *('--python-version', PYTHONS[0], '--generate-hashes'),
                *('--no-header', '--no-annotate', '--constraints', 'limits.txt'),
                *('--output-file', 'result.txt', 'wanted.in'),
            ],
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        result = (self._folder / 'result.txt').read_text()
        # The marker that nearly all packages carry only repeats what is supported.
        markers = Counter(re.findall(r' ; .*(?= \\)', result))
        return result.replace(markers.most_common(1)[0][0], '') if markers else result

    def cpu_builds(self, torch: str) -> str:
        """Return the lines of torch's CPU builds: those that pip finds here and those known before.

        Args:
            torch: the lines of torch in a lock; the version is that of the CPU builds too.

        """
        pinned = f'{torch.split()[0]}+cpu'
        known = parse((FOLDER / 'torch-cpu.lock').read_text())['torch']
        hashes = re.findall(r'sha256:\w+', known) if known.startswith(f'{pinned} ') else []
        for python in PYTHONS:
            target = self._folder / python
            try:
                self._pip(
                    *('download', pinned, '--no-deps', '--dest', str(target)),
                    *('--python-version', python, '--platform', f'manylinux_2_28_{MACHINES[0]}'),
                )
            except subprocess.CalledProcessError:
                print(f'{pinned} for Python {python}: pip finds no such build here')
            found = (hashlib.sha256(wheel.read_bytes()) for wheel in target.glob('*.whl'))
            hashes += [f'sha256:{value.hexdigest()}' for value in found]
        if not hashes:
            raise SystemExit(f'no build of {pinned}: point PIP_FIND_LINKS to a folder that has one')
        return ' \\\n    --hash='.join([pinned, *dict.fromkeys(hashes)]) + '\n'

    def _pip(self, *arguments: str) -> None:
        subprocess.run(
            [self._python, '-m', 'pip', '--disable-pip-version-check', *arguments],
            check=True,
            capture_output=True,
        )


if __name__ == '__main__':
    raise SystemExit(main())
