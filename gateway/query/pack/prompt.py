"""The prompt's fixed parts as token ids, learned from the model's own chat template once.

A prompt is ``prefix + sources + middle + question + suffix``. The three fixed parts are found by rendering the
conversation with marks in the places of sources and question and keeping what the renderings share. The sources
stand alone in the system turn and the question in the user's: a turn ends with a control token, and control tokens
are taken out of everything that isn't the template, so that no document can end its turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citemesh.client.types import Chat
from citemesh.errors import PreconditionFailed
from gateway.query.ports import TokenizerPort

# Short and plain, for small models: with a longer text, or with the question before the sources, they ignore them.
SYSTEM = "You answer questions from these sources:\n\n"
ASK = "\nAnswer in one or two sentences, with the words of the sources."
# Begin and end differently, so that what two renderings share ends where a mark begins.
MARKS = ("Qx7 mark k9Z", "7zB other 4w")
NUMBERS = tuple(f"[{number}] " for number in range(1, 65))
MOST_TEMPLATES = 64
KNOWN_CONTROLS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>",
    "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "[INST]", "[/INST]",
)  # fmt: skip
"""How models write control tokens, for taking them out of texts; no text is encoded to one."""

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """Fixed parts of the prompt.

    Attributes:
        tokenizer: name of the tokenizer that made the ids.
        digest: hash of it.
        controls: ids that steer the model and must not come from documents or questions.
        numbers: ids of "[1] ", "[2] " and so on.
        newline: ids of a line end.
    """

    tokenizer: str
    digest: str
    prefix: Ids
    middle: Ids
    suffix: Ids
    controls: frozenset[int]
    numbers: tuple[Ids, ...]
    newline: Ids

    @property
    def fixed_tokens(self) -> int:
        """Tokens of the fixed parts."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    def plain(self, ids: Iterable[int]) -> Ids:
        """The ids without control tokens."""
        return tuple(i for i in ids if i not in self.controls)

    def prompt(self, sources: Sequence[int], question: Sequence[int]) -> Ids:
        """The whole prompt."""
        return (*self.prefix, *sources, *self.middle, *question, *self.suffix)


class Templates:
    """Learns templates and keeps those of the last tokenizer, one an instruction."""

    def __init__(self, tokenizer: TokenizerPort) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, Template] = {}

    async def get(self, digest: str, ask: str = ASK) -> Template:
        """The template of the model whose tokenizer has this digest, with ``ask`` behind the question.

        Raises PreconditionFailed where no loaded tokenizer has the digest.
        """
        template = self._known.get(ask)
        if template is None or template.digest != digest:
            template = await self._learn(await tokenizer_of(self._tokenizer, digest), digest, ask)
        self._known.pop(ask, None)
        self._known[ask] = template
        if len(self._known) > MOST_TEMPLATES:
            del self._known[next(iter(self._known))]
        return template

    async def _learn(self, name: str, digest: str, ask: str) -> Template:
        first, two = MARKS
        places = ((first, first), (two, first), (first, two))
        rendered = [await self._render(name, sources, question + ask) for sources, question in places]
        prefix, middle, suffix = fixed_parts(rendered[0].ids, rendered[1].ids, rendered[2].ids)
        *numbers, newline = (await self._tokenizer.encode([*NUMBERS, "\n"], name)).sequences
        controls = frozenset(await self._invisible(name, (*prefix, *middle, *suffix)))
        return Template(name, digest, prefix, middle, suffix, controls, tuple(numbers), newline)

    async def _render(self, name: str, sources: str, question: str) -> Chat:
        return await self._tokenizer.render_chat([("system", SYSTEM + sources), ("user", question)], name)

    async def _invisible(self, name: str, ids: Sequence[int]) -> set[int]:
        """Of these ids, those that decode to nothing once control tokens are left out: the control tokens."""
        unique = sorted(set(ids))
        texts = await self._tokenizer.decode([[i] for i in unique], name, skip_special_tokens=True)
        return {i for i, text in zip(unique, texts, strict=True) if not text}


async def tokenizer_of(tokenizer: TokenizerPort, digest: str) -> str:
    """Name of the loaded tokenizer with this digest and a chat template. Raises PreconditionFailed."""
    for info in await tokenizer.list():
        if info.digest == digest and info.has_chat_template:
            return info.name
    fault = f"no loaded tokenizer has the model's digest {digest[:12]} and a chat template"
    raise PreconditionFailed("TOKENIZER_MISSING", fault, "load the model's tokenizer in the tokenizer service")


def fixed_parts(base: Ids, other_sources: Ids, other_question: Ids) -> tuple[Ids, Ids, Ids]:
    """What three renderings share: before the sources, between sources and question, after the question.

    Raises PreconditionFailed for a template that repeats or leaves out a turn.
    """
    prefix = _shared(base, other_sources)
    suffix = _shared(base[::-1], other_question[::-1])
    through_middle = _shared(base, other_question)
    from_middle = len(base) - _shared(base[::-1], other_sources[::-1])
    if not 0 < prefix < from_middle < through_middle < len(base) - suffix < len(base):
        fault = "the model's chat template does not keep a system and a user turn apart"
        raise PreconditionFailed("CHAT_TEMPLATE", fault, "choose a model whose template knows both turns")
    return base[:prefix], base[from_middle:through_middle], base[len(base) - suffix :]


def _shared(first: Sequence[int], two: Sequence[int]) -> int:
    """Length of the common beginning."""
    for at, (left, right) in enumerate(zip(first, two, strict=False)):
        if left != right:
            return at
    return min(len(first), len(two))
