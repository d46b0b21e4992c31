"""What an operator decides, from the environment and a TOML file, as one frozen value.

The environment wins over the file, and command line options win over both. This is the only module that reads
``os.environ``; :mod:`fumehood.terminal` alone asks it how to print. Every setting is described in ``docs/settings.md``.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic_settings
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from fumehood import operating
from fumehood.policies import AnalysisPolicy, Capability, Gap, Selector
from fumehood.telemetry.settings import Log, MetricsSetting, TracingSetting
from sandbox import Config, Limits, Preload, RuntimeConfig, WarmConfig

ENV_PREFIX = "FUMEHOOD_"
CONFIG_VARIABLE = "FUMEHOOD_CONFIG"
_FOR_OTHERS = re.compile(r"FUMEHOOD_(CONFIG|MUST_ENFORCE|SERVICE_(HOST|PORT).*|PORT_\d+_(TCP|UDP).*)")
"""Ours and no setting: read elsewhere, or laid into every pod by a Kubernetes Service of that name."""

_ENGINE = Config()
_LIMITS = Limits()
_BARE = "bare"
_NAME = r"^[a-z][a-z0-9_-]{0,31}$"
_MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
_LEAST_DEPTH = 2
_MOST_DEPTH = 32


class SettingsError(Exception):
    """The settings cannot be used. The text has one line for each wrong one, starting with its name."""


def _split(value: object) -> object:
    """Let an environment variable hold a list: ``a,b``, or ``["a", "b"]`` as in the file; an empty one is ``[]``."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):  # as the same list is written in the file
        return json.loads(value)
    return value.replace(",", " ").split()


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Secrets = Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split)]


class Ceilings(BaseModel):
    """The most a request may ask for. ``cpus`` 0 stands for as many as the host has."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    wall_seconds: float = Field(_ENGINE.ceilings.wall_seconds, gt=0)
    cpu_seconds: float = Field(_ENGINE.ceilings.cpu_seconds, gt=0)
    memory_bytes: int = Field(_ENGINE.ceilings.memory_bytes, ge=16 << 20)
    processes: int = Field(_ENGINE.ceilings.processes, ge=1)
    output_bytes: int = Field(_ENGINE.ceilings.output_bytes, ge=0)
    disk_bytes: int = Field(_ENGINE.ceilings.disk_bytes, ge=0)
    inodes: int = Field(_ENGINE.ceilings.inodes, ge=0)
    open_files: int = Field(_ENGINE.ceilings.open_files, ge=16)
    cpus: float = Field(_ENGINE.ceilings.cpus, ge=0)


class DefaultLimits(BaseModel):
    """What a run of one language has that asks for nothing; what is left out is as for every language."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    wall_seconds: float = Field(_LIMITS.wall_seconds, gt=0)
    cpu_seconds: float = Field(_LIMITS.cpu_seconds, gt=0)
    memory_bytes: int = Field(_LIMITS.memory_bytes, ge=16 << 20)
    processes: int = Field(_LIMITS.processes, ge=1)
    output_bytes: int = Field(_LIMITS.output_bytes, ge=0)
    disk_bytes: int = Field(_LIMITS.disk_bytes, ge=4096)
    inodes: int = Field(_LIMITS.inodes, ge=1)
    open_files: int = Field(_LIMITS.open_files, ge=16)
    cpus: float = Field(_LIMITS.cpus, gt=0)


class RuntimeSetting(BaseModel):
    """One ``[[runtimes]]``: a language that an operator adds, or other defaults for one that ships."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    source_name: str = ""
    read_only: tuple[Path, ...] = ()
    version: str = ""
    version_command: tuple[str, ...] = ()
    limits: DefaultLimits = DefaultLimits()

    def engine(self) -> RuntimeConfig:
        """The same in the engine's words."""
        return RuntimeConfig(**{**dict(self), "limits": Limits(**self.limits.model_dump())})


class Warm(BaseModel):
    """The fork servers. ``depth`` 0 stands for twice the concurrency, within bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    enabled: bool = _ENGINE.warm.enabled
    depth: int = Field(0, ge=0, le=256)
    runs_per_server: int = Field(_ENGINE.warm.runs_per_server, ge=1)
    seconds_per_server: float = Field(_ENGINE.warm.seconds_per_server, gt=0)
    idle_seconds: float = Field(_ENGINE.warm.idle_seconds, gt=0)
    memory_bytes: int = Field(_ENGINE.warm.memory_bytes, ge=0)
    preloads: dict[Annotated[str, Field(pattern=_NAME)], tuple[Annotated[str, Field(pattern=_MODULE)], ...]] = {
        each.name: each.imports for each in _ENGINE.warm.preloads
    }

    def engine(self, concurrency: int) -> WarmConfig:
        """The same in the engine's words: the smallest server first, and always one that has imported nothing."""
        preloads = sorted((Preload(*item) for item in self.preloads.items()), key=lambda each: len(each.imports))
        if not preloads or preloads[0].imports:
            preloads.insert(0, Preload(_BARE, ()))
        return WarmConfig(
            enabled=self.enabled,
            preloads=tuple(preloads),
            depth=self.depth or min(max(2 * concurrency, _LEAST_DEPTH), _MOST_DEPTH),
            runs_per_server=self.runs_per_server,
            seconds_per_server=self.seconds_per_server,
            idle_seconds=self.idle_seconds,
            memory_bytes=self.memory_bytes,
        )


class AnalysisSetting(AnalysisPolicy):
    """The least that goes before every run; what requests and keys ask for comes on top."""

    block: Annotated[tuple[Selector, ...], NoDecode, BeforeValidator(_split)] = ()
    allow: Annotated[tuple[Selector, ...], NoDecode, BeforeValidator(_split)] = ()
    deny_capabilities: Annotated[tuple[Capability, ...], NoDecode, BeforeValidator(_split)] = ()
    accept: Annotated[tuple[Gap, ...], NoDecode, BeforeValidator(_split)] = ()


class _Environment(EnvSettingsSource):
    """Variables, but none for what only the file can say: ``FUMEHOOD_RUNTIMES`` is where set-up builds runtimes."""

    def prepare_field_value(self, field_name: str, field: FieldInfo, value: Any, value_is_complex: bool) -> Any:  # noqa: ANN401, FBT001 - the method it overrides
        if field_name == "runtimes":
            return None
        return super().prepare_field_value(field_name, field, value, value_is_complex)


class Settings(BaseSettings):
    """Everything that can be set. Build it with :func:`load`; a plain ``Settings()`` reads the environment alone."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65_535)
    api_key: Secrets = ()
    require_key: bool = False
    key_refresh_seconds: float = Field(2.0, gt=0)
    allowed_hosts: Names = ()
    concurrency: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, le=_ENGINE.slots)
    queue: int = Field(512, ge=0)
    reserve_seconds: float = Field(10.0, ge=0)
    body_bytes: int = Field(16 << 20, ge=1024)
    batch_runs: int = Field(256, ge=1)
    batch_held_bytes: int = Field(64 << 20, ge=1)
    shutdown_grace_seconds: float = Field(10.0, ge=0)
    clients: operating.Clients = operating.Clients()
    data_dir: Path | None = None
    database: SecretStr | None = None
    audit: operating.Audit = operating.Audit()
    idempotency: operating.Idempotency = operating.Idempotency()
    analysis: AnalysisSetting = AnalysisSetting()
    analysis_enclosed: bool = True
    analysis_workers: int = Field(1, ge=1)
    analysis_seconds: float = Field(10.0, gt=0)
    ceilings: Ceilings = Ceilings()
    files_in: int = Field(_ENGINE.files_in, ge=0)
    files_in_bytes: int = Field(_ENGINE.files_in_bytes, ge=0)
    files_out: int = Field(_ENGINE.files_out, ge=0)
    files_out_bytes: int = Field(_ENGINE.files_out_bytes, ge=0)
    flood_bytes: int = Field(_ENGINE.flood_bytes, ge=1)
    may_lack: Names = ()
    state_dir: Path | None = None
    runtimes_dir: Path | None = None
    bwrap: Path | None = None
    cgroup_parent: str | None = None
    uid_base: int = Field(_ENGINE.uid_base, ge=100_000, le=2**32 - 2 - _ENGINE.slots)
    warm: Warm = Warm()
    log: Log = Log()
    metrics: MetricsSetting = MetricsSetting()
    tracing: TracingSetting = TracingSetting()
    runtimes: tuple[RuntimeSetting, ...] = ()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - ours stands in
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - no .env file is read
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - nor a folder of secrets
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options, then the environment."""
        return init_settings, _Environment(settings_cls)

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        wrong = sorted(set(self.may_lack) - {"cgroup"})
        if wrong:
            msg = f"may_lack: only 'cgroup' may be missing, not {', '.join(map(repr, wrong))}"
            raise ValueError(msg)
        if not self.needs_key and not is_loopback(self.host):
            msg = (
                f"host: {self.host} can be reached from other machines, and no key is needed; set {ENV_PREFIX}API_KEY, "
                f"or {ENV_PREFIX}REQUIRE_KEY=true and make keys with 'fumehood keys create', or bind to 127.0.0.1"
            )
            raise ValueError(msg)
        if not self.needs_key and "*" in self.allowed_hosts:
            msg = "allowed_hosts: '*' needs an api_key, or any web page could run code here by DNS rebinding"
            raise ValueError(msg)
        wrong_database = operating.wrong_url(self.database.get_secret_value()) if self.database else None
        if wrong_database:
            msg = f"database: {wrong_database}"
            raise ValueError(msg)
        if not all(key.get_secret_value().isascii() and key.get_secret_value().isprintable() for key in self.api_key):
            msg = "api_key: only printable ASCII characters can be sent in a header"
            raise ValueError(msg)
        return self

    @property
    def needs_key(self) -> bool:
        """Whether the settings alone say that a key is needed; keys in the database do so too."""
        return self.require_key or bool(self.api_key)

    @property
    def data_folder(self) -> Path:
        """Where records are kept on this machine."""
        return operating.data_folder(self.data_dir)

    @property
    def database_url(self) -> str:
        """The database of keys and records. It may hold a password."""
        return operating.database_url(self.database.get_secret_value() if self.database else None, self.data_folder)

    def engine(self) -> Config:
        """The part of the settings that is the engine's."""
        return Config(
            warm=self.warm.engine(self.concurrency),
            runtimes=tuple(each.engine() for each in self.runtimes),
            ceilings=Limits(**self.ceilings.model_dump()),
            files_in=self.files_in,
            files_in_bytes=self.files_in_bytes,
            files_out=self.files_out,
            files_out_bytes=self.files_out_bytes,
            flood_bytes=self.flood_bytes,
            may_lack=frozenset(self.may_lack),
            state_dir=self.state_dir,
            runtimes_dir=self.runtimes_dir,
            bwrap=self.bwrap,
            cgroup_parent=self.cgroup_parent,
            uid_base=self.uid_base,
        )


def is_loopback(host: str) -> bool:
    """Whether a bind address or host name means this machine alone, without asking a resolver."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load(config: Path | None = None, **options: object) -> Settings:
    """Read the settings: ``options`` that are not None, then the environment, then the TOML file, then defaults.

    Args:
        config: the TOML file; None means the one that ``FUMEHOOD_CONFIG`` names, if any.
        options: settings by name, as given on a command line.

    Raises:
        SettingsError: a file that cannot be read, an unknown name, or a wrong value; the text names each.
    """
    if config is None and os.environ.get(CONFIG_VARIABLE):
        config = Path(os.environ[CONFIG_VARIABLE])
    table = _read_toml(config) if config is not None else {}

    class _Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            *sources: PydanticBaseSettingsSource,
            **named: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            above = super().settings_customise_sources(settings_cls, *sources, **named)
            return (*above, InitSettingsSource(settings_cls, init_kwargs=table))

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        return _Layered(**given)
    except ValidationError as wrong:
        raise SettingsError("\n".join(_line(error["loc"], error["msg"]) for error in wrong.errors())) from None
    except pydantic_settings.SettingsError as wrong:
        raise SettingsError(str(wrong)) from None


def unknown_variables() -> list[str]:
    """Variables with our prefix that name no setting, so that nobody reads them: mostly misspelt ones. No values."""
    given = {name.upper(): name for name in os.environ if name.upper().startswith(ENV_PREFIX)}
    return sorted(
        given[name]
        for name in given
        # Below a table every name is checked when the settings are made.
        if name.removeprefix(ENV_PREFIX).partition("__")[0].lower() not in Settings.model_fields
        and not _FOR_OTHERS.fullmatch(name)
    )


def _line(where: tuple[int | str, ...], message: str) -> str:
    """One wrong setting in one line, its value left out because it may be a secret."""
    message = message.removeprefix("Value error, ")
    return f"{'.'.join(map(str, where))}: {message}" if where else message


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
