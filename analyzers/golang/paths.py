"""Rules about files whose name comes from elsewhere, and about archives."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.golang import knowledge
from analyzers.golang.guards import PATH_CHECKS, checked
from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.values import LOCAL, NETWORK, PARAMETER, Source, Value
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_OPENING = words("Open OpenFile ReadFile Create WriteFile ReadDir")
_CHANGING = words("Remove RemoveAll Rename Mkdir MkdirAll Chmod Chown Truncate Link Symlink Lstat Stat CreateTemp")
_PATH_AT: dict[str, tuple[int, ...]] = {
    **{f"os.{name}": (0,) for name in _OPENING | _CHANGING},
    "os.Rename": (0, 1),
    "os.DirFS": (0,),
    **{f"io/ioutil.{name}": (0,) for name in ("ReadFile", "WriteFile", "ReadDir")},
    "net/http.ServeFile": (2,),
    "net/http.ServeFileFS": (3,),
    "html/template.ParseFiles": (0,),
    "text/template.ParseFiles": (0,),
    ".SaveUploadedFile": (1,),
    ".SaveFile": (1,),
    ".SendFile": (0,),
    ".FileAttachment": (0,),
    ".File": (0,),
    ".Attachment": (0,),
}
_ENTRY_JOINS = ("path/filepath.Join", "path.Join")


def path_traversal(program: Program, call: Call) -> Iterator[Hit]:
    """A file is opened, changed or served under a name that comes from outside.

    ``../`` or an absolute path leads out of the folder that was meant. ``filepath.Join`` and ``filepath.Clean`` do not
    prevent that. Take ``filepath.Base`` of the name, ask ``filepath.IsLocal``, or open it below an ``os.Root``.

    A request's data is high; a program's own arguments and environment are low, since who starts a program may read its
    files anyway; a parameter whose origin is not seen is an information. Checked names are not reported.
    """
    if call.receiver is not None and program.receiver_type(call) not in knowledge.CONTEXTS:
        return
    for at in _PATH_AT[call.name]:
        if at >= len(call.arguments):
            continue
        value = program.value(call.arguments[at])
        source = value.from_outside("path", PARAMETER)
        if source is None or value.harmless or source.what == knowledge.AN_ENTRY:
            continue
        tidied = value.is_clean("tidied")
        if (tidied and source.rank <= LOCAL) or (source.rank == PARAMETER and not call.name.endswith(tuple(_OPENING))):
            continue
        if checked(program, call.arguments[at], PATH_CHECKS):
            continue
        yield _outside(program, call, source, tidied=tidied)
        return


def _outside(program: Program, call: Call, source: Source, *, tidied: bool) -> Hit:
    if source.rank >= NETWORK:
        return program.hit(
            call.node,
            f"{source.what} (line {source.line}) decides which file is used",
            confidence=Confidence.MEDIUM if tidied else Confidence.HIGH,
        )
    local = source.rank == LOCAL
    return program.hit(
        call.node,
        f"{source.what} (line {source.line}) decides which file is used",
        severity=Severity.LOW if local else Severity.INFO,
        confidence=Confidence.MEDIUM if local else Confidence.LOW,
        also=("G304", "G703") if local else ("G304",),
    )


def zip_slip(program: Program, call: Call) -> Iterator[Hit]:
    """A path is made of the name that an archive gives to an entry.

    Whoever made the archive chose the name: ``../../etc/cron.d/x`` writes outside the folder. Refuse a name for which
    ``filepath.IsLocal`` is false, or check after joining that the path still has the folder as its prefix.
    """
    if not program.unpacks:
        return
    if call.name not in _ENTRY_JOINS:
        for at in _PATH_AT.get(call.name, ())[:1]:
            if at < len(call.arguments) and not _joined(program, call.arguments[at].id):
                value = program.value(call.arguments[at])
                if _is_entry(value) and not checked(program, call.arguments[at], PATH_CHECKS):
                    yield _slip(program, call)
        return
    for argument in call.arguments:
        value = program.value(argument)
        if _is_entry(value) and not checked(program, argument, PATH_CHECKS) and not _checked_later(program, call):
            yield _slip(program, call)
            return


def _is_entry(value: Value) -> bool:
    source = value.from_outside("path", NETWORK)
    return source is not None and source.what == knowledge.AN_ENTRY


def _joined(program: Program, identity: int) -> bool:
    """Whether the path was put together by a call that is reported by itself."""
    made = program.call_of.get(identity)
    if not program.afford(len(program.calls(*_ENTRY_JOINS))):
        return True
    return (made is not None and made.name in _ENTRY_JOINS) or any(
        _is_entry(program.value(argument)) for join in program.calls(*_ENTRY_JOINS) for argument in join.arguments
    )


def _checked_later(program: Program, call: Call) -> bool:
    """Whether the function asks about the result after joining, before anything is done with it."""
    function = call.scope.function
    if not program.afford(len(program.seen.branches)):
        return True
    for branch in program.seen.branches:
        at = branch.node.start_byte
        if at > call.node.start_byte and (function is None or at < function.end):
            text = program.data[at : at + 400].decode("utf-8", "replace")
            if PATH_CHECKS.search(text.partition("{")[0]):
                return True
    return False


def _slip(program: Program, call: Call) -> Hit:
    return program.hit(call.node, "the name of an archive's entry becomes a path; '..' in it leads out of the folder")


_COPYING = {"io.Copy": 1, "io.CopyBuffer": 1, "io.ReadAll": 0, "io/ioutil.ReadAll": 0}
_UNPACKING = words(
    "compress/gzip.Reader compress/zlib.Reader compress/flate.Reader compress/bzip2.Reader compress/lzw.Reader "
    "archive/zip.Entry archive/tar.Reader compress/flate.ReaderDict compress/zlib.ReaderDict "
    "github.com/klauspost/compress/zstd.Reader github.com/klauspost/compress/gzip.Reader "
    "github.com/ulikunitz/xz.Reader github.com/golang/snappy.Reader github.com/pierrec/lz4.Reader"
)


def decompression_bomb(program: Program, call: Call) -> Iterator[Hit]:
    """Everything that a compressed stream unpacks to is copied, however much that is.

    A few kilobytes can unpack to gigabytes. Copy with ``io.CopyN`` or through an ``io.LimitReader``, and treat reaching
    the limit as an error.
    """
    at = _COPYING[call.name]
    if at < len(call.arguments) and program.unpacks and program.type_of(call.arguments[at]) in _UNPACKING:
        yield program.hit(call.node, "what is unpacked is copied without a limit")


_WALKING = ("path/filepath.Walk", "path/filepath.WalkDir", "io/fs.WalkDir")
_WALK_SINKS = tuple(f"os.{name}" for name in sorted(_OPENING | _CHANGING - {"Stat", "Lstat"}))


def walk_race(program: Program, call: Call) -> Iterator[Hit]:
    """A file is opened or changed by the path that a walk over a folder gave, which may be another file by then.

    Whoever can write there may put a link in its place between the walk's look and the use. Open below an ``os.Root``,
    which follows no link out of the folder.
    """
    if len(call.arguments) < 2:  # noqa: PLR2004 - the root and the function
        return
    made = program.value(call.arguments[1]).node
    function = program.seen.function_of.get(made.id) if made is not None else None
    if function is None and call.arguments[1].type == "identifier":
        function = program.named_function(program.text(call.arguments[1]))
    if function is None or not function.parameters:
        return
    path = function.parameters[0][0]
    if not program.afford(len(program.seen.calls)):
        return
    for sink in program.calls(*_WALK_SINKS):
        if function.start <= sink.node.start_byte < function.end and sink.arguments:
            source = program.value(sink.arguments[0]).source
            if source is not None and source.what == f"parameter {path}":
                yield program.hit(sink.node, "the path that a walk gave may name another file by now")


def served_root(program: Program, call: Call) -> Iterator[Hit]:
    """``http.Dir("/")`` serves every file of the machine that the program may read.

    Serve a folder that holds nothing else.
    """
    if program.argument(call, 0).constant == "/":
        yield program.hit(call.node, "the whole file system is served")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH803",
        name="go-path-traversal",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=22,
        check=path_traversal,
        also=("G304", "G703"),
        on=tuple(_PATH_AT),
        hits=(
            'func f(r *http.Request) { os.ReadFile("/srv/" + r.URL.Query().Get("name")) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, r.FormValue("p")) }\n',
            "os.Open(os.Args[1])\n",
            "func read(path string) ([]byte, error) { return os.ReadFile(path) }\n",
            'func f(c *gin.Context) { c.File(filepath.Join("static", c.Param("name"))) }\n',
            'func f(r *http.Request) { os.Remove(filepath.Clean(r.FormValue("p"))) }\n',
            'func up(r *http.Request) {\n\t_, h, _ := r.FormFile("f")\n\tos.Create("up/" + h.Filename)\n}\n',
        ),
        misses=(
            'os.ReadFile("config.json")\n',
            'func f(r *http.Request) { os.ReadFile("/srv/" + filepath.Base(r.FormValue("name"))) }\n',
            'func f(r *http.Request) { os.Open("/srv/" + strconv.Itoa(n)) }\n',
            (
                'func f(r *http.Request) {\n\tp := r.FormValue("p")\n\tif !filepath.IsLocal(p) {\n\t\treturn\n'
                "\t}\n\tos.Open(p)\n}\n"
            ),
            'func f(r *http.Request) { os.Open(filepath.Clean("/" + r.URL.Path)) }\n',
            'name := "a"\nos.Create(name + ".txt")\n',
            "func f(path string) { os.ReadFile(filepath.Clean(path)) }\n",
            'dir := t.TempDir()\nos.WriteFile(filepath.Join(dir, "a"), nil, 0o600)\n',
        ),
    ),
    Rule(
        id="FH804",
        name="go-zip-slip",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=22,
        check=zip_slip,
        also=("G305",),
        on=(*_ENTRY_JOINS, *(name for name in _PATH_AT if name.startswith(("os.", "io/")))),
        hits=(
            (
                'r, _ := zip.OpenReader("a.zip")\nfor _, f := range r.File {\n'
                "\tp := filepath.Join(dir, f.Name)\n\tos.Create(p)\n}\n"
            ),
            "func f(h *tar.Header, d string) { os.Create(path.Join(d, h.Name)) }\n",
            'tr := tar.NewReader(f)\nh, err := tr.Next()\nos.Create("out/" + h.Name)\n',
        ),
        misses=(
            "func f(h *tar.Header, d string) { os.Create(filepath.Join(d, filepath.Base(h.Name))) }\n",
            (
                'func f(h *zip.File, d string) {\n\tif strings.Contains(h.Name, "..") {\n\t\treturn\n\t}\n'
                "\tos.Create(filepath.Join(d, h.Name))\n}\n"
            ),
            (
                "func f(h *zip.File, d string) {\n\tp := filepath.Join(d, h.Name)\n"
                "\tif !strings.HasPrefix(p, d) {\n\t\treturn\n\t}\n\tos.Create(p)\n}\n"
            ),
            "func f(u User) { filepath.Join(dir, u.Name) }\n",
        ),
    ),
    Rule(
        id="FH805",
        name="go-decompression-bomb",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=409,
        check=decompression_bomb,
        also=("G110",),
        on=tuple(_COPYING),
        hits=(
            "r, err := gzip.NewReader(f)\nio.Copy(out, r)\n",
            "func f(e *zip.File) {\n\trc, _ := e.Open()\n\tio.Copy(out, rc)\n}\n",
            "io.ReadAll(flate.NewReader(body))\n",
        ),
        misses=(
            "r, err := gzip.NewReader(f)\nio.CopyN(out, r, 1<<20)\n",
            "r, err := gzip.NewReader(f)\nio.Copy(out, io.LimitReader(r, 1<<20))\n",
            'f, _ := os.Open("x")\nio.Copy(out, f)\n',
        ),
    ),
    Rule(
        id="FH863",
        name="go-walk-race",
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW,
        cwe=367,
        check=walk_race,
        also=("G122",),
        on=_WALKING,
        hits=(
            'filepath.WalkDir("/d", func(p string, d fs.DirEntry, err error) error { return os.Remove(p) })\n',
            (
                'func visit(p string, i os.FileInfo, err error) error { return os.Chmod(p+"x", 0o600) }\n'
                'func main() { filepath.Walk("/d", visit) }\n'
            ),
        ),
        misses=(
            'filepath.Walk("/d", func(p string, i os.FileInfo, err error) error { return os.Remove("/d/x") })\n',
            (
                'filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error { _, e := root.Open(p); '
                "return e })\n"
            ),
        ),
    ),
    Rule(
        id="FH844",
        name="go-served-root",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=22,
        check=served_root,
        also=("G111",),
        on=("net/http.Dir",),
        hits=('http.Handle("/", http.FileServer(http.Dir("/")))\n', 'const d = "/"\nvar fs = http.Dir(d)\n'),
        misses=('http.FileServer(http.Dir("./static"))\n', "http.FileServer(http.Dir(dir))\n"),
    ),
)
