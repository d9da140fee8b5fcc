"""The layers: a class with a forward and a backward pass in a file each, and its kernels beside it."""

from .convolution import Convolution
from .dropout import Dropout
from .inner_product import InnerProduct
from .layer import Layer, Place
from .normalization import LocalResponseNormalization
from .pooling import AveragePooling, MaxPooling
from .relu import ReLU
from .softmax_loss import SoftmaxLoss

__all__ = [
    "AveragePooling",
    "Convolution",
    "Dropout",
    "InnerProduct",
    "Layer",
    "LocalResponseNormalization",
    "MaxPooling",
    "Place",
    "ReLU",
    "SoftmaxLoss",
]
