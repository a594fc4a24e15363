"""Which column of a table is what, by its name, and what a row becomes of it."""

from collections.abc import Iterable, Mapping

from services.retrieval.ingestion.read.parsed import Parsed, clean, paragraphs

_TEXT = ("text", "content", "contents", "body", "passage", "paragraph", "abstract", "article", "full_text",
         "document_text", "passage_text", "paragraph_text", "正文", "内容")  # fmt: skip
_TITLE = ("title", "name", "headline", "subject", "title_text", "标题", "名称")
_URL = ("url", "uri", "link", "href", "canonical_url", "链接")
_DATE = ("date", "published", "published_at", "publish_date", "published_date", "pub_date", "datetime", "created_at",
         "created", "timestamp", "updated_at", "日期")  # fmt: skip
_ID = ("id", "_id", "doc_id", "docid", "document_id", "row_id", "uuid", "guid", "编号")
_LANGUAGE = ("language", "lang")
_LONGEST_NAME = 256


def row_id(record: Mapping[str, str]) -> str:
    """The row's own id; empty where it has none."""
    return _value(record, _ID)


def parsed(record: Mapping[str, str]) -> Parsed:
    """A row as a document: the text column, or every column as "name: value". The others are its metadata."""
    title, url = _value(record, _TITLE), _value(record, _URL)
    text = clean(_value(record, _TEXT)).strip()
    used = {_column(record, names) for names in ((_TEXT, _TITLE, _URL) if text else ())}
    text = text or clean("\n".join(f"{name}: {value}" for name, value in record.items() if value))
    return Parsed(
        text=text,
        blocks=tuple(paragraphs(text)),
        title=clean(" ".join(title.split())),
        language=_value(record, _LANGUAGE)[:2].lower(),
        published=_value(record, _DATE),
        metadata={clean(name): clean(value) for name, value in record.items() if value and name not in used},
        uri=url if "://" in url else "",
    )


def names(cells: Iterable[str]) -> tuple[str, ...]:
    """Names of the columns from a table's first row; one without a name, or with one that is taken, gets a number."""
    unique: list[str] = []
    for number, cell in enumerate(cells, 1):
        name = " ".join(clean(cell).split())[:_LONGEST_NAME] or f"column {number}"
        unique.append(name if name not in unique else f"{name} {number}")
    return tuple(unique)


def _value(record: Mapping[str, str], columns: tuple[str, ...]) -> str:
    column = _column(record, columns)
    return record[column].strip() if column is not None else ""


def _column(record: Mapping[str, str], columns: tuple[str, ...]) -> str | None:
    plain = {_plain(name): name for name, value in record.items() if value.strip()}
    return next((plain[name] for name in columns if name in plain), None)


def _plain(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").split())
