import subprocess

import pytest
from click.testing import CliRunner

from cli.root import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_completes_this_program(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_CITEMESH_COMPLETE" in result.output
    assert f"{shell}_complete" in result.output


def test_bash_takes_the_script() -> None:
    script = CliRunner().invoke(main, ["completion", "bash"]).output
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).returncode == 0


def test_an_unknown_shell_is_refused_by_name() -> None:
    result = CliRunner().invoke(main, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "tcsh" in result.output
    assert "bash" in result.output
