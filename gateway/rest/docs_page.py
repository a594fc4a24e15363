"""The description as one page that needs nothing else: no script, no network, its style in itself."""

import base64
import hashlib
import json
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .25rem .75rem; }
summary { cursor: pointer; padding: .4rem 0; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
.method { display: inline-block; min-width: 4rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def page(description: dict[str, Any]) -> str:
    """The page of an OpenAPI document."""
    info = description["info"]
    tags = "".join(_tag(tag["name"], description["paths"]) for tag in description["tags"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{_prose(info['description'])}</p>"
        f'<p>For machines: <a href="openapi.json">openapi.json</a></p>{tags}</main></body></html>'
    )


def _tag(name: str, paths: dict[str, Any]) -> str:
    operations = [
        _operation(path, method, operation)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if name in operation["tags"]
    ]
    return f"<section><h2>{escape(name)}</h2>{''.join(operations)}</section>"


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [
        _parameters(operation.get("parameters", [])),
        _bodies(operation.get("requestBody", {})),
        _answers(operation["responses"]),
    ]
    return (
        f'<details id="{escape(operation["operationId"])}"><summary>'
        f'<span class="method">{escape(method.upper())}</span> '
        f"<code>{escape(path)}</code> — {_prose(operation['summary'])}</summary>{''.join(parts)}</details>"
    )


def _parameters(parameters: list[dict[str, Any]]) -> str:
    rows = [
        (
            parameter["name"],
            parameter["in"],
            parameter["schema"],
            parameter.get("description", ""),
            parameter.get("required", False),
        )
        for parameter in parameters
    ]
    return _table("Parameters", [_row(*row) for row in rows])


def _bodies(body: dict[str, Any]) -> str:
    return "".join(_body(kind, content["schema"]) for kind, content in body.get("content", {}).items())


def _body(kind: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        _row(name, "", schema_of_field, schema_of_field.get("description", ""), name in required)
        for name, schema_of_field in schema.get("properties", {}).items()
    ]
    title = f"Body, <code>{escape(kind)}</code>"
    return _table(title, rows) if rows else f"<h3>{title}</h3><p>The document's bytes.</p>"


def _answers(responses: dict[str, Any]) -> str:
    rows = []
    for status, response in responses.items():
        kinds = " ".join(f"<code>{escape(kind)}</code>" for kind in response.get("content", {}))
        rows.append(f"<tr><td>{escape(status)}</td><td>{kinds}</td><td>{_prose(response['description'])}</td></tr>")
    return _table("Answers", rows)


def _row(name: str, place: str, schema: dict[str, Any], about: str, required: bool) -> str:
    kind = schema.get("type") or ("one of several" if "oneOf" in schema else "any")
    inner = schema.get("properties")
    more = f"<pre>{escape(json.dumps(_short(inner), indent=2, ensure_ascii=False))}</pre>" if inner else ""
    facts = " ".join(filter(None, [str(kind), place, "required" if required else ""]))
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(facts)}</td><td>{_prose(about)}{more}</td></tr>"


def _short(properties: dict[str, Any]) -> dict[str, str]:
    return {name: str(schema.get("description", schema.get("type", ""))) for name, schema in properties.items()}


def _table(title: str, rows: list[str]) -> str:
    return f"<h3>{title}</h3><table><tbody>{''.join(rows)}</tbody></table>" if rows else ""


def _prose(text: str) -> str:
    """Text with `code` in it."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
