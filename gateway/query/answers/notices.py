"""What the gateway itself says in an answer, in the answer's language: English, or Chinese for Chinese."""

from typing import Literal

Key = Literal[
    "no_sources",
    "break",
    "asked",
    "generation_down",
    "generation_busy",
    "wrote_nothing",
    "foreign",
    "looped",
    "late",
    "interrupted",
    "interrupted_late",
    "not_ranked",
    "not_checked",
    "shortened",
    "limited",
    "no_style",
    "no_language",
    "quoted_language",
    "not_kept",
    "fewer_hops",
]

_TEXTS: dict[Key, tuple[str, str]] = {
    "no_sources": (
        "No source was found that could answer this question.",
        "没有找到可以回答这个问题的资料。",
    ),
    "break": (
        "[The answer was interrupted here; what follows is quoted from the sources.]",
        "[回答在此中断；以下内容摘自资料原文。]",
    ),
    "asked": (
        "This answer is extractive, quoting the sources, as was asked.",
        "应要求，本回答为摘录，直接引用资料原文。",
    ),
    "generation_down": (
        "This answer is extractive, quoting the sources, because the language model is not available.",
        "语言模型暂不可用，本回答为摘录，直接引用资料原文。",
    ),
    "generation_busy": (
        "This answer is extractive, quoting the sources, because the language model is too busy.",
        "语言模型繁忙，本回答为摘录，直接引用资料原文。",
    ),
    "wrote_nothing": (
        "This answer is extractive, quoting the sources, because the language model wrote nothing.",
        "语言模型没有给出内容，本回答为摘录，直接引用资料原文。",
    ),
    "foreign": (
        "This answer is extractive, quoting the sources, because the model does not write the question's script.",
        "语言模型不擅长该语言，本回答为摘录，直接引用资料原文。",
    ),
    "looped": (
        "The language model began to repeat itself and was stopped.",
        "语言模型开始重复，已被停止。",
    ),
    "late": (
        "This answer is extractive, quoting the sources, because too little time was left to write one.",
        "剩余时间不足，本回答为摘录，直接引用资料原文。",
    ),
    "interrupted": (
        "The language model stopped on the way; the rest of the answer is extractive, quoting the sources.",
        "语言模型中途停止，其余部分为摘录，直接引用资料原文。",
    ),
    "interrupted_late": (
        "The time ran out on the way; the rest of the answer is extractive, quoting the sources.",
        "时间不足，其余部分为摘录，直接引用资料原文。",
    ),
    "not_ranked": (
        "The sources are in the order of the search, because the reranker is not available.",
        "重排服务暂不可用，资料按检索顺序排列。",
    ),
    "not_checked": (
        "Not every sentence was checked against the sources, because the reranker is not available.",
        "重排服务暂不可用，部分句子未经核对。",
    ),
    "shortened": (
        "The only source that fits was shortened to what the model can take.",
        "唯一可用的资料已缩短以适应模型长度。",
    ),
    "limited": (
        "The answer's length was limited to what the model can take.",
        "回答长度已按模型上限缩短。",
    ),
    "no_style": (
        "Quotes stand in their sources' own form, not in the style asked for.",
        "引文保持资料原有形式，未按要求的格式书写。",
    ),
    "no_language": (
        "The answer is not in the language asked for: neither the model nor the sources write it.",
        "回答未使用所要求的语言：模型和资料均不使用该语言。",
    ),
    "quoted_language": (
        "Quotes are in their sources' own language.",
        "引文保持资料原有语言。",
    ),
    "not_kept": (
        "This answer could not be kept in its thread.",
        "本回答未能保存到会话中。",
    ),
    "fewer_hops": (
        "The question may need more searches than there was time for.",
        "时间不足，可能未完成全部检索。",
    ),
}


def notice(key: Key, chinese: bool) -> str:
    """The sentence in Chinese or in English."""
    return _TEXTS[key][chinese]
