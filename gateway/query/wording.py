"""What the model is asked to do with a question: the words behind it in the prompt.

They stand after the question, at the prompt's end, so that everything before them is the same whatever is asked for.
"""

from citemesh.client.types import Question
from citemesh.text.languages import LANGUAGE_NAMES
from citemesh.text.scripts import is_chinese

_LENGTHS = {
    "": ("in one or two sentences", "用一两句话"),
    "short": ("in one or two sentences", "用一两句话"),
    "standard": ("in a short paragraph", "用一小段话"),
    "detailed": ("in detail", "详细"),
}
_STYLES = {
    "": ("", ""),
    "prose": ("", ""),
    "list": (" as a list with one point a line", "（每行一点）"),
    "steps": (" as numbered steps", "（按编号的步骤）"),
}


def speaks_chinese(question: Question) -> bool:
    """Whether the answer, and what the gateway says in it, is to be Chinese."""
    if question.answer_language:
        return question.answer_language == "zh"
    return is_chinese(question.question)


def ask_for(question: Question) -> str:
    """The instruction behind a question: length, style and language of the answer."""
    length, style = _LENGTHS[question.length], _STYLES[question.style]
    if speaks_chinese(question):
        language = "中文" if question.answer_language else ""
        return f"\n请{length[1]}{style[1]}{language}回答，尽量使用资料中的原话。"
    language = f" in {LANGUAGE_NAMES[question.answer_language]}" if question.answer_language else ""
    return f"\nAnswer{language} {length[0]}{style[0]}, with the words of the sources."
