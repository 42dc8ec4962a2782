"""Install the locked torch into this environment, and prove that it can be imported.

The CPU build is tried first, by its own version: among builds that satisfy a version, pip prefers
one whose hash the index states, and a folder of wheels states none. PyPI has no CPU build for
x86-64: its build is linked with CUDA's libraries and needs them even where there is no GPU.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / 'requirements'
PIP = (sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--require-hashes')
PROOF = 'import torch; assert torch.ones(2, 2).sum() == 4; print(torch.__version__)'


def main() -> int:
    """Install a CPU build if pip finds one, otherwise PyPI's build and the libraries it needs."""
    build = "PyPI's build" if pip('torch-cpu.lock').returncode else 'a CPU build'
    install('torch.lock')  # what both builds need, and PyPI's build where there is no other
    if build != 'a CPU build' and imported().returncode:
        print('      no CPU build where pip looks; CUDA libraries for the other one (2 GB) ...')
        install('torch-cuda.lock')
        build = "PyPI's build with CUDA libraries"
    proof = imported()
    if proof.returncode:
        sys.exit(f'{proof.stderr}torch was installed, but cannot be imported')
    print(f'      torch {proof.stdout.strip()}, {build}, imported')
    return 0


def imported() -> subprocess.CompletedProcess[str]:
    """Use torch in a process of its own."""
    return subprocess.run([sys.executable, '-c', PROOF], capture_output=True, text=True)


def pip(lock: str) -> subprocess.CompletedProcess[str]:
    """Let pip install a file of locked packages."""
    command = [*PIP, '--disable-pip-version-check', '-r', str(FOLDER / lock)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True)


def install(lock: str) -> None:
    """Install a file of locked packages; a warning of pip's is shown, the index it tried is not."""
    result = pip(lock)
    errors = [line for line in result.stderr.splitlines() if 'WARNING: Location' not in line]
    print(*errors, sep='\n', end='\n' * bool(errors), file=sys.stderr)
    if result.returncode:
        sys.exit('torch could not be installed; docs/install.md says which builds fit')


if __name__ == '__main__':
    sys.exit(main())
