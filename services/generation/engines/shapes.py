"""Shortest values of JSON schemas, which the fake engine answers with."""

import json
from typing import Any

MOST = 1000


def smallest(schema: str) -> str:
    """Returns the JSON text of a value that fits a schema of objects, arrays, texts, numbers, enum and const."""
    return json.dumps(_value(json.loads(schema)), ensure_ascii=False)


def _value(schema: dict[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type", "object") == "object":
        return {name: _value(schema.get("properties", {}).get(name, {})) for name in schema.get("required", [])}
    if schema["type"] == "array":
        return [_value(schema.get("items", {}))] * min(MOST, schema.get("minItems", 0))
    if schema["type"] == "string":
        return "x" * min(MOST, schema.get("minLength", 0))
    if schema["type"] in ("integer", "number"):
        return schema.get("minimum", 0)
    return False if schema["type"] == "boolean" else None
