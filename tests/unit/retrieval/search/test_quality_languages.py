"""Sentences of many languages are found by the words that people would ask with."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from citemesh.text.index_words import index_words
from services.retrieval.search import lexical

SENTENCES = {
    "ja tower": "東京タワーは、東京都港区芝公園にある総合電波塔で、高さは３３３メートルである。",
    "ja people": "人々は古くからこの川の水を田畑に引いて米を作ってきた。",
    "ja half": "ｺﾝﾋﾟｭｰﾀのﾃﾞｰﾀは毎晩バックアップされます。",
    "ko city": "서울은 대한민국의 수도이며 한강을 끼고 발달한 최대 도시이다.",
    "ko king": "세종대왕은 1443년에 훈민정음을 창제하였다.",
    "th city": "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย",
    "th food": "ต้มยำกุ้งเป็นอาหารไทยที่มีรสเปรี้ยวและเผ็ด",
    "zh wall": "长城是中国古代的军事防御工程，修筑的历史可上溯到西周时期。",
    "zh mixed": "在Kubernetes里，Pod是最小的部署单元，由kubelet负责启动。",
    "ar capital": "القَاهِرَةُ هي عاصمة جمهورية مصر العربية وأكبر مدنها.",
    "ar book": "كتب الطلاب المقالات في المكتبات الجامعية بالمدينة",
    "he school": "הילדים הולכים לבית הספר בירושלים",
    "hi river": "गंगा भारत की सबसे महत्वपूर्ण नदियों में से एक है।",
    "fa capital": "تهران پایتخت ایران است و کتابخانه‌های بزرگی دارد",
    "ru capital": "Москва — столица России, город федерального значения.",
    "en": "The café on Łódź street serves naïve customers who are running late.",
    "de": "Die Straße führt über die Brücke nach Köln.",
    "emoji": "Deploy finished 🚀🚀 without errors",
}


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE t USING fts5(name UNINDEXED, body, tokenize="{lexical.TOKENIZER}")')
        rows = [(name, lexical.indexed(text)) for name, text in SENTENCES.items()]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        yield connection


def found(index: sqlite3.Connection, query: str) -> list[str]:
    expression = lexical.match_expression(query)
    if not expression:
        return []
    return [row[0] for row in index.execute("SELECT name FROM t WHERE t MATCH ? ORDER BY rank", (expression,))]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("東京タワーの高さは何メートルですか", "ja tower"),
        ("電波塔", "ja tower"),
        ("塔", "ja tower"),
        ("人々と川", "ja people"),
        ("コンピュータのデータ", "ja half"),
        ("バックアップ", "ja half"),
        ("대한민국의 수도는 어디인가요?", "ko city"),
        ("세종대왕이 만든 글자", "ko king"),
        ("훈민정음", "ko king"),
        ("1443", "ko king"),
        ("เมืองหลวงของประเทศไทยคือที่ไหน", "th city"),
        ("ต้มยำกุ้ง", "th food"),
        ("长城是什么时候修筑的？", "zh wall"),
        ("城", "zh wall"),
        ("Pod怎么启动", "zh mixed"),
        ("ＫＵＢＥＬＥＴ", "zh mixed"),
        ("ما هي عاصمة مصر؟", "ar capital"),
        ("القاهره", "ar capital"),
        ("الطالب والمقال في مكتبة", "ar book"),
        ("والمكتبة", "ar book"),
        ("בֵּית הַסֵּפֶר", "he school"),
        ("भारत की नदियों", "hi river"),
        ("پايتخت ايران", "fa capital"),
        ("столица", "ru capital"),
        ("run cafe lodz", "en"),
        ("NAÏVE customer", "en"),
        ("strasse koln", "de"),
        ("finished 🚀", "emoji"),
    ],
)
def test_found_by_what_people_ask(index: sqlite3.Connection, query: str, first: str) -> None:
    assert found(index, query)[:1] == [first]


@pytest.mark.parametrize(
    "query", ["", "   ", "？！…", "🚀", "\x00", "\ud800", '"" OR * NEAR( -', "—", "\u0640\u0640", "َُِ"]
)
def test_a_query_without_words_finds_nothing_and_breaks_nothing(index: sqlite3.Connection, query: str) -> None:
    if not any(map(str.isalnum, query)):
        assert found(index, query) == []
    else:
        found(index, query)


@pytest.mark.parametrize("query", ["the who", "is it", "的", "は"])
def test_a_query_of_common_words_only_still_asks_for_them(query: str) -> None:
    assert lexical.query_words(query)


def test_common_words_are_left_out_where_there_are_others() -> None:
    assert lexical.query_words("Who was the king of the Franks in 800?") == ("who", "king", "franks", "800")
    assert lexical.query_words("to be or not to be") == ("to", "be", "or", "not")
    assert lexical.query_words("The Who") == ("the", "who")
    assert lexical.query_words("the of") == ("the", "of")


def test_thai_vowels_stay_in_their_pairs(index: sqlite3.Connection) -> None:
    assert list(index_words("ที่นี่")) == ["ที่นี่", "นี่"]
    assert found(index, "กี่") == []
