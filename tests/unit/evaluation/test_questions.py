"""Files of questions."""

import json
from pathlib import Path

import pytest

from citemesh.errors import InvalidInput
from citemesh.evaluation import questions
from citemesh.evaluation.questions import EvaluationQuestion, Evidence


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "it is no JSON"),
        ("[]", "it has no question"),
        ('{"question": " "}', "it has no question"),
        ('{"question": "q", "answers": "a"}', "answers: it is no list"),
        ('{"question": "q", "evidence": [{"page": 3}]}', "it names none of"),
        ('{"id": 1, "question": "q"}\n{"id": "1", "question": "r"}', "stands twice"),
        ("", "it holds no question"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=fault):
        questions.read(file)


def test_a_set_is_read(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    lines = [{"question": "谁建的？", "answers": ["张三"], "evidence": [{"title": "历史"}]}, {"id": 7, "question": "b"}]
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n", encoding="utf-8")
    first, second = questions.read(file)
    assert first == EvaluationQuestion("1", "谁建的？", ("张三",), (Evidence(title="历史"),))
    assert second.id == "7"
    with pytest.raises(InvalidInput, match="can't be read"):
        questions.read(tmp_path / "none")
