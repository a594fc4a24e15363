"""HTML: the main content as text with its headings, code and tables; what the page's head says of it."""

import re
from collections.abc import Callable, Iterator

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from services.retrieval.ingestion.read.html import json_ld
from services.retrieval.ingestion.read.html.text_builder import TextBuilder
from services.retrieval.ingestion.read.parsed import Block, Parsed, clean

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
_UNSEEN = _NEVER - {"nav", "footer", "aside"}
_MAIN = ("//main", "//*[@role='main']", "//article")
_WEB = re.compile(r"https?://[^\s/]+", re.IGNORECASE)
_LINKED = 0.7
_ENOUGH = 200
_DATES = (
    "//meta[@property='article:published_time' or @property='og:published_time' or @name='date' or @name='pubdate'"
    " or @name='dc.date' or @name='DC.date' or @name='dcterms.date' or @name='DC.date.issued'"
    " or @name='dcterms.created' or @name='citation_publication_date' or @name='publish-date'"
    " or @itemprop='datePublished']/@content",
)
_TIMES = ("//time[@itemprop='datePublished' or @pubdate]/@datetime", "//article//time/@datetime")
_TITLES = ("//head/title/text()", "//meta[@property='og:title']/@content", "//h1//text()")
_ADDRESSES = ("//link[@rel='canonical']/@href", "//meta[@property='og:url']/@content")


def parse(text: str) -> Parsed:
    """Parses a page that was decoded already. Broken markup is read as browsers do."""
    root = _root(text)
    if root is None:
        return Parsed("", ())
    content, blocks = _content(root)
    return Parsed(
        text=content,
        blocks=blocks,
        title=_said(root, _TITLES),
        language=(root.get("lang") or "")[:2].lower(),
        published=_said(root, _DATES) or json_ld.published(root) or _said(root, _TIMES),
        metadata=_metadata(root),
        uri=next((address for path in _ADDRESSES if _WEB.match(address := _said(root, (path,)))), ""),
    )


def parse_all(text: str) -> Parsed:
    """Parses a page of which all is content, such as a book's chapter."""
    root = _root(text)
    if root is None:
        return Parsed("", ())
    content, blocks = _text(root, _unseen)
    return Parsed(text=content, blocks=blocks)


def _root(text: str) -> HtmlElement | None:
    text = re.sub(r"^\s*<\?xml[^>]*>", "", clean(text), count=1)
    if not text.strip():
        return None
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(text.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def _content(root: HtmlElement) -> tuple[str, tuple[Block, ...]]:
    """Text of the main part where the page marks it, else of the page without what stands beside it."""
    for path in _MAIN:
        best = max(
            (_text(element, _beside) for element in root.xpath(path)), key=lambda parts: len(parts[0]), default=None
        )
        if best and len(best[0]) >= _ENOUGH:
            return best
    strict = _text(root, _maybe_beside)
    return strict if len(strict[0]) >= _ENOUGH else _text(root, _beside)


def _text(root: HtmlElement, left_out: Callable[[HtmlElement], bool]) -> tuple[str, tuple[Block, ...]]:
    builder = TextBuilder()
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        if event == "start":
            if left_out(element):
                walker.skip_subtree()
            else:
                builder.enter(element.tag, element.text or "")
        elif element is not root:
            builder.leave(element.tag, element.tail or "")
    return builder.finish()


def _unseen(element: HtmlElement) -> bool:
    """Whether a browser shows nothing of an element."""
    return element.tag in _UNSEEN or element.get("hidden") is not None


def _beside(element: HtmlElement) -> bool:
    """Whether an element is not content."""
    if element.tag in _NEVER or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return element.get("role") in _BESIDE_ROLES


def _maybe_beside(element: HtmlElement) -> bool:
    """As before, and what only looks like navigation."""
    if _beside(element):
        return True
    if element.tag in ("html", "body"):
        return False
    return bool(_BESIDE_NAMES.search(f"{element.get('class', '')} {element.get('id', '')}")) or _all_links(element)


def _all_links(element: HtmlElement) -> bool:
    if element.tag not in ("ul", "ol", "table", "header"):
        return False
    links = sum(len(link.text_content()) for link in element.iter("a"))
    return links > _LINKED * len(element.text_content().strip()) and links > 0


def _said(root: HtmlElement, paths: tuple[str, ...]) -> str:
    """The first thing that one of the paths finds."""
    return next(
        (words for path in paths for element in root.xpath(path) if (words := " ".join(str(element).split()))), ""
    )


def _metadata(root: HtmlElement) -> dict[str, str]:
    entries = _entries(root)
    return {key: value for key, value in entries if value}


def _entries(root: HtmlElement) -> Iterator[tuple[str, str]]:
    yield "canonical_url", _said(root, ("//link[@rel='canonical']/@href",))
    yield "description", _said(root, ("//meta[@name='description']/@content",))
    yield "author", _said(root, ("//meta[@name='author']/@content",))
