"""The shape of what goes from layer to layer, and where its numbers are in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Shape:
    """A number of images with a number of channels of a number of pixels each.

    In memory the channels of an image follow each other, or, if the layout is batched, the images of a channel.
    """

    images: int
    channels: int
    height: int = 1
    width: int = 1
    batched: bool = True

    @property
    def pixels(self) -> int:
        """Pixels of one channel of an image."""
        return self.height * self.width

    @property
    def features(self) -> int:
        """Numbers of one image."""
        return self.channels * self.pixels

    @property
    def count(self) -> int:
        """Numbers of all images."""
        return self.images * self.features

    @property
    def image_stride(self) -> int:
        """The stride from a number to the same one of the next image."""
        return self.pixels if self.batched else self.features

    @property
    def channel_stride(self) -> int:
        """The stride from a number to the same one of the next channel."""
        return self.images * self.pixels if self.batched else self.pixels

    def packed(self, array: NDArray[np.float32]) -> NDArray[np.float32]:
        """An array of images, channels, rows and columns as it is in memory."""
        array = array.reshape(self.images, self.channels, self.pixels)
        return np.ascontiguousarray(array.transpose(1, 0, 2) if self.batched else array, np.float32)

    def unpacked(self, memory: NDArray[np.float32]) -> NDArray[np.float32]:
        """The array whose memory this is."""
        if self.batched:
            memory = memory.reshape(self.channels, self.images, self.pixels).transpose(1, 0, 2)
        return memory.reshape(self.images, self.channels, self.height, self.width)
