"""Settings: where they come from, which wins, and what is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from fumehood import operating, settings
from fumehood.settings import RuntimeSetting, Settings, SettingsError, load
from sandbox import Limits, WarmConfig

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FUMEHOOD_")]:
        monkeypatch.delenv(name)


def toml(tmp_path: Path, text: str) -> Path:
    """Write a settings file."""
    path = tmp_path / "fumehood.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_is_the_contract() -> None:
    """Loopback, 512 in line, 16 MiB bodies, and the contract's ceilings."""
    chosen = load()
    assert (chosen.host, chosen.port, chosen.queue, chosen.body_bytes) == ("127.0.0.1", 8080, 512, 16 << 20)
    engine = chosen.engine()
    assert engine.ceilings.wall_seconds == 300
    assert engine.ceilings.memory_bytes == 4 << 30
    assert (engine.files_in, engine.files_out, engine.files_out_bytes) == (256, 100, 16 << 20)
    assert engine.may_lack == frozenset()


def test_options_win_over_environment_over_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a table too: the file's ceilings stay where the environment sets another."""
    path = toml(tmp_path, 'host = "127.0.0.2"\nport = 1\nqueue = 7\n[ceilings]\ncpus = 2\nprocesses = 9\n')
    monkeypatch.setenv("FUMEHOOD_PORT", "2")
    monkeypatch.setenv("FUMEHOOD_HOST", "127.0.0.3")
    monkeypatch.setenv("FUMEHOOD_CEILINGS__PROCESSES", "10")
    chosen = load(path, port=3, host=None)
    assert (chosen.port, chosen.host, chosen.queue) == (3, "127.0.0.3", 7)
    assert (chosen.ceilings.cpus, chosen.ceilings.processes) == (2, 10)


def test_the_file_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``FUMEHOOD_CONFIG``, unless the command line names another."""
    monkeypatch.setenv("FUMEHOOD_CONFIG", str(toml(tmp_path, "port = 81")))
    assert load().port == 81


def test_lists_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split at commas and blanks; an empty variable is as good as none."""
    monkeypatch.setenv("FUMEHOOD_API_KEY", "one, two")
    monkeypatch.setenv("FUMEHOOD_MAY_LACK", "cgroup")
    monkeypatch.setenv("FUMEHOOD_ALLOWED_HOSTS", "")
    monkeypatch.setenv("FUMEHOOD_STATE_DIR", "")
    chosen = load()
    assert [key.get_secret_value() for key in chosen.api_key] == ["one", "two"]
    assert chosen.engine().may_lack == {"cgroup"}
    assert chosen.allowed_hosts == ()
    assert chosen.state_dir is None
    monkeypatch.setenv("FUMEHOOD_MAY_LACK", '["cgroup"]')
    assert load().engine().may_lack == {"cgroup"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("prot = 1", "prot"),
        ("[ceilings]\nwall = 1", "ceilings.wall"),
        ('port = "x"', "port"),
        ("port = 70000", "port"),
        ("concurrency = 0", "concurrency"),
        ("queue = -1", "queue"),
        ("[ceilings]\nwall_seconds = nan", "ceilings.wall_seconds"),
        ("[ceilings]\nmemory_bytes = 1000", "ceilings.memory_bytes"),
        ("ceilings = 3", "ceilings"),
        ('may_lack = ["seccomp"]', "may_lack"),
        ('host = "0.0.0.0"', "host"),
        ('host = "box.example"', "host"),
        ('allowed_hosts = ["*"]', "allowed_hosts"),
        ("[warm]\ndepth = -1", "warm.depth"),
        ("[warm]\nsize = 1", "warm.size"),
        ('[warm.preloads]\nx = ["os; exit"]', "warm.preloads.x.0"),
        ('[warm.preloads]\n"X y" = []', "warm.preloads.X y.[key]"),
        ("[[runtimes]]\ncommand = []", "runtimes.0.name"),
        ('[[runtimes]]\nname = "x"\nshell = "y"', "runtimes.0.shell"),
        ('[[runtimes]]\nname = "x"\nlimits = { wall_seconds = 0 }', "runtimes.0.limits.wall_seconds"),
        ('api_key = ["ké"]', "api_key"),
        ('database = "mysql://localhost/x"', "database"),
        ('database = "/var/lib/x.db"', "database"),
        ("key_refresh_seconds = 0", "key_refresh_seconds"),
        ("reserve_seconds = -1", "reserve_seconds"),
        ("[audit]\npending = 0", "audit.pending"),
        ("[audit]\nretention_days = -1", "audit.retention_days"),
        ("[audit]\ncodes = true", "audit.codes"),
        ("[idempotency]\nseconds = 0", "idempotency.seconds"),
        ("[clients]\nheader_seconds = 0", "clients.header_seconds"),
        ('[log]\nformat = "xml"', "log.format"),
        ('[log]\nlevel = "loud"', "log.level"),
        ("[log]\ncolour = true", "log.colour"),
        ('[metrics]\naccess = "all"', "metrics.access"),
        ('[metrics]\ntoken = "two words"', "metrics.token"),
        ('[metrics]\ntoken = ""', "metrics.token"),
        ('[tracing]\nendpoint = "collector:4318"', "tracing.endpoint"),
        ('[tracing]\nendpoint = "http://collector:port"', "tracing.endpoint"),
        ('[tracing]\nendpoint = "http://me:secret@collector"', "tracing.endpoint"),
        ("[tracing]\nsample_ratio = 1.5", "tracing.sample_ratio"),
        ("[tracing]\nsample_ratio = nan", "tracing.sample_ratio"),
        ("port = ", "fumehood.toml"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(tmp_path: Path, text: str, name: str) -> None:
    """Unknown names, wrong values, and an address that others can reach without a key."""
    with pytest.raises(SettingsError) as refused:
        load(toml(tmp_path, text))
    assert name in str(refused.value).split(":", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [("PORT", "tcp://10.0.0.1:8080", "port"), ("CEILINGS", "much", "ceilings"), ("HOST", "::", "host")],
)
def test_what_is_wrong_in_the_environment_too(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str
) -> None:
    """A variable of a container engine that happens to have our prefix does not pass either."""
    monkeypatch.setenv(f"FUMEHOOD_{variable}", value)
    with pytest.raises(SettingsError, match=name):
        load()


def test_a_variable_that_names_no_setting_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one, that is: neither one of a table, nor set-up's own, nor those of a Kubernetes Service."""
    for name in ("QUEUE", "LOG__FORMAT", "WARM__PRELOADS__X", "RUNTIMES", "CONFIG"):
        monkeypatch.setenv(f"FUMEHOOD_{name}", "x")
    for name in ("SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT", "PORT_8080_TCP", "PORT_8080_TCP_ADDR"):
        monkeypatch.setenv(f"FUMEHOOD_{name}", "x")
    assert settings.unknown_variables() == []
    for name in ("FUMEHOOD_QUEU", "FUMEHOOD_LOGS__FORMAT", "FUMEHOOD_WARM_DEPTH"):
        monkeypatch.setenv(name, "s3cr3t")
    assert settings.unknown_variables() == ["FUMEHOOD_LOGS__FORMAT", "FUMEHOOD_QUEU", "FUMEHOOD_WARM_DEPTH"]


def test_where_traces_go_needs_no_path(tmp_path: Path) -> None:
    """OTLP has one for them; another one is taken as it stands."""
    for endpoint, wanted in (
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://collector.example/", "https://collector.example/v1/traces"),
        ("https://collector.example/otlp/traces", "https://collector.example/otlp/traces"),
    ):
        assert load(toml(tmp_path, f'[tracing]\nendpoint = "{endpoint}"')).tracing.endpoint == wanted
    assert load().tracing.endpoint is None


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A misspelt path must not mean the defaults."""
    with pytest.raises(SettingsError, match=r"nowhere\.toml: No such file"):
        load(tmp_path / "nowhere.toml")


def test_a_key_is_never_told(tmp_path: Path) -> None:
    """Neither by printing the settings nor by an error about them."""
    path = toml(tmp_path, 'api_key = ["s3cr3t"]\n[metrics]\ntoken = "s3cr3t"\n')
    assert "s3cr3t" not in repr(load(path))
    wrong = 'api_key = ["s3cr3té"]\nport = "s3cr3t"\n[metrics]\ntoken = "s3cr3té"\n[tracing]\nendpoint = "s3cr3t"\n'
    with pytest.raises(SettingsError) as refused:
        load(toml(tmp_path, wrong))
    assert "s3cr3t" not in str(refused.value)


def test_records_lie_where_the_operator_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of its own, or a file in the folder for data; by default a folder of the user's that lasts."""
    assert load().data_folder.name == "data"
    assert load().database_url == f"sqlite:///{load().data_folder}/fumehood.db"
    monkeypatch.setenv("FUMEHOOD_DATA_DIR", str(tmp_path))
    assert load().database_url == f"sqlite:///{tmp_path}/fumehood.db"
    monkeypatch.setenv("FUMEHOOD_DATABASE", "postgresql://me:s3cr3t@db/x")
    chosen = load()
    assert (chosen.database_url, chosen.data_folder) == ("postgresql://me:s3cr3t@db/x", tmp_path)
    assert "s3cr3t" not in repr(chosen)
    assert operating.shown_url(chosen.database_url) == "postgresql://me@db/x"
    assert operating.shown_url("sqlite:////x/y.db") == "sqlite:////x/y.db"
    monkeypatch.setenv("FUMEHOOD_DATABASE", "oracle://me:s3cr3t@db/x")
    with pytest.raises(SettingsError) as refused:
        load()
    assert "s3cr3t" not in str(refused.value)


def test_the_network_may_be_served_when_keys_are_required(tmp_path: Path) -> None:
    """They are made later, and in another place."""
    chosen = load(toml(tmp_path, 'require_key = true\nhost = "0.0.0.0"\nallowed_hosts = ["*"]'))
    assert chosen.needs_key


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - what is being tested
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
    ],
)
def test_loopback_is_known_without_a_resolver(host: str, loopback: bool) -> None:  # noqa: FBT001 - a parameter
    """Only what cannot mean another machine."""
    assert settings.is_loopback(host) is loopback


def test_every_setting_is_documented_with_its_default() -> None:
    """``docs/settings.md`` has a row for each, and for nothing else."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    documented = [(name, default.strip()) for names, default in rows for name in re.findall("`([^`]+)`", names)]
    known = dict(defaults())
    assert sorted(name for name, _ in documented) == sorted(known)
    wrong = {name: (said, known[name]) for name, said in documented if not says(name, said, known[name])}
    assert wrong == {}


IN_WORDS = {
    "concurrency": "processors this process may use",
    "database": "SQLite in `data_dir`",
    "warm.preloads": "see below",
    "version_command": "`command[0] --version`",
    "limits": "those of every run",
}


def defaults() -> Iterator[tuple[str, object]]:
    """Give every setting as the documentation names it, with its default."""
    for name, field in Settings.model_fields.items():
        if name == "runtimes":
            for inner, one in RuntimeSetting.model_fields.items():
                yield inner, "" if one.is_required() else one.get_default()
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for inner, one in field.annotation.model_fields.items():
                yield f"{name}.{inner}", one.get_default()
        else:
            yield name, field.get_default()


def says(name: str, said: str, default: object) -> bool:
    """Whether what the table says of a default is so; a word stands for nothing set, or for what is worked out."""
    if name in IN_WORDS:
        return said == IN_WORDS[name]
    if isinstance(default, bool):
        return said == str(default).lower()
    if isinstance(default, int | float):
        return float(said.replace(",", "")) == default
    if isinstance(default, str) and default:
        return said == f"`{default}`"
    return said in {"none", "by user", "found", "asked"} and not default


def test_the_examples_in_the_documentation_are_valid(tmp_path: Path) -> None:
    """Each block of TOML in ``docs/settings.md`` can be loaded as it stands."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```toml\n")[1:]]
    assert len(blocks) == 3
    for block in blocks:
        load(toml(tmp_path, block))


def test_the_pool_follows_the_concurrency(tmp_path: Path) -> None:
    """Twice as many children wait as there are slots, within bounds, unless the operator says how many."""
    for text, depth in (
        ("concurrency = 1", 2),
        ("concurrency = 6", 12),
        ("concurrency = 500", 32),
        ("[warm]\ndepth = 5", 5),
    ):
        assert load(toml(tmp_path, text)).engine().warm.depth == depth


def test_preloads_stand_in_order_of_size_and_one_is_empty(tmp_path: Path) -> None:
    """The engine takes the first for the smallest, which never goes."""
    warm = load(toml(tmp_path, '[warm.preloads]\nbig = ["json", "re"]\nsmall = ["json"]')).engine().warm
    assert [(each.name, each.imports) for each in warm.preloads] == [
        ("bare", ()),
        ("small", ("json",)),
        ("big", ("json", "re")),
    ]
    assert load().engine().warm.preloads == WarmConfig().preloads
    assert load(toml(tmp_path, "[warm]\nenabled = false")).engine().warm.enabled is False


def test_a_language_of_the_operators_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limits are the general ones but for those it names. The variable of that name is set-up's."""
    monkeypatch.setenv("FUMEHOOD_RUNTIMES", "/var/lib/elsewhere")
    text = '[[runtimes]]\nname = "perl"\ncommand = ["/usr/bin/perl"]\nsource_name = "main.pl"\n'
    (runtime,) = load(toml(tmp_path, text + "limits = { cpus = 2 }")).engine().runtimes
    assert (runtime.name, runtime.command, runtime.limits) == ("perl", ("/usr/bin/perl",), Limits(cpus=2))
    assert load().runtimes == ()
