"""The mapper of a robot process: without torch, the same on all robots, and from a file."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from delama_ros.mapping.checkpoint import load
from delama_ros.mapping.default import default_mapper, make_mapper, packaged


def test_a_robot_process_does_not_import_torch() -> None:
    code = (
        'import sys; from delama_ros.mapping.default import default_mapper; '
        'default_mapper("anna"); print("torch" in sys.modules)'
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == 'False'


def test_saved_checkpoint_is_the_same_model(tmp_path) -> None:
    one = packaged()
    table = np.random.default_rng(0).normal(size=one.model.table.shape)  # more digits than kept
    before = replace(one, model=replace(one.model, table=table))
    before.save(tmp_path / 'a.npz')
    after = load(tmp_path / 'a.npz')
    assert after.settings == before.settings
    assert np.allclose(after.model.table, before.model.table, atol=1e-7)
    after.save(tmp_path / 'b.npz')  # from float32 on nothing changes any more
    assert load(tmp_path / 'b.npz').fingerprint == after.fingerprint


def test_fingerprint_tells_models_apart() -> None:
    one = packaged()
    assert make_mapper('a', one).agent.fingerprint == default_mapper('b').agent.fingerprint
    other = make_mapper('a', one, lambda2=0.123)
    assert other.agent.fingerprint != default_mapper('b').agent.fingerprint


def test_small_features_are_in_the_package_too() -> None:
    small = default_mapper('a', 'mapping_16')
    assert small.model.table.shape == (16, 24, 24)
    assert small.agent.fingerprint != default_mapper('b').agent.fingerprint


def test_a_file_that_is_no_checkpoint_is_named(tmp_path) -> None:
    (tmp_path / 'x.npz').write_text('hello')
    with pytest.raises(ValueError, match=r'x\.npz'):
        default_mapper('a', tmp_path / 'x.npz')
    with pytest.raises(ValueError, match='no such'):
        default_mapper('a', tmp_path / 'y.npz')
