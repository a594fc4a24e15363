"""Parts of the bench of searching on."""

import numpy as np

from bench.hopping.follow_ups import _question, _sentence
from bench.multihop import unmet
from bench.retrieving.judge import Judged


def judged(recall: list[float], ms: float) -> Judged:
    values = {name: np.array(recall) for name in ("ndcg@10", "mrr@10", "recall@10", "recall@100")}
    return Judged(values, np.full(len(recall), ms))


def test_steps_become_questions() -> None:
    assert _question("Hello Love >> performer") == "What is the performer of Hello Love?"
    assert _question("What city did #1 live when he died? ") == "What city did #1 live when he died?"
    assert _sentence("A pump. Built by Acme in Leeds. It hums.", "acme") == "Built by Acme in Leeds."
    assert _sentence("A pump.", "Acme") == "Acme"


def test_what_is_promised_is_checked() -> None:
    good = {"single": judged([0.5] * 20, 100), "b": judged([0.7] * 20, 100)}
    same = {"single": judged([1.0] * 20, 100), "b": judged([1.0] * 20, 115)}
    assert unmet({"multihop": good, "xquad-en": same}, "b") == []
    assert unmet({"multihop": good}, "b") == [], "of a part of the sets nothing is said"
    worse = {"single": judged([1.0] * 20, 100), "b": judged([0.5] * 20, 130)}
    assert len(unmet({"multihop": same, "xquad-en": worse}, "b")) == 3
