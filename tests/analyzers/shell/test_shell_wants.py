from __future__ import annotations

import pytest

from analyzers import analyze


@pytest.mark.parametrize(
    ("code", "capabilities"),
    [
        ("echo hi\nx=1\n[ -f a ] && echo $x\n", set()),
        ("ls\n", {"proc.spawn", "fs.read"}),
        ("f() { echo; }\nf\n", set()),
        ("x=$(echo)\n", {"proc.spawn"}),
        ("echo | read x\n", {"proc.spawn"}),
        ("sudo -u x true\n", {"proc.spawn"}),
        ("curl https://example.org\n", {"proc.spawn", "net.outbound"}),
        ("curl --version\n", {"proc.spawn"}),
        ("curl -so /srv/a https://example.org\n", {"proc.spawn", "net.outbound", "fs.write:/srv/a"}),
        ("pip list\npip3 --version\ngit status\n", {"proc.spawn"}),
        ("sudo apt-get -y install x\n", {"proc.spawn", "net.outbound"}),
        ("python3 -m pip install x\n", {"proc.spawn", "net.outbound"}),
        ("rsync -a a host:b\n", {"proc.spawn", "net.outbound"}),
        ("rsync -a a /srv/b\n", {"proc.spawn", "fs.write:/srv/b"}),
        ("exec 3<>/dev/tcp/example.org/80\necho >&3\n", {"net.outbound"}),
        ("echo x > /dev/udp/example.org/514\n", {"net.outbound"}),
        ("# > /dev/tcp/a/1\necho '> /dev/tcp/a/1'\n", set()),
        ("nc -lk 80\n", {"proc.spawn", "net.listen"}),
        ("python3 -m http.server\n", {"proc.spawn", "net.listen"}),
        ("echo > /etc/x 2>/dev/null >&2\n", {"fs.write:/etc/x"}),
        ("out=/srv\necho > $out/a\n", {"fs.write:/srv/a"}),
        ("echo > $1\n", {"fs.write"}),
        ("echo > /srv/*.txt\n", {"fs.write"}),
        ("rm -rf /srv/a b\n", {"proc.spawn", "fs.write:/srv/a", "fs.write"}),
        ("mkdir -m 700 /a\nchmod 700 /b\n", {"proc.spawn", "fs.write:/a", "fs.write:/b"}),
        ("cp a /b\n", {"proc.spawn", "fs.read", "fs.write:/b"}),
        ("mv /a /b\n", {"proc.spawn", "fs.read", "fs.write:/a", "fs.write:/b"}),
        ("dd if=a of=/b\n", {"proc.spawn", "fs.write:/b"}),
        ("sed -i s/a/b/ c\n", {"proc.spawn", "fs.read", "fs.write"}),
        ("grep x\ncut -d , -f 1\njq .\n", {"proc.spawn"}),
        ("grep x a\n", {"proc.spawn", "fs.read"}),
        ("read x < a\n", {"fs.read"}),
        ("source lib.sh\n", {"fs.read"}),
        ("echo $HOME\n", {"env.read"}),
        ("HOME=/x\necho $HOME ${#HOME} $RANDOM ${BASH_SOURCE[0]} '$USER' # $USER\n", set()),
        ("env\n", {"proc.spawn", "env.read"}),
        ("env A=1 true\n", {"proc.spawn"}),
        ("eval x\nbash -c 'true'\n", {"proc.spawn"}),
        ('eval "$x"\n', {"dynamic.code"}),
        ('bash -ec "ls $1"\n', {"proc.spawn", "dynamic.code"}),
        ("cat a | sh -s\n", {"proc.spawn", "fs.read", "dynamic.code"}),
        (". <(echo)\n", {"proc.spawn", "fs.read", "dynamic.code"}),
    ],
)
def test_what_a_script_shows(code: str, capabilities: set[str]) -> None:
    """By its commands, redirections and variables; functions and the shell's own words start no process."""
    assert set(analyze(code, "bash").capabilities) == capabilities


def test_a_script_within_python_counts_as_what_python_wants() -> None:
    """On the line where it stands."""
    report = analyze("import os\nos.system('''\ncurl https://example.org > /srv/a''')\n")
    lines = dict(zip(report.capabilities, report.capability_lines, strict=True))
    assert lines == {"net.outbound": 3, "proc.spawn": 2, "fs.write:/srv/a": 3}


@pytest.mark.parametrize("code", ["$A " * 20_000, "echo > /dev/tcp/" * 10_000, "rm " + "/a " * 20_000])
def test_a_long_script_is_searched_in_time(code: str) -> None:
    """Whatever is repeated in it, and what many places are told as is bounded."""
    report = analyze(code, "bash", seconds=20)
    assert len(report.capabilities) < 40
