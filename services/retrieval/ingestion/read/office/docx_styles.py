"""Styles of a DOCX document, as far as they say what a paragraph is: a heading, an item of a list, the title."""

import re
from dataclasses import dataclass, replace

from lxml import etree

Element = etree._Element
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"(?:heading|标题|überschrift|titre|título)\s*([1-9])$", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|table of figures)\b", re.IGNORECASE)
_CODE = re.compile(r"(?:source code|code|code block|html preformatted|preformatted|macro)\b", re.IGNORECASE)
_DEEPEST = 6
_BODY_LEVEL = 9
_BASES = 16


@dataclass(frozen=True, slots=True)
class Style:
    """level is a heading's, 1 to 6, else 0; bullet stands before an item of a list; contents: in a table of them."""

    level: int = 0
    bullet: str = ""
    title: bool = False
    contents: bool = False
    code: bool = False


class Styles:
    """Styles by their ids, each with what it takes from the one that it is based on."""

    def __init__(self, styles: Element | None) -> None:
        self._elements = (
            {} if styles is None else {style.get(f"{W}styleId", ""): style for style in styles.iter(f"{W}style")}
        )
        self._known: dict[str, Style] = {}

    def of(self, paragraph: Element) -> Style:
        """What a paragraph is, by its style and its own settings."""
        settings = paragraph.find(f"{W}pPr")
        if settings is None:
            return Style()
        style_name = _value(settings, "pStyle")
        if style_name not in self._known:
            self._known[style_name] = self._read(style_name)
        return self._set(self._known[style_name], settings)

    def _read(self, name: str) -> Style:
        """A style with all that it is based on, the farthest first."""
        chain: list[Element] = []
        while name in self._elements and len(chain) < _BASES:
            chain.append(self._elements[name])
            name = _value(chain[-1], "basedOn")
        style = Style()
        for element in reversed(chain):
            style = self._named(style, _value(element, "name"))
            settings = element.find(f"{W}pPr")
            style = style if settings is None else self._set(style, settings)
        return style

    def _named(self, style: Style, name: str) -> Style:
        heading = _HEADING.match(name)
        if heading:
            return replace(style, level=min(int(heading[1]), _DEEPEST))
        if name.lower() in ("title", "标题"):
            return replace(style, level=1, title=True)
        contents, code = style.contents or bool(_CONTENTS.match(name)), style.code or bool(_CODE.match(name))
        return replace(style, contents=contents, code=code)

    def _set(self, style: Style, settings: Element) -> Style:
        outline = _value(settings, "outlineLvl")
        if outline.isdecimal():
            level = int(outline)
            style = replace(style, level=0 if level >= _BODY_LEVEL else min(level + 1, _DEEPEST))
        numbers = settings.find(f"{W}numPr")
        if numbers is not None and not style.level:
            number, depth = _value(numbers, "numId"), _value(numbers, "ilvl")
            indent = "  " * min(int(depth) if depth.isdecimal() else 0, _BODY_LEVEL)
            style = replace(style, bullet="" if number == "0" else f"{indent}- ")
        return style


def _value(parent: Element, name: str) -> str:
    element = parent.find(f"{W}{name}")
    return "" if element is None else element.get(f"{W}val", "")
