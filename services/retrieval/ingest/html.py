"""HTML: the main content as text with its headings, code and tables; what the page's head says of it."""

import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from services.retrieval.ingest.html_text import TextBuilder
from services.retrieval.ingest.parsed import Block, Parsed, clean

_NEVER = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "nav",
        "footer",
        "aside",
        "button",
        "select",
        "option",
        "input",
        "textarea",
        "dialog",
        "head",
    ]
)
_BESIDE_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "menu", "dialog"))
_BESIDE_NAMES = re.compile(
    r"(?:^|[-_\s])(?:nav\w*|menu|sidebar|breadcrumbs?|footer|cookies?|banner|toc|share|social|advert\w*|ads|related"
    r"|comments?|popup|modal)(?:[-_\s]|$)",
    re.IGNORECASE,
)
_MAIN = ("//main", "//*[@role='main']", "//article")
_LINKED = 0.7
_ENOUGH = 200
_DATES = (
    "//meta[@property='article:published_time' or @name='date' or @name='dcterms.date' or @itemprop='datePublished']"
    "/@content",
    "//time[@itemprop='datePublished' or @pubdate]/@datetime",
)


def parse(text: str) -> Parsed:
    """Parses a page that was decoded already. Broken markup is read as browsers do."""
    text = re.sub(r"^\s*<\?xml[^>]*>", "", clean(text), count=1)
    if not text.strip():
        return Parsed("", ())
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(text.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return Parsed("", ())
    content, blocks = _content(root)
    return Parsed(
        text=content,
        blocks=blocks,
        title=_said(root, ("//head/title/text()", "//meta[@property='og:title']/@content", "//h1//text()")),
        language=(root.get("lang") or "")[:2].lower(),
        published=_said(root, _DATES),
        metadata=_metadata(root),
    )


def _content(root: HtmlElement) -> tuple[str, tuple[Block, ...]]:
    """Text of the main part where the page marks it, else of the page without what stands beside it."""
    for path in _MAIN:
        best = max((_text(found, strict=False) for found in root.xpath(path)), key=lambda it: len(it[0]), default=None)
        if best and len(best[0]) >= _ENOUGH:
            return best
    strict = _text(root, strict=True)
    return strict if len(strict[0]) >= _ENOUGH else _text(root, strict=False)


def _text(root: HtmlElement, strict: bool) -> tuple[str, tuple[Block, ...]]:
    builder = TextBuilder()
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "start":
            if _beside(element, strict):
                walker.skip_subtree()
            else:
                builder.enter(element.tag, element.text or "")
        elif element is not root:
            builder.leave(element.tag, element.tail or "")
    return builder.finish()


def _beside(element: HtmlElement, strict: bool) -> bool:
    """Whether an element is not content; `strict` drops as well what only looks like navigation."""
    if element.tag in _NEVER or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if element.get("role") in _BESIDE_ROLES:
        return True
    if not strict or element.tag in ("html", "body"):
        return False
    return bool(_BESIDE_NAMES.search(f"{element.get('class', '')} {element.get('id', '')}")) or _all_links(element)


def _all_links(element: HtmlElement) -> bool:
    if element.tag not in ("ul", "ol", "table", "header"):
        return False
    links = sum(len(link.text_content()) for link in element.iter("a"))
    return links > _LINKED * len(element.text_content().strip()) and links > 0


def _said(root: HtmlElement, paths: tuple[str, ...]) -> str:
    """The first thing that one of the paths finds."""
    return next((words for path in paths for found in root.xpath(path) if (words := " ".join(str(found).split()))), "")


def _metadata(root: HtmlElement) -> dict[str, str]:
    entries = _entries(root)
    return {key: value for key, value in entries if value}


def _entries(root: HtmlElement) -> Iterator[tuple[str, str]]:
    yield "canonical_url", _said(root, ("//link[@rel='canonical']/@href",))
    yield "description", _said(root, ("//meta[@name='description']/@content",))
    yield "author", _said(root, ("//meta[@name='author']/@content",))
