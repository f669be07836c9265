from pathlib import Path

import pytest

from kb.settings import editor_command


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({}, []),
        ({"EDITOR": " "}, []),
        ({"EDITOR": "vi"}, ["vi"]),
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, ["code", "--wait"]),
        ({"VISUAL": "", "EDITOR": "vi"}, ["vi"]),
        ({"EDITOR": "'/opt/My Editor/edit' -w"}, ["/opt/My Editor/edit", "-w"]),
        ({"EDITOR": "it's broken"}, ["it's broken"]),
    ],
)
def test_the_editor_is_visual_else_editor_with_its_arguments(environ: dict[str, str], command: list[str]) -> None:
    assert editor_command(environ) == command


def test_a_program_whose_path_has_spaces_needs_no_quotes(tmp_path: Path) -> None:
    program = tmp_path / "my editor"
    program.touch(mode=0o700)

    assert editor_command({"EDITOR": str(program)}) == [str(program)]


def test_on_windows_backslashes_stay() -> None:
    command = editor_command({"EDITOR": r'"C:\Program Files\np.exe" -multi'}, platform="nt")

    assert command == [r"C:\Program Files\np.exe", "-multi"]
