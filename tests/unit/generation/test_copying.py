"""What the fake engine writes."""

from citemesh.models.tokens import byte_vocabulary as vocabulary
from services.generation.engines import copying

PROMPT = (
    "<|turn|>system\nUse the sources.\n\n[1] The sky is blue today. Grass grows green in spring.\n"
    "[2] 天空是蓝色的。草在春天是绿色的，很好看。\n[3] Title\n<|end|>"
    "<|turn|>user\nWhat colour is grass in spring?<|end|><|turn|>assistant\n"
)


def test_sentences_are_copied_with_their_numbers() -> None:
    answer = copying.answer(PROMPT)
    assert "Grass grows green in spring [1]." in answer
    assert "[2]" in answer
    assert "colour" not in answer


def test_chinese_questions_find_chinese_sentences() -> None:
    answer = copying.answer(PROMPT.replace("What colour is grass in spring?", "草在春天是什么颜色?"))
    assert "草在春天是绿色的，很好看 [2]。" in answer


def test_every_quoted_sentence_stands_in_its_source() -> None:
    for quote in (copying.best_quote((n, text), "grass") for n, text in copying.SOURCE.findall(PROMPT)):
        assert quote is None or quote.sentence in PROMPT


def test_without_sources_it_says_what_it_is() -> None:
    for prompt in ("", "just text", "<|turn|>user\nhello<|end|>"):
        assert "fake engine" in copying.answer(prompt)


def test_ids_are_spelt_out_with_their_control_tokens() -> None:
    ids = (vocabulary.TURN, *vocabulary.encode("user\n你好"), vocabulary.END)
    assert copying.prompt_text(ids) == "<|turn|>user\n你好<|end|>"
    assert copying.prompt_text("as it is") == "as it is"
