"""Trains gradient-boosted trees with LightGBM's OpenCL learner; prints the loss of each round.

Nothing in it knows about remotecl.
"""

import json

import lightgbm
from sklearn.datasets import load_breast_cancer

ROUNDS = 10


def main() -> None:
    features, labels = load_breast_cancer(return_X_y=True)
    parameters = {
        "device_type": "gpu",
        "gpu_use_dp": True,
        "max_bin": 63,
        "metric": "binary_logloss",
        "num_leaves": 15,
        "objective": "binary",
        "verbose": -1,
    }
    data = lightgbm.Dataset(features, labels, params=parameters)
    losses: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        parameters, data, ROUNDS, valid_sets=[data], valid_names=["data"],
        callbacks=[lightgbm.record_evaluation(losses)],
    )  # fmt: skip
    print(json.dumps(losses["data"]["binary_logloss"]))


if __name__ == "__main__":
    main()
