"""Reads MNIST and CIFAR-10 in their published form or as torchvision stores them."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from delama_ros.data.image_set import ImageSet, Numbers

Bytes = NDArray[np.uint8]

MNIST_FILES = (
    'train-images-idx3-ubyte', 'train-labels-idx1-ubyte',
    't10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte',
)
CIFAR_CLASSES = (
    'airplane', 'automobile', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck'
)
MNIST_LAYOUT = f'a folder with {", ".join(MNIST_FILES)}, each plain or .gz, or MNIST/raw in it'
CIFAR_LAYOUT = (
    'a folder with cifar-10-batches-bin/ (data_batch_1.bin … test_batch.bin), with train/CLASS/ '
    'and test/CLASS/ pictures, or with a .tar, .tar.gz or .tar.xz of such pictures'
)


def default_folder(name: str) -> Path:
    """Return the default folder of a data set: $DELAMA_DATA/NAME, or data/NAME."""
    return Path(os.environ.get('DELAMA_DATA', 'data')) / name


def read_mnist(folder: Path) -> ImageSet:
    """Read the four idx files."""
    for place in (folder, folder / 'raw', folder / 'MNIST' / 'raw'):
        found = [_idx_file(place, name) for name in MNIST_FILES]
        if all(found):
            train, labels, test, test_labels = (_read_idx(path) for path in found if path)
            return ImageSet.of(
                train[:, None], labels.astype(np.int64), test[:, None],
                test_labels.astype(np.int64),
            )
    raise ValueError(f'no MNIST data in {folder}, expected {MNIST_LAYOUT}')


def read_cifar10(folder: Path) -> ImageSet:
    """Read binary batches, folders of pictures, or an archive of such folders."""
    for place in (folder, folder / 'cifar-10-batches-bin'):
        if (place / 'test_batch.bin').exists():
            parts = [_binary_batch(place / f'data_batch_{n}.bin') for n in range(1, 6)]
            train, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
            return ImageSet.of(train, labels, *_binary_batch(place / 'test_batch.bin'))
    if (folder / 'train').is_dir():
        return _of_pictures(_folder_pictures(folder), folder)
    for pattern in ('*.tar', '*.tar.gz', '*.tgz', '*.tar.xz'):
        for archive in sorted(folder.glob(pattern)):
            return _of_pictures(_archive_pictures(archive), archive)
    raise ValueError(f'no CIFAR-10 data in {folder}, expected {CIFAR_LAYOUT}')


def _idx_file(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f'{name}.gz') if p.exists()), None)


def _read_idx(path: Path) -> Bytes:
    """Read an idx file of bytes: two zeros, type 8, number of axes, sizes, data."""
    try:
        content = path.read_bytes()
        if path.suffix == '.gz':
            content = gzip.decompress(content)
        zero, kind, axes = struct.unpack('>HBB', content[:4])
        shape = struct.unpack(f'>{axes}I', content[4 : 4 + 4 * axes])
        if (zero, kind) != (0, 8):
            raise ValueError('not an idx file of bytes')
        return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, struct.error, ValueError) as error:
        raise ValueError(f'{path} is damaged: {error}') from None


def _binary_batch(path: Path) -> tuple[Bytes, Numbers]:
    """Read rows of one label and 3 × 32 × 32 bytes."""
    try:
        rows = np.fromfile(path, np.uint8).reshape(-1, 3073)
    except (OSError, ValueError) as error:
        raise ValueError(f'{path} is missing or damaged: {error}') from None
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64)


def _folder_pictures(folder: Path) -> Iterator[tuple[str, Image.Image]]:
    for path in sorted(folder.glob('t*/*/*')):
        yield path.relative_to(folder).as_posix(), Image.open(path)


def _archive_pictures(path: Path) -> Iterator[tuple[str, Image.Image]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name, Image.open(io.BytesIO(content.read()))
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f'{path} is damaged: {error}') from None


def _of_pictures(pictures: Iterable[tuple[str, Image.Image]], source: Path) -> ImageSet:
    """Sort pictures by the last two folders of their names, SPLIT/CLASS/FILE."""
    images: dict[str, list[Bytes]] = {'train': [], 'test': []}
    labels: dict[str, list[int]] = {'train': [], 'test': []}
    for name, picture in pictures:
        parts = Path(name).parts
        if len(parts) < 3 or parts[-3] not in images or parts[-2] not in CIFAR_CLASSES:
            raise ValueError(f'{source}: {name} is unexpected, expected {CIFAR_LAYOUT}')
        images[parts[-3]].append(np.asarray(picture.convert('RGB')))
        labels[parts[-3]].append(CIFAR_CLASSES.index(parts[-2]))
    if not images['train'] or not images['test']:
        raise ValueError(f'{source}: contains no pictures, expected {CIFAR_LAYOUT}')
    train, test = (np.moveaxis(np.stack(images[split]), -1, 1) for split in ('train', 'test'))
    return ImageSet.of(train, np.array(labels['train']), test, np.array(labels['test']))
