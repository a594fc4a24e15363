"""`citemesh eval`."""

from pathlib import Path

from click.testing import CliRunner

from cli import main


def test_the_command_names_a_bad_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["eval", str(tmp_path / "none.jsonl")])
    assert result.exit_code != 0
    assert "can't be read" in result.output
