from __future__ import annotations

import pytest

from analyzers import analyze


def program(imports: str, body: str) -> str:
    """Give a program whose main function is ``body``."""
    lines = "".join(f'import "{path}"\n' for path in imports.split())
    return f"package main\n{lines}func main() {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("imports", "body", "capabilities"),
    [
        ("fmt", 'fmt.Println("a")', set()),
        ("net/http", 'http.Get("https://example.org")', {"net.outbound"}),
        ("net/http", "c := http.Client{}\n_ = c", {"net.outbound"}),
        ("net/http", "http.DefaultClient.Do(r)", {"net.outbound"}),
        ("net", 'net.Dial("tcp", "example.org:80")', {"net.outbound"}),
        ("net", 'net.ParseIP("127.0.0.1")', set()),
        ("github.com/redis/go-redis/v9", "", {"net.outbound"}),
        ("github.com/aws/aws-sdk-go-v2/service/s3", "", {"net.outbound"}),
        ("net/http", 'http.ListenAndServe(":80", nil)', {"net.listen"}),
        ("net/http", "s := &http.Server{}\ns.ListenAndServe()", {"net.listen"}),
        ("github.com/gin-gonic/gin", "r := gin.Default()\nr.Run()", {"net.listen"}),
        ("testing", "t.Run()", set()),
        ("os/exec", 'exec.Command("ls")', {"proc.spawn"}),
        ("os", 'os.ReadFile("a")', {"fs.read"}),
        ("os", 'os.WriteFile("/srv/a", nil, 0o600)', {"fs.write:/srv/a"}),
        ("os", 'const base = "/srv"\nos.Remove(base + "/a")', {"fs.write:/srv/a"}),
        ("os", "os.Remove(os.Args[1])", {"fs.write"}),
        ("os", 'os.Rename("/a", "/b")', {"fs.write:/b"}),
        ("os", 'os.OpenFile("/a", os.O_RDONLY, 0)', {"fs.read"}),
        ("os", 'os.OpenFile("/a", os.O_RDWR, 0)', {"fs.read", "fs.write:/a"}),
        ("os", 'os.OpenFile("/a", os.O_CREATE|os.O_WRONLY, 0)', {"fs.write:/a"}),
        ("os", 'os.OpenFile("/a", flags, 0)', {"fs.read", "fs.write:/a"}),
        ("os", 'os.OpenFile("/dev/null", os.O_WRONLY, 0)', set()),
        ("os", 'os.Getenv("A")', {"env.read"}),
        ("plugin", 'plugin.Open("a.so")', {"dynamic.code"}),
        ("github.com/dop251/goja", "", {"dynamic.code"}),
        ("database/sql", 'sql.Open("sqlite3", "a.db")', {"fs.write"}),
        ("database/sql", 'sql.Open("postgres", dsn)', {"net.outbound"}),
    ],
)
def test_what_a_program_shows(imports: str, body: str, capabilities: set[str]) -> None:
    """Through imports, also renamed ones, and constants."""
    assert set(analyze(program(imports, body), "go").capabilities) == capabilities


def test_a_package_of_another_name() -> None:
    """An import decides what a name stands for."""
    code = 'package main\nimport run "os/exec"\nimport exec "example.org/exec"\nfunc f() {\n exec.Command()\n'
    assert analyze(code + "}\n", "go").capabilities == ()
    report = analyze(code + ' run.Command("a")\n}\n', "go")
    assert (report.capabilities, report.capability_lines) == (("proc.spawn",), (6,))
