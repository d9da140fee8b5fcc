"""Steps of a small language model with a cache of keys and values, on tinygrad's OpenCL backend."""

import time

import numpy as np
from tinygrad import Tensor, TinyJit

WIDTH, HEADS, LAYERS, WORDS, LENGTH = 64, 4, 2, 100, 16


class Model:
    def __init__(self) -> None:
        random = np.random.default_rng(0)

        def weights(*shape: int) -> Tensor:
            return Tensor((random.standard_normal(shape) / WIDTH**0.5).astype(np.float32)).realize()

        self.words = weights(WORDS, WIDTH)
        self.layers = [{name: weights(WIDTH, WIDTH) for name in "qkvo"} for _ in range(LAYERS)]
        self.caches = [Tensor.zeros(2, LENGTH, WIDTH).contiguous().realize() for _ in range(LAYERS)]
        self.step = TinyJit(self.compute)

    def compute(self, word: Tensor, place: Tensor) -> Tensor:
        x = (word @ self.words).reshape(1, WIDTH)
        for layer, cache in zip(self.layers, self.caches, strict=True):
            new = Tensor.stack(x @ layer["k"], x @ layer["v"]) * place.reshape(1, LENGTH, 1)
            cache.assign(cache + new).realize()
            query = (x @ layer["q"]).reshape(1, HEADS, -1).transpose(0, 1)
            keys, values = (cache[i].reshape(LENGTH, HEADS, -1).transpose(0, 1) for i in (0, 1))
            scores = (query @ keys.transpose(1, 2)) / (WIDTH / HEADS) ** 0.5
            x = x + (scores.softmax(-1) @ values).transpose(0, 1).reshape(1, WIDTH) @ layer["o"]
        return (x @ self.words.T).realize()


def one_hot(index: int, count: int) -> Tensor:
    return Tensor(np.eye(count, dtype=np.float32)[index : index + 1]).realize()


def main() -> None:
    model, word, text = Model(), 1, []
    begin = time.perf_counter()
    for place in range(LENGTH):
        if place == 4:  # the first steps compile
            begin = time.perf_counter()
        scores = model.step(one_hot(word, WORDS), one_hot(place, LENGTH)).numpy()
        word = int((scores[0] - 100 * np.isin(np.arange(WORDS), text)).argmax())
        text.append(word)
    print(f"seconds: {time.perf_counter() - begin}")
    print(*text, f"{np.abs(scores).sum():.4g}")


main()
