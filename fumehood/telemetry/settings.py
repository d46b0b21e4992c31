"""What an operator decides about metrics, logs and traces: three tables of the settings."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

_TRACES_PATH = "/v1/traces"


class LogFormat(StrEnum):
    """How a line is written: for people, or one JSON object a line."""

    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The least that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class MetricsAccess(StrEnum):
    """Who may read ``/metrics``: whoever has a key, anybody who reaches the address, or nobody."""

    KEY = "key"
    OPEN = "open"
    OFF = "off"


class Log(BaseModel):
    """``[log]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: LogFormat = LogFormat.CONSOLE
    level: LogLevel = LogLevel.INFO
    requests: bool = True


class MetricsSetting(BaseModel):
    """``[metrics]``. ``token`` reads ``/metrics`` and opens nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    access: MetricsAccess = MetricsAccess.KEY
    token: SecretStr | None = None

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: SecretStr | None) -> SecretStr | None:
        text = token.get_secret_value() if token is not None else "x"
        if not (text and text.isascii() and text.isprintable() and " " not in text):
            msg = "only printable ASCII characters without blanks can be sent in a header"
            raise ValueError(msg)
        return token


class TracingSetting(BaseModel):
    """``[tracing]``. Nothing is traced, and nothing of it loaded, without an ``endpoint``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    endpoint: str | None = None
    sample_ratio: float = Field(1.0, ge=0, le=1)

    @field_validator("endpoint")
    @classmethod
    def _complete(cls, endpoint: str | None) -> str | None:
        """The URL that spans are posted to: a bare address gets the path that OTLP has for it."""
        if not endpoint:
            return None
        try:
            parts = urlsplit(endpoint)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if host is None or parts.scheme not in {"http", "https"}:
            msg = "must be a URL such as http://127.0.0.1:4318"
            raise ValueError(msg)
        if parts.username is not None or parts.password is not None:
            msg = "must not hold credentials: put them into OTEL_EXPORTER_OTLP_HEADERS"
            raise ValueError(msg)
        return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}{_TRACES_PATH}"
