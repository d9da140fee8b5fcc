"""k-nearest-neighbour classification of handwritten digits, its queries divided between devices."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

NEIGHBOURS = 5
CLASSES = 10

# Features are whole numbers from 0 to 16, so every squared distance (at most 64 * 256) is exact in float32 and
# equal distances are equal bit by bit. Ties go to the training image that comes first.
SOURCE = """
__kernel void classify(__global const float* training, __global const int* labels, const int training_count,
                       __global const float* queries, __global int* predictions) {
  const int query = get_global_id(0);
  float features[FEATURES];
  for (int f = 0; f < FEATURES; ++f) features[f] = queries[query * FEATURES + f];

  float nearest[NEIGHBOURS];  // ascending
  int owner[NEIGHBOURS];
  for (int k = 0; k < NEIGHBOURS; ++k) { nearest[k] = INFINITY; owner[k] = 0; }

  for (int t = 0; t < training_count; ++t) {
    float distance = 0;
    for (int f = 0; f < FEATURES; ++f) {
      const float difference = features[f] - training[t * FEATURES + f];
      distance += difference * difference;
    }
    if (distance >= nearest[NEIGHBOURS - 1]) continue;
    int place = NEIGHBOURS - 1;
    for (; place > 0 && nearest[place - 1] > distance; --place) {
      nearest[place] = nearest[place - 1];
      owner[place] = owner[place - 1];
    }
    nearest[place] = distance;
    owner[place] = t;
  }

  int votes[CLASSES];
  for (int c = 0; c < CLASSES; ++c) votes[c] = 0;
  for (int k = 0; k < NEIGHBOURS; ++k) ++votes[labels[owner[k]]];
  int winner = 0;  // equal votes go to the smaller digit
  for (int c = 1; c < CLASSES; ++c) if (votes[c] > votes[winner]) winner = c;
  predictions[query] = winner;
}
"""


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 float32 features, labels as int32."""

    training: NDArray[np.float32]
    training_labels: NDArray[np.int32]
    queries: NDArray[np.float32]
    query_labels: NDArray[np.int32]


@dataclass(frozen=True)
class Classification:
    """The predicted digit of every query, the seconds it took, and the buffers that were used, by name."""

    predictions: NDArray[np.int32]
    seconds: float
    buffers: dict[str, cl.Buffer]


def load_digits() -> Digits:
    """scikit-learn's bundled digits: 1,797 images of 8 x 8 pixels, a quarter of them as queries."""
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    images, labels = load(return_X_y=True)
    parts = train_test_split(
        images.astype(np.float32), labels.astype(np.int32), test_size=0.25, random_state=0, stratify=labels
    )
    training, queries, training_labels, query_labels = map(np.ascontiguousarray, parts)
    return Digits(training, training_labels, queries, query_labels)


def reference_predictions(digits: Digits) -> NDArray[np.int32]:
    """What scikit-learn predicts.

    Its choice among equally distant neighbours is unspecified. In this split there are seven queries whose fifth and
    sixth neighbours are equally far, and none of them decides a vote.
    """
    from sklearn.neighbors import KNeighborsClassifier

    classifier = KNeighborsClassifier(n_neighbors=NEIGHBOURS, algorithm="brute")
    classifier.fit(digits.training, digits.training_labels)
    predictions: NDArray[np.int32] = classifier.predict(digits.queries)
    return predictions


def classify(context: cl.Context, queues: Sequence[cl.CommandQueue], digits: Digits) -> Classification:
    """Classifies the queries, a share of them on every queue's device."""
    features = digits.training.shape[1]
    options = [f"-DFEATURES={features}", f"-DNEIGHBOURS={NEIGHBOURS}", f"-DCLASSES={CLASSES}"]
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(options=options), "classify")

    start = time.perf_counter()
    read_only = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    # One buffer for all devices: each gets its own copy of it when its kernel first needs it.
    training = cl.Buffer(context, read_only, hostbuf=digits.training)
    labels = cl.Buffer(context, read_only, hostbuf=digits.training_labels)
    buffers = {"training images": training, "training labels": labels}

    predictions = np.empty(len(digits.queries), np.int32)
    shares = np.array_split(np.arange(len(digits.queries)), len(queues))
    reads = []
    for number, (queue, share) in enumerate(zip(queues, shares, strict=True)):
        rows = slice(share[0], share[-1] + 1)
        queries = cl.Buffer(context, read_only, hostbuf=digits.queries[rows])
        result = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, predictions[rows].nbytes)
        kernel(queue, (len(share),), None, training, labels, np.int32(len(digits.training)), queries, result)
        reads.append(cl.enqueue_copy(queue, predictions[rows], result, is_blocking=False))
        queue.flush()
        buffers[f"queries, share {number}"] = queries
        buffers[f"predictions, share {number}"] = result
    cl.wait_for_events(reads)
    return Classification(predictions, time.perf_counter() - start, buffers)
