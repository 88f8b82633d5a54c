"""Parameters of the mechanisms, with their defaults, so that listing them imports no mechanism.

Written by `python .ci/check_parameters --write` from the classes of the mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...common.forms.form import Form
from ...common.forms.several import Either
from ...common.forms.values import Choice, Nothing, Number, Text, Truth

LISTED: Mapping[str, Mapping[str, tuple[Form, Any]]] = {
    "mosaic": {
        "max_model_mb": (Number(above=0), 8.0),
        "time_limit": (Either(forms=(Nothing(), Number(above=0))), None),
    },
    "randdpgen": {
        "alpha": (Number(above=0, below=1), 0.3),
        "beta": (Number(above=0, below=1), 0.2),
        "one_way": (Number(above=0, below=1), 0.1),
        "rounds_per_attribute": (Number(least=1, whole=True), 16),
        "maxsize": (Number(least=2, whole=True), 10000),
        "max_model_mb": (Number(above=0), 32.0),
        "selection": (Choice(texts=("scores", "marginals")), "scores"),
        "allocation": (Choice(texts=("cells", "attributes")), "cells"),
    },
    "aim": {
        "alpha": (Number(above=0, below=1), 0.9),
        "rounds_per_attribute": (Number(least=2, whole=True), 16),
        "maxsize": (Number(least=2, whole=True), 10000),
        "max_model_mb": (Number(above=0), 32.0),
    },
    "mst": {
        "one_way": (Number(above=0, below=1), 0.3),
        "scores": (Number(above=0, below=1), 0.1),
        "max_model_mb": (Number(above=0), 32.0),
    },
    "mwem": {
        "rounds": (Either(forms=(Nothing(), Number(least=1, whole=True))), None),
        "alpha": (Number(above=0, below=1), 0.9),
        "maxsize": (Number(least=2, whole=True), 10000),
        "max_model_mb": (Number(above=0), 32.0),
    },
    "absyn": {
        "one_way": (Number(above=0, below=1), 0.1),
        "scores": (Number(above=0, below=1), 0.1),
        "max_clique_cells": (Number(least=4, whole=True), 1000000),
        "max_model_mb": (Number(above=0), 32.0),
        "estimator": (Choice(texts=("exact", "parallel")), "exact"),
    },
    "ppsyn": {
        "eta": (Number(above=0, most=1), 0.7),
        "one_way": (Number(above=0, below=1), 0.1),
        "scores": (Number(above=0, below=1), 0.05),
        "rounds": (Number(least=1, whole=True), 4),
        "maxsize": (Number(least=1, whole=True), 10000),
        "max_model_mb": (Number(above=0), 32.0),
    },
    "privbayes": {
        "network_share": (Number(above=0, below=1), 0.2),
        "noises_per_cell": (Number(above=0), 4.0),
        "group": (Number(least=2, whole=True), 8),
        "drawing": (Choice(texts=("without-replacement", "with-replacement")), "without-replacement"),
        "consistency": (Truth(), True),
    },
    "dp-select": {
        "one_way": (Number(above=0, below=1), 0.1),
        "sample_rate": (Number(above=0, most=1), 0.01),
        "epochs": (Number(above=0), 20.0),
        "noise_multiplier": (Either(forms=(Nothing(), Number(above=0))), None),
        "max_grad_norm": (Number(above=0), 0.3),
        "hidden": (Number(least=2, whole=True), 64),
        "latent": (Number(least=1, whole=True), 32),
        "critic_steps": (Number(least=1, whole=True), 2),
        "weight_clip": (Number(above=0), 0.1),
        "learning_rate": (Number(above=0), 0.002),
        "critic_learning_rate": (Number(above=0), 0.01),
        "device": (Choice(texts=("cpu", "cuda")), "cpu"),
        "checkpoint": (Either(forms=(Nothing(), Text())), None),
        "gan": (Number(above=0, below=1), 0.3),
        "scores": (Number(above=0, below=1), 0.1),
        "reference": (Choice(texts=("measured", "exact")), "measured"),
        "pool": (Number(least=1, whole=True), 10),
        "marginals": (Number(above=0, most=1), 0.3),
        "distance": (Choice(texts=("density", "kolmogorov", "l2")), "density"),
        "candidates": (Number(least=2, whole=True), 100),
        "at_once": (Number(least=1, whole=True), 1),
        "sections": (Number(least=1, whole=True), 5),
    },
    "dp-gan": {
        "one_way": (Number(above=0, below=1), 0.1),
        "sample_rate": (Number(above=0, most=1), 0.01),
        "epochs": (Number(above=0), 20.0),
        "noise_multiplier": (Either(forms=(Nothing(), Number(above=0))), None),
        "max_grad_norm": (Number(above=0), 0.3),
        "hidden": (Number(least=2, whole=True), 64),
        "latent": (Number(least=1, whole=True), 32),
        "critic_steps": (Number(least=1, whole=True), 2),
        "weight_clip": (Number(above=0), 0.1),
        "learning_rate": (Number(above=0), 0.002),
        "critic_learning_rate": (Number(above=0), 0.01),
        "device": (Choice(texts=("cpu", "cuda")), "cpu"),
        "checkpoint": (Either(forms=(Nothing(), Text())), None),
    },
    "independent": {},
}
