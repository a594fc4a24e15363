"""A grammar of answers whose citation markers all name a source, in the EBNF that structured decoding reads."""

from collections.abc import Iterable


def of_markers(numbers: Iterable[int]) -> str:
    """Any text in which a bracket only opens a marker of these numbers, such as [1] or [1, 3].

    Without numbers no bracket may open. Links and images of Markdown are no part of it either.
    """
    alternatives = " | ".join(f'"{number}"' for number in sorted(set(numbers)))
    if not alternatives:
        return "root ::= text*\ntext ::= [^\\[\\u3010]\n"
    return (
        "root ::= (text | marker)*\n"
        "text ::= [^\\[\\u3010]\n"
        'marker ::= "[" number (", " number)* "]"\n'
        f"number ::= {alternatives}\n"
    )
