"""Rules about files: who may change them, names that others can foretell, and archives that write where they like."""

from __future__ import annotations

import ast
import stat
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import calls, methods, texts
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_literal, keyword, text_of
from analyzers.rule import Hit, Rule

_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - these are what is looked for
_MODE_BITS = 0o7777
_ARCHIVES = ("tarfile.", "tarfile.open()", "tarfile.TarFile")


def loose_permissions(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A file is made writable for everybody, or executable for people who have no need of it.

    Whoever may write to it decides what is read or run from it. Give rights to the owner alone: ``0o600`` for data,
    ``0o700`` for programs. A mode that only lets others run or read the file is reported as information.
    """
    if any(name.startswith("os.") for name in origins(call.func, at)):
        mode = argument(call, 1, "mode")
    else:
        mode = argument(call, 0, "mode")
    bits = _known_bits(mode, at)
    if bits is None:
        return
    if bits & stat.S_IWOTH and not bits & stat.S_ISVTX:
        yield at.hit(call, f"mode {bits:#o} lets everybody write")
    elif bits & (stat.S_ISUID | stat.S_ISGID):
        yield at.hit(call, f"mode {bits:#o} lends the owner's rights to whoever runs the file")
    elif bits & ~_MODE_BITS:
        yield at.hit(call, f"mode {bits:#o} has bits that are no permissions", severity=Severity.LOW)
    elif bits & (stat.S_IXGRP | stat.S_IXOTH | stat.S_IWGRP):
        yield at.hit(call, f"mode {bits:#o} gives rights to more than the owner", severity=Severity.INFO)


def _known_bits(node: ast.expr | None, at: Scope) -> int | None:
    """The bits of a mode that are certainly set; None if nothing is known."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            one, other = _known_bits(left, at), _known_bits(right, at)
            return None if one is None and other is None else (one or 0) | (other or 0)
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            one, other = _known_bits(left, at), _known_bits(right, at)
            return None if one is None or other is None else one & other
        case ast.BinOp(left=left, op=ast.BitXor(), right=right):
            one, other = _known_bits(left, at), _known_bits(right, at)
            return None if one is None or other is None else one ^ other
        case ast.Attribute() | ast.Name():
            for name in origins(node, at):
                bits = getattr(stat, name.removeprefix("stat."), None) if name.startswith("stat.S_I") else None
                if isinstance(bits, int):
                    return bits
    value = fold(node, at)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def open_umask(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``os.umask(0)`` lets every file that is made from now on be as open as its maker asks, which is often for all.

    Use ``0o077`` and give rights where they are needed.
    """
    mask = fold(argument(call, 0), at)
    # Setting it and setting it back is the only way to read it.
    is_read = isinstance(at.tree.parents.get(call), (ast.Assign, ast.Call, ast.NamedExpr))
    if isinstance(mask, int) and not mask & stat.S_IWOTH and not is_read:
        yield at.hit(call, "files made from now on may be writable for everybody")


def shared_folder(node: ast.Constant, at: Scope) -> Iterator[Hit]:
    """A fixed name in a folder that everybody may write to, such as ``/tmp``.

    Somebody else can make that file first, or put a link there. Use ``tempfile``: ``NamedTemporaryFile``, ``mkstemp``,
    ``TemporaryDirectory``.
    """
    value = node.value
    if isinstance(value, str) and value.startswith(_SHARED_FOLDERS):
        folder = next(one for one in reversed(_SHARED_FOLDERS) if value.startswith(one))
        if value[len(folder) : len(folder) + 1] not in {"", "/"} or "\n" in value:
            return
        around = at.tree.parents.get(node) if at.tree.imports("tempfile") else None
        owner = at.tree.parents.get(around) if isinstance(around, ast.keyword) else around
        if isinstance(owner, ast.Call) and any(name.startswith("tempfile.") for name in origins(owner.func, at)):
            return
        bare = value.rstrip("/") == folder
        severity = Severity.INFO if bare else None
        yield at.hit(node, f"anybody may put a file or link of this name into {folder}", severity=severity)


def foretold_name(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A temporary name is chosen before the file is made: somebody else can make it in between.

    Use ``tempfile.mkstemp`` or ``NamedTemporaryFile``, which choose and make it at once.
    """
    name = next((one for one in origins(call.func, at) if one.rpartition(".")[2].startswith(("mktemp", "t"))), "")
    also = ("B325",) if name.startswith("os.") else ("B306",)
    yield at.hit(call, "somebody else can make this file before this program does", also=also)


def archive_extracted(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A tar archive is unpacked as it is: names such as ``../../etc/cron.d/x``, links and devices included.

    Give ``filter="data"`` (Python 3.8 and later have it, 3.14 by default), which refuses all of that.
    """
    names = origins(call.func, at)
    if not any(name.startswith(_ARCHIVES) for name in names) and not (
        at.tree.imports("tarfile") and not any("zipfile" in name or "ZipFile" in name for name in names)
    ):
        return
    chosen = text_of(keyword(call, "filter"), at)
    if chosen in {"data", "tar"} or (chosen is None and keyword(call, "filter") is not None):
        return
    members = argument(call, 1, "members")
    if isinstance(members, (ast.List, ast.Tuple)) and not members.elts:
        return
    if members is not None and chosen is None and not is_literal(members):
        yield at.hit(call, "only as safe as the choice of members is", severity=Severity.LOW)
    else:
        yield at.hit(call, "names in the archive decide where it writes")


def archive_unpacked(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``shutil.unpack_archive`` unpacks tar archives as they are, names that lead elsewhere included.

    Give ``filter="data"``.
    """
    if keyword(call, "filter") is None:
        yield at.hit(call, "names in a tar archive decide where it writes")


def zip_extracted(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A zip archive is unpacked as a whole, however much it holds.

    ``zipfile`` keeps names inside the folder, but some kilobytes can unpack to more than the disk has. Add up
    ``file_size`` of ``infolist()`` first, and refuse what is too much, if the archive is somebody else's.
    """
    names = origins(call.func, at)
    if any(name.startswith(("zipfile.ZipFile()", "zipfile.PyZipFile()")) for name in names):
        yield at.hit(call, "nothing limits what this unpacks to")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH607",
        name="zip-extracted",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=409,
        check=zip_extracted,
        on=(methods("extractall"),),
        hits=(
            "import zipfile\nzipfile.ZipFile(x).extractall(y)\n",
            "from zipfile import ZipFile\nwith ZipFile(x) as z:\n    z.extractall()\n",
        ),
        misses=("import tarfile\ntarfile.open(x).extractall(filter='data')\n", "archive.extractall()\n"),
    ),
    Rule(
        id="FH601",
        name="loose-permissions",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=732,
        check=loose_permissions,
        on=(methods("chmod fchmod lchmod"),),
        also=("B103",),
        hits=(
            "import os\nos.chmod(path, 0o777)\n",
            "import os, stat\nos.chmod(path, stat.S_IRWXU | stat.S_IWOTH)\n",
            "from pathlib import Path\nPath('x').chmod(0o666)\n",
            "import os\nos.chmod(path, 0o4755)\n",
        ),
        misses=(
            "import os\nos.chmod(path, 0o600)\n",
            "import os\nos.chmod(path, mode)\n",
            "import os, stat\nos.chmod(path, stat.S_IRWXU)\n",
        ),
    ),
    Rule(
        id="FH602",
        name="shared-folder",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=377,
        check=shared_folder,
        on=(texts(*_SHARED_FOLDERS),),
        also=("B108",),
        hits=("open('/tmp/x', 'w')\n", "path = '/var/tmp/y'\n", "run('/dev/shm/z')\n"),
        misses=(
            "open('/abc/tmp')\n",
            "import tempfile\ntempfile.mkdtemp(dir='/tmp')\n",
            "open('/tmpfiles')\n",
        ),
    ),
    Rule(
        id="FH603",
        name="foretold-name",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=377,
        check=foretold_name,
        on=(calls("tempfile.mktemp os.tempnam os.tmpnam"),),
        also=("B306", "B325"),
        hits=("import tempfile\ntempfile.mktemp()\n", "import os\nos.tempnam()\n"),
        misses=("import tempfile\ntempfile.mkstemp()\n", "def mktemp(): pass\nmktemp()\n"),
    ),
    Rule(
        id="FH604",
        name="archive-extracted",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=22,
        check=archive_extracted,
        on=(methods("extractall"),),
        also=("B202",),
        hits=(
            "import tarfile\nt = tarfile.open(x)\nt.extractall()\n",
            "import tarfile\nwith tarfile.open(x) as t:\n    t.extractall(path, filter='fully_trusted')\n",
            "import tarfile\ndef f(archive):\n    archive.extractall(path)\n",
        ),
        misses=(
            "import tarfile\nt = tarfile.open(x)\nt.extractall(filter='data')\n",
            "import zipfile\nwith zipfile.ZipFile(x) as z:\n    z.extractall()\n",
            "frame.extractall(pattern)\n",
        ),
    ),
    Rule(
        id="FH605",
        name="archive-unpacked",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=22,
        check=archive_unpacked,
        on=(calls("shutil.unpack_archive"),),
        hits=("import shutil\nshutil.unpack_archive(x)\n",),
        misses=("import shutil\nshutil.unpack_archive(x, filter='data')\n",),
    ),
    Rule(
        id="FH606",
        name="open-umask",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=276,
        check=open_umask,
        on=(calls("os.umask"),),
        hits=("import os\nos.umask(0)\n", "import os\nos.umask(0o000)\n"),
        misses=("import os\nos.umask(0o077)\n", "import os\nos.umask(old)\n"),
    ),
)
