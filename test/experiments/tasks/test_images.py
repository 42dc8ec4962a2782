"""The image task: its protocol, that no image is in two places, and the files it reads."""

import gzip
import struct

import numpy as np
import pytest
import torch
from PIL import Image

from delama_ros.data.digits import generated_digits
from delama_ros.data.image_files import CIFAR_CLASSES, MNIST_FILES, read_cifar10, read_mnist
from delama_ros.experiments.tasks.backbones import OnTask, convolutions, resnet18
from delama_ros.experiments.tasks.images import Images, Protocol


@pytest.fixture(scope='module')
def digits():
    return Images('mnist', generated_digits())


def test_protocol(digits) -> None:
    batch = digits.draw(np.random.default_rng(0), 50, 'test')
    assert batch.X.shape == (50, 10, 6, 10)
    assert batch.asked.shape == (50, 2, 50)
    assert (batch.group.sum(1) == 3).all()  # two groups of three
    labels = torch.from_numpy(digits.data.labels)
    shown = labels[batch.X]
    assert (shown == shown[..., :1]).all()  # one class per agent and step
    # What a group calls class c is one class of images, for all its agents and questions.
    for b in range(50):
        for n in range(6):
            g = batch.sheet[b, n]
            names = labels[batch.asked[b, g]][:5]
            assert len(set(names.tolist())) == 5
            assert (names[batch.Y[b, :, n, 0].argmax(-1)] == shown[b, :, n, 0]).all()
            assert (names[batch.answers[b, n].argmax(-1)] == labels[batch.asked[b, g]]).all()


def test_groups_may_share_classes_or_not(digits) -> None:
    labels = torch.from_numpy(digits.data.labels)
    shared = labels[digits.draw(np.random.default_rng(0), 50, 'test').asked]
    apart = Images('mnist', digits.data, Protocol(disjoint=True))
    disjoint = labels[apart.draw(np.random.default_rng(0), 50, 'test').asked]
    common = [
        [len(set(a.tolist()) & set(b.tolist())) for a, b in asked] for asked in (shared, disjoint)
    ]
    assert max(common[0]) > 0
    assert max(common[1]) == 0


def test_no_image_is_in_two_places(digits) -> None:
    seen = {}
    for split in ('train', 'validation', 'test'):
        batch = digits.draw(np.random.default_rng(1), 30, split)
        for row in range(30):
            learned, asked = batch.X[row].unique(), batch.asked[row].unique()
            assert not np.intersect1d(learned, asked).size
        seen[split] = set(batch.X.flatten().tolist()) | set(batch.asked.flatten().tolist())
    assert not seen['train'] & seen['validation']
    assert not seen['train'] & seen['test']
    assert not seen['validation'] & seen['test']


def test_backbones_look_once_at_each_image(digits) -> None:
    torch.manual_seed(0)
    net = convolutions()
    X = torch.tensor([3, 5, 3, 3])
    features = OnTask(digits, net)(X)
    assert features.shape == (4, 50)
    torch.testing.assert_close(features, net(digits.inputs(X)))
    assert resnet18(4)(torch.randn(2, 3, 32, 32)).shape == (2, 50)
    assert sum(p.numel() for p in resnet18().parameters()) > 11_000_000


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'groups': 4}, ['groups is 4', '1 to 3']),
        ({'questions': 7}, ['questions is 7', 'multiple of the 5']),
        ({'classes': 11, 'questions': 11}, ['classes is 11', 'at most the 10']),
        ({'samples': 0}, ['samples is 0']),
        ({'classes': 10, 'disjoint': True}, ['classes is 10', 'at most 5 if disjoint']),
    ],
)
def test_impossible_tasks(digits, values, words) -> None:
    with pytest.raises(ValueError, match='expected') as caught:
        Images('mnist', digits.data, Protocol(**values))
    assert all(word in str(caught.value) for word in words)


def write_idx(path, array) -> None:
    head = struct.pack('>HBB', 0, 8, array.ndim) + struct.pack(f'>{array.ndim}I', *array.shape)
    content = head + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == '.gz' else content)


@pytest.mark.parametrize(('place', 'suffix'), [('', '.gz'), ('MNIST/raw', '')])
def test_idx_files(tmp_path, place, suffix) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 256, (480, 28, 28)), np.arange(480) % 10,
        rng.integers(0, 256, (40, 28, 28)), np.arange(40) % 10,
    ]
    for name, array in zip(MNIST_FILES, arrays, strict=True):
        write_idx(folder / f'{name}{suffix}', array)
    data = read_mnist(tmp_path)
    assert (data.images[480:, 0].numpy() == arrays[2]).all()
    assert len(data.splits['validation']) == 40
    (folder / f'{MNIST_FILES[0]}{suffix}').write_bytes(b'\x00\x00\x08\x03\x00')
    with pytest.raises(ValueError, match='damaged'):
        read_mnist(tmp_path)


def test_missing_data_names_the_layout(tmp_path) -> None:
    with pytest.raises(ValueError, match=r'train-images-idx3-ubyte.*MNIST/raw'):
        read_mnist(tmp_path)
    with pytest.raises(ValueError, match='train/CLASS/'):
        read_cifar10(tmp_path)


def test_cifar_folders_and_batches(tmp_path) -> None:
    rng = np.random.default_rng(0)
    for split, count in (('train', 24), ('test', 2)):
        for name in CIFAR_CLASSES:
            folder = tmp_path / 'pictures' / split / name
            folder.mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f'{number}.png')
    data = read_cifar10(tmp_path / 'pictures')
    assert data.images.shape == (260, 3, 32, 32)
    first = np.asarray(Image.open(tmp_path / 'pictures' / 'test' / 'airplane' / '0.png'))
    assert (data.images[240].numpy() == np.moveaxis(first, -1, 0)).all()
    batches = tmp_path / 'batches'
    batches.mkdir()
    rows = np.concatenate((data.labels[:, None], data.images.flatten(1).numpy()), 1)
    parts = np.array_split(rows[:240], 5)
    for name, part in zip([f'data_batch_{n}' for n in range(1, 6)], parts, strict=True):
        part.astype(np.uint8).tofile(batches / f'{name}.bin')
    rows[240:].astype(np.uint8).tofile(batches / 'test_batch.bin')
    assert torch.equal(read_cifar10(batches).images, data.images)


def test_real_mnist(data_dir) -> None:
    data = read_mnist(data_dir / 'mnist')
    assert data.images.shape == (70_000, 1, 28, 28)
    assert len(data.splits['test']) == 10_000
    assert np.bincount(data.labels).tolist()[:2] == [6903, 7877]
