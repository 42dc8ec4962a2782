"""Two import packages, delama_ros and delama_sim; all other metadata is in setup.cfg."""

from setuptools import find_packages, setup

setup(
    packages=find_packages(include=['delama_ros', 'delama_ros.*'])
    + find_packages('sim', include=['delama_sim', 'delama_sim.*']),
    package_dir={'delama_ros': 'delama_ros', 'delama_sim': 'sim/delama_sim'},
    package_data={
        'delama_ros': [
            'checkpoints/*', 'checkpoints/*/*/*', 'web/static/*', 'web/*/static/*', 'py.typed',
        ],
        'delama_sim': ['py.typed'],
    },
)
