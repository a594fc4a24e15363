from email.message import Message
from importlib.metadata import PackageMetadata
from typing import cast

import pytest
from check_licences import fault, licence_of, main


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "Apache-2.0 AND MIT",
        "BSD License",
        "GNU Lesser General Public License v3 (LGPLv3)",
        "LGPL-2.1",
        "MPL-2.0",
    ],
)
def test_permissive_ones_and_the_lgpl_pass(licence: str) -> None:
    assert fault("some", licence) == ""


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "GNU General Public License v2 (GPLv2)", "AGPL-3.0", "SSPL-1.0", "BUSL-1.1"]
)
def test_stronger_ones_are_refused(licence: str) -> None:
    assert "stronger than the LGPL" in fault("some", licence)


def test_what_says_nothing_is_to_be_looked_at() -> None:
    assert "read its licence" in fault("some", "")


def test_expression_classifiers_and_field_are_read() -> None:
    metadata = Message()
    metadata["License"] = "UNKNOWN"
    metadata["Classifier"] = "License :: OSI Approved :: MIT License"
    metadata["Classifier"] = "Programming Language :: Python"
    metadata["License-Expression"] = "Apache-2.0"
    assert licence_of(cast("PackageMetadata", metadata)) == "Apache-2.0 | MIT License"


def test_all_that_is_installed_may_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
