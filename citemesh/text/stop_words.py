"""Words and characters that say how a sentence is built and not what it is about.

ENGLISH_COMMONEST is within ENGLISH_STOP_WORDS and within ENGLISH_FUNCTION_WORDS. Those two share most of their words
and differ in purpose, so their own ones stand apart: what is measured with one was not measured with the other.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH_COMMONEST = _words(
    "a an the of in on at to for from by with and or is are was were be been it its that this as"
)
"""Words that nearly every passage holds: they halve the speed of a search and tell nothing apart.

Question words are not among them; leaving them out of a search as well was worse (docs/quality.md).
"""
_SHARED = ENGLISH_COMMONEST | _words("""
    about after again all also am any because before being between both but can could did do does done during each few
    further had has have having he her here him his how i if into just may me might more most must my no nor not off
    once only other our out over own same she should so some such than their them then there these they those through
    too under until up us very we what when where which while who whom whose why will without would you your
    """)
ENGLISH_STOP_WORDS = _SHARED | _words("d ll m onto re s shall t ve")
"""What two texts are not compared by; the support scores of the reranker are calibrated with these."""
ENGLISH_FUNCTION_WORDS = _SHARED | _words("""
    above along although always another anything around became began below called came doing either else ever every
    first found gave get given go hers however itself known last later least less like made make many much name named
    near need never now often one part people per please quite rather really since take tell thing though thus time two
    upon used well whether within year years yes yet
    """)
"""What neither names a thing nor tells what a question is about: also verbs and nouns that any question may have."""
ENGLISH_QUESTION_WORDS = _words("who whom whose what which when where why how")

_CHINESE = "的了是在和与及或也都就而并被把对于从到这那其之为以所着过们个一有不中上下等吗呢吧啊"
_JAPANESE = "のはがをにへとでもやかなしるれたてだ"
CJK_FUNCTION_CHARACTERS = frozenset(_CHINESE + _JAPANESE)
CHINESE_BREAKS = (
    r"什么|多少|怎么样|怎么|怎样|如何|为什么|为何|哪些|哪里|哪个|哪|几|谁|何时|何地|请问|告诉我|"
    r"[的了吗呢吧啊是在有和与及或被把对从到于由个年月日时候，。？！、；：“”《》（）\s]"
)
"""A pattern of what stands between the telling stretches of Chinese: question words, particles and punctuation."""
