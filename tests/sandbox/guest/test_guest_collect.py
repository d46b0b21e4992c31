"""Taking files out of a workspace: which ones match, and that nothing in it leads out of it or holds us up."""

from __future__ import annotations

import fnmatch
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import collect as guest

# (glob, path, whether pathlib of Python 3.13 has ``path`` among ``Path('.').glob(glob)``, were it a file)
SEMANTICS = (
    ("a", "a", True),
    ("a", "b", False),
    ("a", "x/a", False),
    ("a", "a/x", False),
    ("A", "a", False),
    ("*", "a", True),
    ("*", ".a", True),
    ("*", "a/b", False),
    ("a*", "abc", True),
    ("a*c", "abc", True),
    ("a*c", "a/c", False),
    ("?", "a", True),
    ("?", "é", True),
    ("?", "", False),
    ("?", "ab", False),
    ("[ab]", "b", True),
    ("[!ab]", "b", False),
    ("[!ab]", "c", True),
    ("[a-c]x", "bx", True),
    ("[", "[", True),
    ("[]]", "]", True),
    ("*.py", "x.py", True),
    ("*.py", ".py", True),
    ("*.py", "x.pyc", False),
    ("a/b", "a/b", True),
    ("a/*", "a/b", True),
    ("a/*", "a/b/c", False),
    ("*/b", "a/b", True),
    ("*/b", "b", False),
    ("**", "a", True),
    ("**", "a/b/c", True),
    ("**", ".a/.b", True),
    ("a/**", "a/b", True),
    ("a/**", "a/b/c", True),
    ("a/**", "a", False),
    ("a/**", "b/a/c", False),
    ("**/a", "a", True),
    ("**/a", "x/a", True),
    ("**/a", "x/y/a", True),
    ("**/a", "x/y/b", False),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**/b", "a/b/c", False),
    ("**/x/**", "x/a", True),
    ("**/x/**", "a/x/b/c", True),
    ("**/x/**", "a/x", False),
    ("**/**/a", "x/a", True),
    ("**/*.png", "a/b/c.png", True),
    ("a**", "abc", True),
    ("a**", "a/b", False),
    ("**a", "xa", True),
    ("**a", "x/a", False),
    ("*\n*", "a\nb", True),
    ("a.c", "abc", False),
    ("(a)", "(a)", True),
    ("a\\b", "a\\b", True),
    ("***", "a", True),
    ("***", "a/b", False),
)


def matches(glob: str, path: str) -> bool:
    """Ask the matcher."""
    globs = guest._Globs([glob])
    state = globs.start
    for name in path.split("/"):
        state = globs.step(state, name)
    return globs.matches(state)


@pytest.mark.parametrize(("glob", "path", "wanted"), SEMANTICS)
def test_globs_mean_what_pathlib_says(glob: str, path: str, wanted: bool) -> None:  # noqa: FBT001 - a parameter
    """Case counts, dots are letters like any other, ``**`` alone spans folders, and at the end it means the files."""
    assert matches(glob, path) is wanted


@given(
    st.lists(st.sampled_from(["**", "*", "a", "b*", "?", "a.b"]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", "bb", "a.b"]), min_size=1, max_size=5),
)
def test_the_matcher_agrees_with_a_slow_and_plain_one(glob: list[str], path: list[str]) -> None:
    """A definition by recursion, one part at a time."""

    def plain(parts: list[str], names: list[str]) -> bool:
        if not parts:
            return not names
        if parts[0] == "**":
            return plain(parts[1:], names) or bool(names and plain(parts, names[1:]))
        return bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and plain(parts[1:], names[1:])

    meant = [*glob, "*"] if glob[-1] == "**" else glob
    assert matches("/".join(glob), "/".join(path)) is plain(meant, path)


def test_a_hostile_glob_costs_no_more_than_its_length() -> None:
    """Sixty-four times ``**`` over a path of two thousand parts is linear work, and many in a row are one."""
    assert not matches("/".join(["**", "a"] * 64), "/".join(["a"] * 60 + ["b"] * 1940))
    assert len(guest._Globs(["/".join(["**"] * 1300)]).start) == 2


def test_a_deep_tree_costs_its_names_and_no_more(tmp_path: Path) -> None:
    """Each name is matched once, however deep it lies; from the root anew it would be a million steps and more."""
    steps = 0
    real = guest._Globs.step

    def counted(self: guest._Globs, state: frozenset[int], name: str) -> frozenset[int]:
        nonlocal steps
        steps += 1
        return real(self, state, name)

    deep = tmp_path / "/".join(["d"] * 200)
    deep.mkdir(parents=True)
    for number in range(500):
        (deep / f"f{number}").write_text("x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guest._Globs, "step", counted)
        sent, skipped = collected(tmp_path, "**", "**/x/**", most_files=10)
    assert (len(sent), len(skipped)) == (10, 10)
    assert steps == 700


def test_the_walk_ends_in_time_and_says_where(tmp_path: Path) -> None:
    """Nothing is late: what there was no time for is told, also where the list of what stays behind is full."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x")
    sent: dict[str, bytes] = {}
    assert guest.collect(str(tmp_path), ["*"], 9, 99, sent.__setitem__, seconds=-1.0) == [["a", "too_many"]]
    with pytest.MonkeyPatch.context() as patch:
        ticks = iter((0.0, 0.1, 0.2, 99.0))
        patch.setattr(guest.time, "monotonic", lambda: next(ticks))
        assert guest.collect(str(tmp_path), ["*"], 1, 99, sent.__setitem__) == [["c", "too_many"]]
    assert sent == {"a": b"x"}


def test_no_folder_is_opened_in_which_nothing_can_match(tmp_path: Path) -> None:
    """It costs nothing, and that it cannot be opened is nobody's concern."""
    for name in ("a/x", "b/x", "b/c/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    opened = []
    real = os.open

    def watched(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_DIRECTORY:
            opened.append(path)
        return real(path, flags, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", watched)
        assert list(collected(tmp_path, "b/x")[0]) == ["b/x"]
    assert opened == [str(tmp_path), b"b"]


@pytest.mark.parametrize(("glob", "told"), [("**", True), ("closed/x", True), ("*/x", True), ("x", False)])
def test_a_folder_that_cannot_be_opened_is_told_where_it_matters(
    tmp_path: Path,
    glob: str,
    told: bool,  # noqa: FBT001 - a parameter
) -> None:
    """What a glob may have matched in it did not vanish unsaid."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "x").write_text("x")
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if path == b"closed":
            raise PermissionError(13, "closed")
        return real(path, flags, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert collected(tmp_path, glob)[1] == ([["closed", "unreadable"]] if told else [])


def test_what_is_too_long_to_be_named_is_not_returned_under_another_name(tmp_path: Path) -> None:
    """The kernel takes 4095 bytes; one more and it is told as unreadable, cut for people and marked as such."""
    folder = os.open(tmp_path, os.O_RDONLY)
    name = "d" * 254
    for _ in range(16):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    for leaf in ("f" * 15, "g" * 16, "h" * 255):
        os.close(os.open(leaf, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    sent, skipped = collected(tmp_path, "**")
    prefix = f"{name}/" * 16
    assert list(sent) == [prefix + "f" * 15]
    assert len(prefix) + 15 == 4095
    assert skipped == [[prefix + "g" * 15 + "…", "unreadable"], [prefix + "h" * 15 + "…", "unreadable"]]


def collected(
    root: Path, *globs: str, most_files: int = 100, most_bytes: int = 1 << 20
) -> tuple[dict[str, bytes], list[list[str]]]:
    """Collect from a folder."""
    sent: dict[str, bytes] = {}
    skipped = guest.collect(str(root), list(globs), most_files, most_bytes, sent.__setitem__)
    return sent, skipped


def test_nothing_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Links to files and folders, absolute and relative, are named and not followed, wherever they stand."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "d").mkdir(parents=True)
    for folder in (inside, inside / "d"):
        (folder / "file").symlink_to(outside / "secret")
        (folder / "folder").symlink_to(outside)
        (folder / "up").symlink_to("..")
        (folder / "self").symlink_to("self")
    os.link(outside / "secret", inside / "hard")
    sent, skipped = collected(inside, "**", "*/*", "folder/secret", "up/outside/secret", "d/up/up/outside/*")
    assert sent == {
        "hard": b"secret"
    }  # a hard link is the file itself, and can only be made to a file of the guest's own
    assert {reason for _, reason in skipped} == {"symlink"}
    assert len(skipped) == 8


def test_a_root_that_is_a_link_or_gone_gives_nothing(tmp_path: Path) -> None:
    """It never is; if it were, it would not be followed. That it cannot be looked into is told."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert collected(tmp_path / "link", "**") == ({}, [[".", "unreadable"]])
    assert collected(tmp_path / "gone", "**") == ({}, [[".", "unreadable"]])


def test_nothing_special_is_opened(tmp_path: Path) -> None:
    """A pipe nobody writes to would hold us up for ever."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    assert collected(tmp_path, "*") == ({}, [["pipe", "special"], ["socket", "special"]])


def test_names_that_are_no_text_are_told_as_well_as_they_can_be(tmp_path: Path) -> None:
    """U+FFFD for each byte that is none; the file itself stays."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xffb")).write_text("x")
    assert collected(tmp_path, "*") == ({}, [["a\ufffdb", "name"]])


def test_counts_and_sizes_have_bounds(tmp_path: Path) -> None:
    """Files come in path order until either bound; a large one does not keep later small ones out."""
    for name, size in (("a", 10), ("b", 95), ("c", 10), ("d", 80), ("e", 1)):
        (tmp_path / name).write_bytes(bytes(size))
    sent, skipped = collected(tmp_path, "*", most_bytes=100)
    assert {name: len(content) for name, content in sent.items()} == {"a": 10, "c": 10, "d": 80}
    assert skipped == [["b", "too_large"], ["e", "too_large"]]
    sent, skipped = collected(tmp_path, "*", most_files=2, most_bytes=100)
    assert list(sent) == ["a", "c"]
    assert skipped == [["b", "too_large"], ["d", "too_many"]]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Neither after a deep tree, nor when whoever takes the files fails."""
    deep = tmp_path
    for _ in range(50):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "x").write_text("x")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    assert len(collected(tmp_path, "**")[0]) == 1

    def fail(_path: str, _content: bytes) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        guest.collect(str(tmp_path), ["**"], 9, 99, fail)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


def test_without_a_glob_nothing_is_even_looked_at(tmp_path: Path) -> None:
    """Most runs collect nothing and pay nothing."""
    (tmp_path / "x").write_text("x")
    assert collected(tmp_path) == ({}, [])
