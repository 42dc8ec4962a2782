"""Import packages delama_ros and delama_sim; all other metadata is in setup.cfg."""

from setuptools import find_packages, setup

# Files that a ROS installation has in share/delama_ros; a wheel carries them in delama_ros/share.
SHARED = {f'delama_ros.share.{folder}': folder for folder in ('config', 'msg')}

setup(
    packages=find_packages(include=['delama_ros', 'delama_ros.*'])
    + find_packages('sim', include=['delama_sim', 'delama_sim.*'])
    + list(SHARED),
    package_dir={'delama_ros': 'delama_ros', 'delama_sim': 'sim/delama_sim', **SHARED},
    package_data={
        'delama_ros': [
            'checkpoints/*', 'checkpoints/*/*/*', 'experiments/*.yaml', 'web/static/*',
            'web/*/static/*', 'py.typed',
        ],
        'delama_sim': ['py.typed'],
        **{package: ['*', '*/*'] for package in SHARED},
    },
)
