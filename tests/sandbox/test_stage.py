"""What every sandbox sees of the engine: readable whatever our umask, safely ours, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import stage
from sandbox.errors import SetupError


@pytest.fixture
def open_path() -> Iterator[Path]:
    """Give a folder that every user may enter, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="fumehood-stage-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set each umask in turn."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_any_uid_may_read_all_of_it_whatever_our_umask(open_path: Path) -> None:
    """Folders can be entered and files read by everyone, and written by us alone."""
    state = stage.state_directory(open_path / "state")
    with stage.built(state, sys.executable) as folder:
        for path in (state, folder, *folder.rglob("*")):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                wanted = 0o755 if stat.S_ISDIR(mode) else 0o644
                assert mode & 0o777 == wanted, path
        assert (folder / stage.GUEST_BUNDLE).is_file()
    assert not folder.exists()


def test_the_etc_of_guests_is_of_no_machine(open_path: Path) -> None:
    """What programs need is there; who uses this machine, and its names, are not."""
    with stage.built(open_path, sys.executable) as folder:
        etc = folder / "etc"
        assert (etc / "passwd").read_text().splitlines()[1].startswith("user:x:1000:1000:")
        assert "127.0.0.1 localhost" in (etc / "hosts").read_text()
        assert os.readlink(etc / "localtime") == "/usr/share/zoneinfo/Etc/UTC"
        there = {path.name for path in etc.iterdir()}
        assert there >= {"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf", "localtime", "mtab"}
        assert not there & {"shadow", "gshadow", "machine-id", "ssh", "sudoers", "environment", "fstab"}
        for name in ("passwd", "group", "hosts", "hostname"):
            assert (etc / name).read_text() != Path("/etc", name).read_text()
        for name in ("alternatives", "ssl/certs", "ld.so.cache"):
            assert (etc / name).exists() == Path("/etc", name).exists()


def test_nothing_private_of_etc_is_shown(open_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What not every user of the machine could read stays out, and no link is followed to it."""
    etc = open_path / "etc"
    secret = open_path / "secret"
    secret.write_text("CANARY")
    for name in ("ld.so.conf.d/open", "ld.so.conf.d/closed", "fonts/private/x", "ssl/certs/a.pem", "ssl/openssl.cnf"):
        (etc / name).parent.mkdir(parents=True, exist_ok=True)
        (etc / name).write_text("CANARY" if name.endswith(("closed", "x")) else "plain")
    (etc / "ld.so.conf.d/closed").chmod(0o600)
    (etc / "fonts/private").chmod(0o750)
    (etc / "ld.so.cache").symlink_to(secret)
    (etc / "ssl/certs/link.pem").symlink_to(secret)
    (etc / "ssl/certs/dangling.pem").symlink_to("/no/such")
    os.mkfifo(etc / "fonts/fifo")
    (etc / "mime.types").write_text("CANARY")
    (etc / "mime.types").chmod(0o640)
    monkeypatch.setattr(stage, "_HOST_ETC", etc)
    with stage.built(open_path, sys.executable) as folder:
        shown = folder / "etc"
        files = [path for path in shown.rglob("*") if path.is_file() and not path.is_symlink()]
        assert not [path for path in files if "CANARY" in path.read_text()]
        assert (shown / "ld.so.conf.d/open").read_text() == "plain"
        assert (shown / "ssl/certs/a.pem").read_text() == "plain"
        assert os.readlink(shown / "ssl/certs/link.pem") == str(secret)
        assert os.readlink(shown / "ld.so.cache") == str(secret)
        there = {str(path.relative_to(shown)) for path in shown.rglob("*")}
        assert not there & {"ld.so.conf.d/closed", "fonts/private", "fonts/fifo", "mime.types"}
    (etc / "ssl").chmod(0o700)
    with stage.built(open_path, sys.executable) as folder:
        assert not (folder / "etc/ssl").exists()


def test_it_is_gone_also_after_a_failure(open_path: Path) -> None:
    """Whether the scope's user failed or the building itself."""
    with pytest.raises(RuntimeError), stage.built(open_path, sys.executable):
        raise RuntimeError
    with pytest.raises(SetupError, match="compiling"), stage.built(open_path, "/bin/false"):
        pass
    with pytest.raises(SetupError, match="stage"), stage.built(open_path, "/no/such/python"):
        pass
    assert list(open_path.iterdir()) == []


def test_a_sweep_takes_the_dead_and_spares_the_living(open_path: Path) -> None:
    """Stages of engines that were killed, and nothing that is named otherwise."""
    for name in ("stage-0123456789abcdef", "stage-1-1.0", "slots", "other"):
        (open_path / name / "guest").mkdir(parents=True)
    with stage.built(open_path, sys.executable) as folder:
        stage.sweep(open_path)
        assert {path.name for path in open_path.iterdir()} == {folder.name, "stage-1-1.0", "slots", "other"}
        assert (folder / stage.GUEST_BUNDLE).is_file()


def test_a_folder_of_another_user_is_refused(open_path: Path, need: Callable[[bool, str], None]) -> None:
    """He could swap what guests run."""
    need(os.geteuid() == 0, "root")
    os.chown(open_path, 4242, 4242)
    with pytest.raises(SetupError, match="not a folder of ours"):
        stage.state_directory(open_path)
    assert open_path.stat().st_uid == 4242


def test_a_link_is_no_folder_of_ours(open_path: Path) -> None:
    """Whoever laid it decides where it leads; neither a link to our own folder nor a file will do."""
    (open_path / "real").mkdir(mode=0o700)
    (open_path / "link").symlink_to("real")
    (open_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(SetupError, match="state directory"):
            stage.state_directory(open_path / name)
    assert (open_path / "real").stat().st_mode & 0o777 == 0o700


def test_a_closed_folder_above_is_said(open_path: Path, need: Callable[[bool, str], None]) -> None:
    """As root, guests have another uid, and must be able to reach it."""
    need(os.geteuid() == 0, "root")
    (open_path / "closed").mkdir(mode=0o700)
    with pytest.raises(SetupError, match="closed to the uids of guests"):
        stage.state_directory(open_path / "closed/state")
