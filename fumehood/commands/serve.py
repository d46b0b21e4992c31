"""``fumehood serve``: the HTTP face on one address, in one process, until it is told to stop."""

from __future__ import annotations

import argparse
import logging
import resource
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from fumehood import __version__, operating, settings
from fumehood.cli import USAGE
from fumehood.reload import Reload
from fumehood.settings import Settings
from sandbox import ForkServerState, Sandbox, SandboxError

_log = logging.getLogger("fumehood.serve")

_FAILED = 1
_LOOK_SECONDS = 0.1
_MOST_FILES = 1 << 16


def main(args: argparse.Namespace) -> int:
    """Serve. 0 after a stop by signal, 1 if the engine or the address cannot be had, 2 for wrong settings."""
    try:
        chosen = settings.load(args.config, host=args.host, port=args.port)
    except settings.SettingsError as wrong:
        print(f"fumehood: {wrong}", file=sys.stderr)
        return USAGE
    _start_logging(chosen)
    # Before the engine holds anything: from here on a signal ends this function by way of its cleanup.
    signal.signal(signal.SIGTERM, _stop)
    _allow_many_connections()
    try:
        listener = _bound(chosen)
    except OSError as error:
        print(f"fumehood: {chosen.host} port {chosen.port}: {error.strerror}", file=sys.stderr)
        return _FAILED
    try:
        with listener, Sandbox(chosen.engine()) as box:
            _heed_hangups(args, chosen, box)
            return _serve(chosen, box, listener)
    except SandboxError as error:
        print(f"fumehood: {error}\nfumehood: 'fumehood doctor' says more", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return 0


def _start_logging(chosen: Settings) -> None:
    """Write every line as the operator chose, from here on; and name the variables that nobody reads."""
    from fumehood.telemetry import logs

    logs.configure(chosen.log)
    unknown = settings.unknown_variables()
    if unknown:
        _log.warning("variables of the environment that are no settings", extra={"variables": unknown})


def _serve(chosen: Settings, box: Sandbox, listener: socket.socket) -> int:
    # The framework is loaded only now: what stands above must fail fast and be readable.
    from fumehood import readers
    from fumehood.app import create_app
    from fumehood.server import Server
    from fumehood.store.database import Database, DatabaseError
    from sandbox import selfcheck

    # One worker for each thread that may ask, so that none waits for another's; they are started when first needed.
    size = chosen.concurrency + chosen.analysis_workers
    with readers.pool(box, size, chosen.analysis_seconds, enclosed=chosen.analysis_enclosed) as analyser:
        try:
            database = Database.open(chosen.database_url, chosen.data_folder)
            app = create_app(chosen, box=box, analyser=analyser, probe=lambda: selfcheck.ready(box), database=database)
        except (DatabaseError, OSError) as error:
            print(f"fumehood: database: {error}", file=sys.stderr)
            return _FAILED
        stopping = threading.Event()

        def announce(address: str) -> None:
            print(greeting(address, chosen, box, locked=app.state.holder.ring.locked), flush=True)
            _log.info("serving", extra={"version": __version__, "address": address, "layers": list(box.layers)})
            if box.warmth:
                threading.Thread(target=_tell_warmth, args=(box, stopping), name="warmth", daemon=True).start()

        server = Server(app, chosen, announce)
        try:
            server.run([listener])
        finally:
            stopping.set()
            # Also after a second signal, which makes the server skip the application's own end.
            app.state.executions.close()
            app.state.audit.close()
            database.close()
    return 0 if server.started else _FAILED


def _tell_warmth(box: Sandbox, stopping: threading.Event) -> None:
    """Log what became of the fork servers, once each has come up or failed to."""
    while not all(server["settled"] for server in box.warmth):
        if stopping.wait(_LOOK_SECONDS):
            return
    level = logging.INFO if all(server["up"] for server in box.warmth) else logging.WARNING
    _log.log(level, "%s", warmth(box.warmth))


def warmth(servers: Sequence[ForkServerState]) -> str:
    """Say how runs start, in one sentence."""
    if not servers:
        return "Runs are cold: warm.enabled is false."
    up = [server["name"] for server in servers if server["up"]]
    down = [f"{server['name']} ({server['reason']})" for server in servers if not server["up"]]
    if not all(server["settled"] for server in servers):
        return "Fork servers are coming up; a run is cold until one of them is there. The log will say what came of it."
    if not up:
        return f"Every run is cold, as no fork server came up: {', '.join(down)}"
    return f"Runs are warm, by the fork servers {', '.join(up)}." + (f" Not up: {', '.join(down)}" if down else "")


def _bound(chosen: Settings) -> socket.socket:
    """Take the address before anything else is made, without listening yet. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        chosen.host.strip("[]"), chosen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener


def greeting(address: str, chosen: Settings, box: Sandbox, *, locked: bool) -> str:
    """What start-up says: the address, who is served, what holds, and a line to try."""
    key = ' -H "X-API-Key: $FUMEHOOD_API_KEY"' if locked else ""
    lines = [
        f"Fumehood {__version__} serves {address}",
        "An API key is needed."
        if locked
        else "No API key is configured: only callers on this machine are served, and all of them.",
        f"Every run has these layers: {' '.join(box.layers)}",
    ]
    if box.lacking:
        lines.append(f"Accepted as missing (may_lack): {' '.join(box.lacking)}")
    lines.append(f"Keys and records are in {operating.shown_url(chosen.database_url)}")
    lines.append(warmth(box.warmth))
    lines.append(
        f"Try: curl -s {address}/v1/execute{key} -H 'Content-Type: application/json' -d '{{\"code\": \"print(40+2)\"}}'"
    )
    return "\n".join(lines)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # asking twice must not cut the cleanup short
    raise SystemExit(0)


def _heed_hangups(args: argparse.Namespace, chosen: Settings, box: Sandbox) -> None:
    """Read the settings again on SIGHUP; but at a terminal it means that the terminal is gone, and ends us."""
    if sys.stdin is not None and sys.stdin.isatty():
        return
    again = Reload(chosen, lambda: settings.load(args.config, host=args.host, port=args.port), box.preload)
    signal.signal(signal.SIGHUP, lambda _signal, _frame: again.ask())


def _allow_many_connections() -> None:
    """A waiting call holds a connection, and the usual soft limit is near what the line may hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
