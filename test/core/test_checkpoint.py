"""Checkpoints: exact round trip, and one clear line for every file that cannot be used."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from delama_ros.core import checkpoint
from delama_ros.core.checkpoint import Checkpoint, CheckpointError, load
from delama_ros.core.settings import Settings

MODEL = Checkpoint(
    'mapping',
    Settings(lambda2=0.1 + 0.2, null_edge=None),
    {'table': np.random.default_rng(0).normal(size=(9, 4)), 'bias': np.array(-0.3)},
    {'resolution': 0.05},
)


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / 'models' / 'one'
    MODEL.save(path)
    return path


def edit(path, **changes):
    described = path.with_suffix('.json')
    described.write_text(json.dumps(json.loads(described.read_text()) | changes))


def test_round_trip_is_exact(saved):
    loaded = load(saved, task='mapping')
    assert loaded.settings == MODEL.settings
    assert loaded.options == MODEL.options
    assert loaded.fingerprint == MODEL.fingerprint
    for name, array in MODEL.arrays.items():
        np.testing.assert_array_equal(loaded.arrays[name], array)
        torch.testing.assert_close(torch.as_tensor(loaded.arrays[name]), torch.as_tensor(array))


def test_a_file_from_before_a_setting_was_there(saved, monkeypatch):
    # As an older program wrote it: its settings lack one that has a default here.
    monkeypatch.setattr(
        checkpoint, 'asdict', lambda s: {k: v for k, v in asdict(s).items() if k != 'forget'}
    )
    MODEL.save(saved)
    monkeypatch.undo()
    assert 'forget' not in json.loads(saved.with_suffix('.json').read_text())['settings']
    assert load(saved).settings == MODEL.settings


def test_fingerprint_tells_models_apart():
    other_table = MODEL.arrays | {'table': MODEL.arrays['table'] + 1e-12}
    others = [
        replace(MODEL, task='regression'),
        replace(MODEL, settings=replace(MODEL.settings, lambda2=0.31)),
        replace(MODEL, arrays=other_table),
        replace(MODEL, options={'resolution': 0.1}),
    ]
    prints = {model.fingerprint for model in [MODEL, *others]}
    assert len(prints) == 5
    assert all(0 <= value < 2**64 for value in prints)
    # What an agent accepts from others is its own business.
    generous = replace(MODEL, settings=replace(MODEL.settings, max_value=1e9))
    assert generous.fingerprint == MODEL.fingerprint


@pytest.mark.parametrize(
    ('damage', 'text'),
    [
        (lambda p: p.with_suffix('.json').unlink(), 'cannot be read'),
        (lambda p: p.with_suffix('.npz').unlink(), 'cannot be read'),
        (lambda p: p.with_suffix('.json').write_text('{"format": 1'), 'damaged or no checkpoint'),
        (lambda p: p.with_suffix('.json').write_bytes(b'\xff\xfe\x00'), 'damaged or no checkpoint'),
        (lambda p: p.with_suffix('.json').write_text('[]'), 'no format number'),
        (lambda p: p.with_suffix('.npz').write_bytes(b'garbage'), 'damaged or no checkpoint'),
        (lambda p: p.with_suffix('.npz').write_bytes(b''), 'damaged or no checkpoint'),
        (
            lambda p: p.with_suffix('.npz').write_bytes(p.with_suffix('.npz').read_bytes()[:300]),
            'damaged or no checkpoint',
        ),
        (lambda p: edit(p, format=0, version='0.0.1'), 'has format 0 .written by version 0.0.1'),
        (lambda p: edit(p, format=99), 'has format 99'),
        (lambda p: edit(p, settings={'lambda9': 1}), 'settings cannot be used'),
        (lambda p: edit(p, settings={'lambda3': -1}), 'settings cannot be used'),
        (lambda p: edit(p, options={'resolution': 0.1}), 'do not belong together'),
        (lambda p: edit(p, task='regression'), "made for task 'regression', not 'mapping'"),
    ],
)
def test_unusable_files_give_one_clear_line(saved, damage, text):
    damage(saved)
    with pytest.raises(CheckpointError, match=text) as caught:
        load(saved, task='mapping')
    assert '\n' not in str(caught.value)


def test_missing_field_is_named(saved):
    described = saved.with_suffix('.json')
    content = json.loads(described.read_text())
    del content['settings']
    described.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"damaged: \['settings'\] missing"):
        load(saved)


def test_pickled_arrays_are_refused(saved):
    """A file that would execute code when read is damaged, not loaded."""
    np.savez(saved.with_suffix('.npz'), table=np.array([object()], dtype=object))
    with pytest.raises(CheckpointError, match='damaged or no checkpoint'):
        load(saved)
