"""Claims on folders, and who may take what."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import claim

HOLDS = """
import sys, time
from sandbox import claim
(made,) = claim.make(sys.argv[1:], "x-")
print(made.path, flush=True)
time.sleep(60)
"""


def test_what_lives_is_held_and_what_is_dead_is_not(tmp_path: Path) -> None:
    """However the process ends; nothing has to be written down for that."""
    argv = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        path = service.stdout.readline().strip()
        assert claim.take(path) is None
        service.kill()
    taken = claim.take(path)
    assert taken is not None
    assert claim.take(path) is None
    taken.release()


def test_a_name_tells_nothing(tmp_path: Path) -> None:
    """It is drawn anew for each folder."""
    made = [each for _ in range(20) for each in claim.make([str(tmp_path)], "x-")]
    names = {Path(each.path).name for each in made}
    assert len(names) == 20
    assert all(re.fullmatch(f"x-{claim.NAME}", name) for name in names)
    for each in made:
        each.release()


def test_a_folder_swept_away_before_it_was_claimed_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making and holding it a sweep may come; who loses that race tries under another name, everywhere."""
    parents = [tmp_path / "a", tmp_path / "b"]
    for parent in parents:
        parent.mkdir()
    names = iter(["0" * 16, "1" * 16, "2" * 16])
    monkeypatch.setattr(claim, "fresh_name", lambda: next(names))
    real = claim.take

    def late(path: str) -> claim.Claim | None:
        if path == str(parents[0] / ("0" * 16)):
            Path(path).rmdir()
        return None if path == str(parents[1] / ("1" * 16)) else real(path)

    monkeypatch.setattr(claim, "take", late)
    made = claim.make([str(parent) for parent in parents])
    assert [each.path for each in made] == [str(parent / ("2" * 16)) for parent in parents]
    assert [[path.name for path in parent.iterdir()] for parent in parents] == [["2" * 16], ["2" * 16]]
    for each in made:
        each.release()


def test_who_never_gets_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error, not a wait without end."""
    monkeypatch.setattr(claim, "take", lambda _: None)
    with pytest.raises(OSError, match="removes what is made here"):
        claim.make([str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_a_link_or_a_file_is_never_taken(tmp_path: Path) -> None:
    """Only a folder can be ours."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "file").write_text("")
    assert [claim.take(str(tmp_path / name)) for name in ("link", "file", "nothing")] == [None] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link"]
