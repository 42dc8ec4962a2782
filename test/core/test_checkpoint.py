"""Checkpoints: exact round trip, earlier formats, one clear line for every unusable file."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from delama_ros.core import checkpoint
from delama_ros.core.checkpoint import Checkpoint, CheckpointError, load
from delama_ros.core.settings import Settings
from delama_ros.mapping import completion, default

MODEL = Checkpoint(
    'mapping',
    Settings(lambda2=0.1 + 0.2, null_edge=None),
    {'table': np.random.default_rng(0).normal(size=(9, 4)), 'bias': np.array(-0.3)},
    {'resolution': 0.05},
    {'seed': 3},
)


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / 'models' / 'one.npz'
    MODEL.save(path)
    return path


def rewrite(path, remove=(), **changes):
    """Write the file again with another description."""
    with np.load(path) as stored:
        content = {name: stored[name] for name in stored.files}
    description = json.loads(str(content['description'])) | changes
    for name in remove:
        del description[name]
    np.savez(path, **content | {'description': json.dumps(description)})


def save_pair(model, path):
    """Write the earlier format: arrays, and the description in a file beside them."""
    np.savez(path.with_suffix('.npz'), **model.arrays)
    path.with_suffix('.json').write_text(json.dumps({
        'format': 1, 'version': '0.1.0', 'task': model.task, 'settings': asdict(model.settings),
        'fingerprint': f'{model.fingerprint:016x}', 'options': dict(model.options),
    }))


def test_round_trip_is_exact(saved):
    loaded = load(saved, task='mapping')
    assert load(saved.with_suffix('')).made == MODEL.made
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
    with np.load(saved) as stored:
        assert 'forget' not in json.loads(str(stored['description']))['settings']
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
        (lambda p: p.unlink(), 'no such checkpoint'),
        (lambda p: p.write_bytes(b'garbage'), 'damaged or no checkpoint'),
        (lambda p: p.write_bytes(b''), 'damaged or no checkpoint'),
        (lambda p: p.write_bytes(p.read_bytes()[:300]), 'damaged or no checkpoint'),
        (lambda p: np.savez(p, table=np.ones(3)), 'it has no description'),
        (lambda p: np.savez(p, description='{"format": 1'), 'damaged or no checkpoint'),
        (lambda p: np.savez(p, description='[]'), 'no format number'),
        (lambda p: np.savez(p, header='{"format": "delama 7", "made": {}}'), 'format delama 7'),
        (lambda p: np.savez(p, header='{"format": "delama decoder 1"}'), 'damaged'),
        (lambda p: rewrite(p, format=0, version='0.0.1'), 'has format 0 .written by version 0.0.1'),
        (lambda p: rewrite(p, format=99), 'has format 99'),
        (lambda p: rewrite(p, settings={'lambda9': 1}), 'settings cannot be used'),
        (lambda p: rewrite(p, settings={'lambda3': -1}), 'settings cannot be used'),
        (lambda p: rewrite(p, options={'resolution': 0.1}), 'do not belong together'),
        (lambda p: rewrite(p, task='regression'), "made for task 'regression', not 'mapping'"),
        (lambda p: rewrite(p, remove=['settings']), r"damaged: \['settings'\] missing"),
    ],
)
def test_unusable_files_give_one_clear_line(saved, damage, text):
    damage(saved)
    with pytest.raises(CheckpointError, match=text) as caught:
        load(saved, task='mapping')
    assert '\n' not in str(caught.value)


def test_a_description_beside_the_arrays_is_read(tmp_path):
    path = tmp_path / 'old'
    save_pair(MODEL, path)
    loaded = load(path, task='mapping')
    assert loaded.settings == MODEL.settings
    assert loaded.fingerprint == MODEL.fingerprint
    np.testing.assert_array_equal(loaded.arrays['table'], MODEL.arrays['table'])
    path.with_suffix('.json').write_text('{"format": 1')
    with pytest.raises(CheckpointError, match='damaged or no checkpoint'):
        load(path)


def test_packaged_models_keep_their_fingerprints():
    assert default.packaged().fingerprint == 0x33FF70F1371DB00F
    assert default.find('mapping_16').fingerprint == 0xA06FC1EB56747B7B
    assert completion.packaged().weights['in_weight'].shape == (16, 7, 3, 3)


def test_pickled_arrays_are_refused(saved):
    """A file that would execute code when read is damaged, not loaded."""
    np.savez(saved, table=np.array([object()], dtype=object))
    with pytest.raises(CheckpointError, match='damaged or no checkpoint'):
        load(saved)
