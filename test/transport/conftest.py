"""Single-threaded, deterministic tests of the transports."""

import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    'deterministic',
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile('deterministic')
torch.set_num_threads(1)
