import subprocess
import sys

import pytest

HEAVY = ('numba', 'matplotlib', 'shapely', 'scipy', 'torch', 'rclpy')


@pytest.mark.parametrize(
    'module',
    ['delama_ros.geometry.grid', 'delama_ros.geometry.map_file', 'delama_sim', 'delama_sim.plans'],
)
def test_light_modules_stay_light(module):
    code = f'import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'


def test_the_library_needs_no_ros_and_no_torch():
    code = (
        'import sys, delama_sim.world, delama_sim.protocol, delama_sim.plans.svg; '
        f'print([m for m in {HEAVY[4:]!r} if m in sys.modules])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'
