"""Conversations as a model's own chat template renders them, in a sandbox."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from citemesh.errors import InvalidInput, PreconditionFailed
from services.tokenizer.engine import ChatTurn


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of a prompt. spoken: whether it is a control token that stood in a turn, which has to stay text."""

    text: str
    spoken: bool


class ChatTemplate:
    """A chat template with the names that templates of chat models expect (those of transformers)."""

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        """Compiles a template.

        Raises:
            PreconditionFailed: the template is not one.
        """
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateSyntaxError as fault:
            raise PreconditionFailed(
                "CHAT_TEMPLATE_BROKEN", f"the chat template can't be read: {fault}", "correct the model's template"
            ) from fault
        self._special_tokens = dict(special_tokens)

    def render(
        self, turns: Sequence[ChatTurn], add_generation_prompt: bool, control: Sequence[str]
    ) -> list[PromptPart]:
        """Returns a conversation as the parts of a prompt.

        Control tokens that stand in the turns would let a speaker end its turn and begin another's. They are hidden
        from the tokenizer: swapped for marks before rendering, and given back as parts of their own.

        Raises:
            InvalidInput: the template refuses the turns, with its own words.
        """
        marks = _marks(turns, control)
        messages = [{"role": turn.role, "content": _hide(turn.content, marks)} for turn in turns]
        return _split(self._fill(messages, add_generation_prompt), marks)

    def _fill(self, messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=add_generation_prompt, **self._special_tokens
            )
        except jinja2.TemplateError as fault:
            raise InvalidInput(
                "messages", f"the chat template refuses them: {fault}", "see which roles and turns the model takes"
            ) from fault


def _marks(turns: Sequence[ChatTurn], control: Sequence[str]) -> dict[str, str]:
    """Returns a mark that stands in no turn for each control token that does, longest first: {mark: token}."""
    spoken = [token for token in control if any(token in turn.content for turn in turns)]
    key = secrets.token_hex(16)
    return {f"\ue000{key}:{number}\ue001": token for number, token in enumerate(sorted(spoken, key=len, reverse=True))}


def _hide(text: str, marks: Mapping[str, str]) -> str:
    for mark, token in marks.items():
        text = text.replace(token, mark)
    return text


def _split(text: str, marks: Mapping[str, str]) -> list[PromptPart]:
    parts = [PromptPart(text, spoken=False)]
    for mark, token in marks.items():
        parts = [piece for part in parts for piece in _between(part, mark, token)]
    return [part for part in parts if part.text]


def _between(part: PromptPart, mark: str, token: str) -> list[PromptPart]:
    if part.spoken:
        return [part]
    first, *rest = part.text.split(mark)
    pieces = [PromptPart(first, spoken=False)]
    for text in rest:
        pieces += [PromptPart(token, spoken=True), PromptPart(text, spoken=False)]
    return pieces


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment


def _tojson(value: Any, indent: int | None = None) -> str:
    """Renders JSON as transformers does: without the HTML escapes of jinja's own filter."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)
