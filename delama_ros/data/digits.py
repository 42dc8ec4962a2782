"""A small set of drawn digits, so that image experiments run without any download."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from delama_ros.data.image_set import ImageSet

SIDE = 28
PER_CLASS = {'train': 96, 'test': 48}


def generated_digits(seed: int = 0) -> ImageSet:
    """Draw digits of random size, place, slant and noise, in the format of MNIST."""
    rng = np.random.default_rng([seed, 0xD161])
    train, test = (_draw(rng, count) for count in PER_CLASS.values())
    return ImageSet.of(*train, *test)


def _draw(
    rng: np.random.Generator, count: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    labels = np.tile(np.arange(10), count)
    images = np.zeros((len(labels), 1, SIDE, SIDE), np.uint8)
    for image, label in zip(images, labels, strict=True):
        picture = Image.new('L', (SIDE, SIDE))
        font = ImageFont.load_default(size=float(rng.uniform(19, 25)))
        ImageDraw.Draw(picture).text(
            (SIDE / 2, SIDE / 2), str(label), fill=255, font=font, anchor='mm'
        )
        dx, dy, slant = rng.uniform((-3, -3, -0.25), (3, 3, 0.25))
        moved = picture.transform(
            picture.size, Image.Transform.AFFINE,
            (1, slant, dx - slant * SIDE / 2, 0, 1, dy), Image.Resampling.BILINEAR,
        )
        noise = rng.normal(0, 12, (SIDE, SIDE))
        image[0] = np.clip(np.asarray(moved) + noise, 0, 255).astype(np.uint8)
    return images, labels
