"""Words and characters that say how a sentence is built and not what it is about."""

_ENGLISH = """
a an the this that these those there here it its he she they them their his her him i me my we us our you your who whom
whose which what when where why how is are was were be been being am do does did done has have had having can could will
would shall should may might must not no nor and or but if then than so as at by for from in into of off on onto out
over to up with without about after before between during through under again further once also only own same too very
just such some any each few more most other all both because while until s t d ll re ve m
"""
_CHINESE = "的了是在和与及或也都就而并被把对于从到这那其之为以所着过们个一有不中上下等吗呢吧啊"
_JAPANESE = "のはがをにへとでもやかなしるれたてだ"

STOPWORDS = frozenset(_ENGLISH.split())
CJK_STOP = frozenset(_CHINESE + _JAPANESE)
