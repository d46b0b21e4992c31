"""What a call passes before it reaches an endpoint: host, origin, key, content type, size, request id."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping

import pytest
from pydantic import SecretStr
from serving import Live, serving

from fumehood.settings import Settings

CODE = json.dumps({"code": "1"}).encode()
JSON = {"Content-Type": "application/json"}


def raw(live: Live, head: str, body: bytes = b"") -> tuple[int, Mapping[str, str], bytes]:
    """Send a call byte by byte as given, and give status, headers and body."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=10) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        with answer:
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "127.8.8.8", "[::1]", "[::1]:8080", "localhost."],
)
def test_loopback_names_are_ours(live: Live, host: str) -> None:
    """With any port: it may have been forwarded."""
    assert raw(live, f"GET /healthz HTTP/1.1\nHost: {host}")[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "10.0.0.1",
        "127.0.0.1.nip.io",
        "127.0.0.1@evil.example",
        "[::ffff:10.0.0.1]",
        "",
        "localhost:8080:8080",
        "0.0.0.0",  # noqa: S104 - a name that some systems take for loopback
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/capabilities", "/nowhere"])
def test_a_foreign_host_is_421(live: Live, path: str, host: str) -> None:
    """A page that points a name of its own at this address sends that name, whatever it asks for."""
    status, _, body = raw(live, f"GET {path} HTTP/1.1\nHost: {host}")
    assert (status, json.loads(body)["type"]) == (421, "urn:fumehood:problem:foreign-host")


def test_a_call_without_a_host_is_421(live: Live) -> None:
    """HTTP/1.0 may leave it out; then nothing says that the call was meant for us."""
    assert raw(live, "GET /healthz HTTP/1.0")[0] == 421


def test_two_hosts_are_not_served(live: Live) -> None:
    """Which of them was meant cannot be known."""
    assert raw(live, "GET /healthz HTTP/1.1\nHost: localhost\nHost: evil.example")[0] in {400, 421}


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:{port}", 200),
        ("http://127.0.0.1", 403),
        ("http://127.0.0.1:1", 403),
        ("http://localhost:{port}", 403),
        ("http://evil.example", 403),
        ("https://127.0.0.1.evil.example:{port}", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
        ("chrome-extension://abc", 403),
    ],
)
def test_a_foreign_origin_is_403(live: Live, origin: str, status: int) -> None:
    """A page of this very address may call; any other, ``null`` included, may not."""
    answer = live.client.post("/v1/execute", content=CODE, headers={**JSON, "Origin": origin.format(port=live.port)})
    assert answer.status_code == status
    if status != 200:
        assert live.problem(answer)[:2] == (403, "foreign-origin")
        assert live.box.jobs == []


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("?", 403)]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_browser_that_calls_across_sites_is_403(live: Live, method: str, site: str, status: int) -> None:
    """Also for reading: a page must not probe what runs on its reader's machine."""
    path = "/v1/execute" if method == "POST" else "/readyz"
    content = CODE if method == "POST" else None
    answer = live.client.request(method, path, content=content, headers={**JSON, "Sec-Fetch-Site": site})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=UTF-8", 200),
        ('application/json;charset="utf-8"', 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json; charset=latin-1", 415),
        ("application/jsonp", 415),
        ("text/plain; application/json", 415),
        ("", 415),
    ],
)
@pytest.mark.parametrize("path", ["/v1/execute", "/v1/analyze"])
def test_a_body_that_is_not_json_is_415(live: Live, path: str, header: str, status: int) -> None:
    """A form cannot send ``application/json``, so no form can run code."""
    answer = live.client.post(path, content=CODE, headers={"Content-Type": header})
    assert answer.status_code == status


def test_a_body_without_a_type_is_415(live: Live) -> None:
    """With a length, in chunks, or no body at all."""
    for head in ("Content-Length: 13", "Transfer-Encoding: chunked", "Content-Length: 0", "Accept: */*"):
        body = CODE if head.endswith("13") else b"0\r\n\r\n" if "chunked" in head else b""
        assert raw(live, f"POST /v1/execute HTTP/1.1\nHost: localhost\n{head}", body)[0] == 415


def test_a_compressed_body_is_415(live: Live) -> None:
    """It could be small here and huge unpacked."""
    answer = live.client.post("/v1/execute", content=CODE, headers={**JSON, "Content-Encoding": "gzip"})
    assert live.problem(answer)[:2] == (415, "unsupported-media-type")


def test_a_body_over_the_limit_is_413(live: Live) -> None:
    """The limit is told. One byte less is read."""
    limit = 1 << 20
    fits = b'{"code": "1"}'.ljust(limit)
    assert live.client.post("/v1/execute", content=fits, headers=JSON).status_code == 200
    answer = live.client.post("/v1/execute", content=fits + b" ", headers=JSON)
    assert live.problem(answer)[:2] == (413, "body-too-large")
    assert answer.json()["limit_bytes"] == limit


def test_a_body_without_a_length_is_413_while_it_streams(live: Live) -> None:
    """The limit holds before the end is known: the answer comes while the caller still sends."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=10) as connection:
        connection.sendall(
            b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"%x\r\n%s\r\n" % (1 << 16, b" " * (1 << 16))
        for _ in range(17):
            connection.sendall(chunk)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413 ")


def test_a_body_far_over_the_limit_is_answered_and_the_connection_goes_on(live: Live) -> None:
    """A plain client that sends all of its body first reads a 413, not a reset."""
    answer = live.client.post("/v1/execute", content=b" " * (20 << 20), headers=JSON)
    assert answer.status_code == 413
    assert live.client.get("/healthz").status_code == 200


def test_the_request_id_is_given_back(live: Live) -> None:
    """On every answer, errors included; one that is harmful or missing is replaced."""
    for path, status in (("/healthz", 200), ("/nowhere", 404)):
        answer = live.client.get(path, headers={"X-Request-ID": "abc.1-2_3:4"})
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, "abc.1-2_3:4")
    for bad in ("a b", "x" * 129, "<script>", ""):
        given = live.client.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"]
        assert given != bad
        assert len(given) == 32
    assert raw(live, "GET /healthz HTTP/1.1\nHost: evil.example\nX-Request-ID: mine")[1]["x-request-id"] == "mine"


def test_answers_are_neither_cached_nor_guessed(live: Live) -> None:
    """What a guest printed stays JSON in a browser, and no cache keeps it."""
    headers = live.client.post("/v1/execute", content=CODE, headers=JSON).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


def test_unknown_paths_and_methods_are_problems(live: Live) -> None:
    """404 and 405 look like every other error; 405 says what is allowed."""
    assert live.problem(live.client.get("/v1/nothing"))[:2] == (404, "not-found")
    answer = live.client.get("/v1/execute")
    assert live.problem(answer)[:2] == (405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"
    assert live.client.get("/docs").status_code == 404


# --- With a key ------------------------------------------------------------------------------------------------------

KEYS = (SecretStr("first-key"), SecretStr("second-key"))


@pytest.fixture(scope="module")
def locked() -> Iterator[Live]:
    """A service that needs a key and answers to one more name."""
    with serving(Settings(port=0, api_key=KEYS, allowed_hosts=("box.example",))) as running:
        yield running


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer first-key"},
        {"Authorization": "bearer second-key"},
        {"X-API-Key": "first-key"},
        {"X-API-Key": "second-key"},
    ],
)
def test_a_valid_key_opens(locked: Live, headers: dict[str, str]) -> None:
    """In either header, any of the configured keys."""
    assert locked.client.post("/v1/execute", content=CODE, headers={**JSON, **headers}).status_code == 200
    assert locked.client.get("/openapi.json", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic first-key"},
        {"Authorization": "first-key"},
        {"X-API-Key": ""},
        {"X-API-Key": "first-key "[:-2]},
        {"X-API-Key": "FIRST-KEY"},
        {"Cookie": "X-API-Key=first-key"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/execute", "/v1/analyze", "/v1/executions/x/cancel"])
def test_without_a_valid_key_it_is_401(locked: Live, path: str, headers: dict[str, str]) -> None:
    """The answer says which kind of key is wanted, and nothing is run."""
    locked.box.reset()
    answer = locked.client.post(path, content=CODE, headers={**JSON, **headers})
    assert locked.problem(answer)[:2] == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert locked.box.jobs == []


@pytest.mark.parametrize("path", ["/v1/capabilities", "/openapi.json", "/nowhere", "/healthz/", "//healthz"])
def test_reading_needs_the_key_too(locked: Live, path: str) -> None:
    """Everything but the two health endpoints does, what is not there included."""
    assert locked.client.get(path).status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_key(locked: Live, path: str) -> None:
    """An orchestrator's probes carry none."""
    assert locked.client.get(path).status_code == 200


def test_a_key_does_not_excuse_a_foreign_host_or_origin(locked: Live) -> None:
    """The browser's walls stand with a key as without."""
    key = {"X-API-Key": "first-key"}
    assert locked.client.get("/v1/capabilities", headers={**key, "Host": "evil.example"}).status_code == 421
    assert locked.client.get("/v1/capabilities", headers={**key, "Host": "box.example:80"}).status_code == 200
    assert locked.client.get("/v1/capabilities", headers={**key, "Origin": "http://evil.example"}).status_code == 403


def test_an_origin_may_be_that_of_a_proxy_with_tls(locked: Live) -> None:
    """The page came over https from the same name, default ports being the same as none."""
    headers = {"X-API-Key": "first-key", "Host": "box.example", "Origin": "https://box.example:443"}
    assert locked.client.get("/v1/capabilities", headers=headers).status_code == 200


def test_one_key_cannot_cancel_the_runs_of_another(locked: Live) -> None:
    """Ids belong to their caller: to anyone else they are unknown."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    locked.box.reset()
    first, second = ({**JSON, "X-API-Key": key.get_secret_value()} for key in KEYS)
    body = json.dumps({"code": "wait", "id": "same"}).encode()
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(locked.client.post, "/v1/execute", content=body, headers=first)
        assert locked.box.waiting.acquire(timeout=5)
        assert locked.client.post("/v1/executions/same/cancel", headers=second).status_code == 404
        assert locked.client.post("/v1/executions/same/cancel", headers=first).status_code == 200
        assert run.result().json()["status"] == "cancelled"


def test_bound_to_the_network_an_address_is_no_foreign_host() -> None:
    """An address cannot be rebound, and health checks call by address; names must still be allowed."""
    with serving(Settings(host="0.0.0.0", port=0, api_key=KEYS)) as open_:  # noqa: S104 - what is being tested
        for host, status in (("10.1.2.3:8080", 200), ("[fd00::1]", 200), ("evil.example", 421), ("localhost", 200)):
            assert raw(open_, f"GET /healthz HTTP/1.1\nHost: {host}")[0] == status
    with serving(Settings(host="0.0.0.0", port=0, api_key=KEYS, allowed_hosts=("*",))) as open_:  # noqa: S104
        assert raw(open_, "GET /healthz HTTP/1.1\nHost: any.example")[0] == 200
