"""Bridges from hop to hop by names in Chinese, Japanese and Korean (see bridge.py for the way, unspaced.py for names).

What a name is worth: how much of the question its sentence and its clause have, whether its writing shows that it is a
name or another passage is headed by it, and how few of the passages found have it.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from citemesh.client.types import Passage
from citemesh.text.scripts import HAN, HANGUL
from citemesh.text.sentences import split_sentences
from gateway.query.pack.packing import Scored
from gateway.query.plan.name import Name, best_first
from gateway.query.plan.unspaced import (
    QUOTED,
    WORDS_OF_ASKING,
    asked_pairs,
    asks,
    clauses,
    marked,
    pairs,
    stretches,
    without,
)

Worth = Mapping[str, float]
Read = tuple[float, Passage]

READ = 3
LOOKED_AT = 8
SENTENCES = 16
MOST = 8
OPEN = 0.1
_BOTH = 4
_NAMED = 2.0
_ANCHORED = 0.6
_RANK_COST = 0.3
_MARKED, _HEADED, _LIKELY, _OTHER = 1.3, 1.5, 1.2, 0.9
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江"
    "尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤張劉陳楊黃趙吳孫馬許韓馮鄧蔣葉蘇魏呂盧鍾譚陸賈韋鄒龍賀顧龔萬錢嚴湯祁"
)
_KINDS = re.compile(
    r"(?:公司|集团|大学|学院|中学|学会|协会|研究所|研究院|博物馆|出版社|医院|银行|书社|乐队|工厂|厂|省|市|县|镇|州|国|"
    r"江|河|湖|山|岛|桥|寺|党|队|奖|會社|会社|大學)$"
)
_NATIVE = re.compile(r"哪[里裡]人|何处人|何處人")
_DESCRIBES = re.compile(rf"[的の]|(?<=[たるい])(?=[{HAN}])|(?<=[은는을를의쓴한인])\s(?=[{HANGUL}])")
_PERSON = re.compile(rf"[{_SURNAMES}][{HAN}]{{1,2}}")


def queries(question: str, passages: Sequence[Scored]) -> list[str]:
    """Searches for names that bridge, best first; none where the question asks of one thing, or one sentence has it."""
    if not asks(question) or not is_layered(question):
        return []
    read = read_of(question, passages)
    weights = worths(question, passages)
    if not read or open_share(weights, read) < OPEN:
        return []
    return [query_of(question, name) for name in bridges(question, weights, passages, read)]


def read_of(question: str, passages: Sequence[Scored]) -> list[Read]:
    """The few best passages that have what a question describes by, and what each is worth by its place."""
    names, by = _described_by(question)
    read = []
    for rank, scored in enumerate(passages[:LOOKED_AT]):
        text = f"{scored.passage.title} {scored.passage.text}"
        is_about = any(name in text for name in names) if names else len(by & pairs(text)) >= _ANCHORED * len(by) > 0
        if is_about:
            read.append((1 / (1 + _RANK_COST * rank), scored.passage))
    return read[:READ]


def _described_by(question: str) -> tuple[list[str], set[str]]:
    """The names of a question; where it has none, the pairs before the first word that describes."""
    if names := marked(question):
        return names, set()
    bare = WORDS_OF_ASKING.sub(" ", question)
    return [], next((before for match in _DESCRIBES.finditer(bare) if (before := pairs(bare[: match.start()]))), set())


def is_layered(question: str) -> bool:
    """Whether a question asks of something that it only describes: "the author of X was born where?".

    Behind what describes stand the thing and what is asked of it: two words, or one long enough to be both.
    """
    bare = WORDS_OF_ASKING.sub(" ", _NATIVE.sub("出身 ", QUOTED.sub(r" 甲\1 ", question)))
    for match in _DESCRIBES.finditer(bare):
        before, after = bare[: match.start()], stretches(bare[match.end() :])
        if len(pairs(before)) and (len(after) > 1 or any(len(pair) >= _BOTH for pair in after)):
            return True
    return False


def worths(question: str, passages: Sequence[Scored]) -> Worth:
    """What each pair of a question is worth: more, the fewer of the passages found have it; most within a name."""
    texts = [pairs(f"{scored.passage.title} {scored.passage.text}") for scored in passages]
    name_pairs = set().union(*(pairs(name) for name in marked(question)))
    return {
        pair: math.log(1 + len(texts) / (0.5 + sum(pair in text for text in texts)))
        * (_NAMED if pair in name_pairs else 1)
        for pair in asked_pairs(question)
    }


def open_share(weights: Worth, read: Sequence[Read]) -> float:
    """The share of a question that no sentence of the passages read has."""
    best = max((_held(weights, sentence) for _, passage in read for sentence in _said(passage)), default=0.0)
    return 1 - best


def bridges(question: str, weights: Worth, passages: Sequence[Scored], read: Sequence[Read]) -> list[Name]:
    """Names in the passages read that the question doesn't have, best first."""
    names: list[Name] = []
    for name in best_first(_names(question, weights, passages, read)):
        if len(names) < MOST and not any(name.text in other.text or other.text in name.text for other in names):
            names.append(name)
    return names


def query_of(question: str, name: Name) -> str:
    """A search for a name and for what its passage doesn't say of the question."""
    passage_pairs = pairs(f"{name.passage.title} {name.passage.text}")
    return " ".join([name.text, *(part for word in stretches(question) for part in without(word, passage_pairs))])


def _names(question: str, weights: Worth, passages: Sequence[Scored], read: Sequence[Read]) -> Iterator[Name]:
    texts = [f"{scored.passage.title} {scored.passage.text}" for scored in passages]
    titles = {scored.passage.title for scored in passages if len(scored.passage.title) > 1}
    for placed, passage in read:
        for sentence in split_sentences(passage.text)[:SENTENCES]:
            share = _held(weights, f"{passage.title} {sentence.text}")
            for clause in clauses(sentence.text):
                fit = (2 * share + _held(weights, clause)) / 3 * placed
                for text, value in _candidates(clause, weights, titles - {passage.title}):
                    if text not in question and text != passage.title:
                        yield Name(text, fit * value / _common(text, texts), passage)
        if passage.title and not pairs(passage.title) <= weights.keys() and passage.title not in question:
            yield Name(passage.title, 0.9 * _held(weights, f"{passage.title} {passage.text}") * placed, passage)


def _held(weights: Worth, text: str) -> float:
    """The share of a question that a text has."""
    return sum(weights[pair] for pair in weights.keys() & pairs(text)) / (sum(weights.values()) or 1.0)


def _candidates(clause: str, open_pairs: Worth, titles: set[str]) -> Iterator[tuple[str, float]]:
    """What may be a name in a clause, and what its writing makes it worth."""
    yield from ((title, _HEADED) for title in titles if title in clause)
    yield from ((name, _MARKED) for name in marked(clause))
    for stretch in stretches(clause):
        for part in without(stretch, open_pairs):
            likely = _PERSON.match(part) or _KINDS.search(part)
            yield part, _LIKELY if likely else _OTHER


def _common(text: str, texts: Sequence[str]) -> float:
    """How common a text is among the passages found: 1 where one has it, a half more with each other one."""
    return 1 + 0.5 * max(0, sum(text in text_of_other for text_of_other in texts) - 1)


def _said(passage: Passage) -> list[str]:
    return [f"{passage.title} {sentence.text}" for sentence in split_sentences(passage.text)[:SENTENCES]]
