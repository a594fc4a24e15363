"""Names and words of Chinese, Japanese and Korean as a planner without a model sees them: there are no capitals there.

What a text is about is told by its pairs of characters, as the lexical index has them. A name is what stands in marks
of quotation, a word of Latin letters or Katakana, or a stretch between the function words of a clause. Such a stretch
is cut too long or too short now and then; a search by pairs of characters finds it all the same.
"""

import re
from collections.abc import Container, Iterator
from itertools import pairwise

from citemesh.text.scripts import CJK, HAN, HANGUL, HIRAGANA, KATAKANA

_UNSPACED = re.compile(f"[{CJK}]")
QUOTED = re.compile(r"[《〈「『“‘]([^》〉」』”’\n]{2,40})[》〉」』”’]")
_LATIN = re.compile(r"[A-Za-z][\w.+-]*\w(?: [A-Z][\w.+-]*\w)*")
_KATAKANA = re.compile(f"[{KATAKANA}ー・]{{3,}}")
_CLAUSES = re.compile(r"[，、；：,;:（）()。！？\n]")
_HAN_BREAK = re.compile(
    r"什么|甚麼|多少|怎么样|怎么|怎样|如何|为什么|为何|哪些|哪里|哪裡|哪个|哪座|哪家|哪所|哪一|哪|何人|何时|何地|何处|请问|"
    r"以及|并且|或者|其中|一个|一种|一座|一份|一款|一家|一条|一名|一位|"
    r"[的了吗呢吧啊是在有和与及或被把对从到于由个年月日时候为以其这那并也而因之等则就都很更最将向给让使着过之所嗎與從於為這並個時]"
)
_KOREAN_END = re.compile(
    r"(?:에서는|에게서|으로는|이라는|에서|에게|으로|부터|까지|이며|이다|이라|은|는|이|가|을|를|의|에|와|과|로|도|만)$"
)
_KOREAN_WORD = re.compile(f"[{HANGUL}]{{2,}}")
_ENDED = re.compile(f"[{HAN}][\u304b-\u3082\u3089-\u308d](?=[{HIRAGANA}])")
"""A Japanese word's character and the beginning of its ending."""
_RUN = re.compile(f"[{HAN}]{{2,}}")
_ASKING = re.compile(
    r"[?？]\s*$|什么|甚麼|多少|谁|誰|哪|几[个名位家年]|何[人时地处年]|吗|呢|如何|怎|どこ|いつ|だれ|何|누구|어디|언제|무엇|어느|몇"
)
WORDS_OF_ASKING = re.compile(
    r"什么|甚麼|多[少高长長大远遠重深久]|怎么样|怎么|怎样|如何|为什么|为何|哪些|哪里|哪裡|哪个|哪座|哪家|哪所|哪一|哪|何人|何时|何地|何处|请问|谁|誰|"
    r"どこ|いつ|だれ|누구|어디에서|어디|언제|무엇|어느|[?？。]"
)
LONGEST_NAME = 20


def is_unspaced(text: str) -> bool:
    """Whether a text is written in one of these scripts, but for some Latin names within it."""
    count = len(_UNSPACED.findall(text))
    return count >= 4 and 3 * count >= sum(map(str.isalpha, text))


def asks(text: str) -> bool:
    """Whether a text asks something."""
    return _ASKING.search(text) is not None


def pairs(text: str) -> set[str]:
    """What a text is told by: pairs of characters of its words, and its Latin words and numbers."""
    pieces = {word.lower() for word in re.findall(r"[A-Za-z0-9][\w.+-]*", text)}
    for piece in _pieces(text):
        pieces.update(first + two for first, two in pairwise(piece))
    return pieces | set(_ENDED.findall(text))


def asked_pairs(question: str) -> set[str]:
    """What a question is told by, without its words of asking."""
    return pairs(WORDS_OF_ASKING.sub(" ", question))


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence."""
    return [clause for clause in _CLAUSES.split(sentence) if clause]


def marked(text: str) -> list[str]:
    """Names that their writing shows: quoted, in Latin letters or in Katakana."""
    names = [*QUOTED.findall(text), *_LATIN.findall(text), *_KATAKANA.findall(text)]
    return [name for name in dict.fromkeys(names) if len(name) > 1]


def stretches(text: str) -> list[str]:
    """Words of a text that may be names: what stands between function words."""
    return [piece for piece in dict.fromkeys(_pieces(text)) if 2 <= len(piece) <= LONGEST_NAME]


def without(text: str, excluded: Container[str]) -> list[str]:
    """The parts of a text that no known pair covers."""
    covered = {at + step for at in range(len(text) - 1) if text[at : at + 2] in excluded for step in (0, 1)}
    parts = "".join(" " if at in covered else char for at, char in enumerate(text)).split()
    return [part for part in parts if len(part) > 1]


def _pieces(text: str) -> Iterator[str]:
    """Runs of characters that belong together, without function words and endings."""
    for part in _HAN_BREAK.split(text):
        yield from _RUN.findall(part)
    yield from (match for match in _KATAKANA.findall(text))
    for word in _KOREAN_WORD.findall(text):
        yield _KOREAN_END.sub("", word) if len(word) > 2 else word
