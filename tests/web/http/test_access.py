import hmac
import re
from contextlib import suppress
from html import escape, unescape

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from web.local_server import serving
from web.monitor_files import monitor_files

from aomg.monitor.config.secret import Secret
from aomg.web.http import access as access_module
from aomg.web.http import handlers
from aomg.web.http.access import COOKIE, Access, AccessError, cookie_of
from aomg.web.http.guard import HEADERS

TOKEN = "correct-horse-battery-staple"
OTHER = "incorrect-horse-battery-stap"


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("made"), keys=3, windows=3)


@pytest.fixture(scope="module")
def closed(monitor):
    """A server that needs a token, though it listens on loopback only."""
    with serving(monitor.file, token=TOKEN) as served:
        yield served


@pytest.fixture(scope="module")
def opened(monitor):
    with serving(monitor.file, allowed=["pages.example.org"]) as served:
        yield served


def test_another_address_than_loopback_needs_a_token():
    for host in ("0.0.0.0", "::", "192.0.2.7", "telemetry.example.org"):
        with pytest.raises(AccessError, match="--token-file"):
            Access(host)
        Access(host, Secret(TOKEN))
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        Access(host)


@pytest.mark.parametrize(
    "token", ["", "hunter2", "x" * 15, "with spaces in it, long", "tabs\tare-no-good-either", "ümlaut" * 4]
)
def test_a_token_that_is_short_or_no_header_can_carry_is_refused_without_being_shown(token):
    with pytest.raises(AccessError) as caught:
        Access("127.0.0.1", Secret(token))
    assert not token or token not in str(caught.value)


def test_nothing_is_answered_without_the_token(closed):
    for path in (
        "/",
        "/key",
        "/api/status",
        "/api/events",
        "/api/openapi.json",
        "/metrics",
        "/static/plotly.js",
        "/no",
    ):
        answer = closed.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"
        assert set(answer.json()) == {"error", "what_to_do"}


def test_a_browser_without_the_token_is_sent_to_log_in(closed):
    answer = closed.get("/", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    page = closed.get("/login", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert 'type="password"' in page.text
    assert "<script" not in page.text


@pytest.mark.parametrize("wanted", ["/alerts?state=firing", "/key?query=a&key.podset=%22%3E%3Cb%3E", "/health"])
def test_who_logs_in_gets_what_was_asked_for(closed, wanted):
    answer = closed.get(wanted, headers={"Accept": "text/html"})
    assert answer.headers["location"].startswith("/login?next=%2F")
    page = closed.get(answer.headers["location"], headers={"Accept": "text/html"})
    hidden = unescape(re.search(r'name="next" value="([^"]*)"', page.text)[1])
    assert hidden == wanted
    wrong = closed.client.post("/login", data={"token": OTHER, "next": hidden})
    assert wrong.status_code == 401 and f'value="{escape(wanted)}"' in wrong.text
    opened = closed.client.post("/login", data={"token": TOKEN, "next": hidden})
    cookie = opened.headers["set-cookie"].split(";")[0]
    closed.client.cookies.clear()
    assert (opened.status_code, opened.headers["location"]) == (303, wanted)
    again = closed.get(answer.headers["location"], headers={"Accept": "text/html", "Cookie": cookie})
    assert (again.status_code, again.headers["location"]) == (303, wanted)  # who is known need not log in


def test_the_bearer_token_opens_everything(closed):
    for path in ("/api/status", "/metrics", "/api/keys.csv"):
        assert closed.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert closed.get("/api/status", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        f"Bearer {OTHER}",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer",
        f"Bearer {cookie_of(Secret(TOKEN))}",
    ],
)
def test_anything_else_opens_nothing(closed, given):
    assert closed.get("/api/status", headers={"Authorization": given}).status_code == 401


def test_bytes_that_are_no_text_open_nothing(closed):
    answer = closed.raw(
        b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 401")


def test_the_token_in_an_address_opens_nothing(closed):
    for name in ("token", "access_token", "Authorization"):
        assert closed.get(f"/api/status?{name}={TOKEN}").status_code == 401


def log_in(served, response, **more):
    return served.client.post("/login", data={"token": response}, **more)


def test_logging_in_sets_a_cookie_that_scripts_and_other_sites_cannot_use(closed):
    answer = log_in(closed, TOKEN)
    closed.client.cookies.clear()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age="):
        assert part in cookie
    assert TOKEN not in cookie
    value = cookie.split(";")[0]
    assert closed.get("/api/status", headers={"Cookie": value}).status_code == 200
    assert closed.get("/api/status", headers={"Cookie": f"a=b; {value}; c=d"}).status_code == 200


def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_only(closed):
    answer = log_in(closed, TOKEN, headers={"X-Forwarded-Proto": "https"})
    closed.client.cookies.clear()
    assert "Secure" in answer.headers["set-cookie"]


def test_the_token_itself_is_no_cookie(closed):
    for value in (TOKEN, "", "x", cookie_of(Secret(OTHER))):
        assert closed.get("/api/status", headers={"Cookie": f"{COOKIE}={value}"}).status_code == 401


def test_logging_in_with_anything_else_sets_no_cookie(closed):
    bodies = [
        b"token=" + OTHER.encode(),
        b"",
        b"tok=" + TOKEN.encode(),
        f"token={TOKEN}&token={TOKEN}".encode(),
        b"\xff",
        b"token=" + b"x" * 10_000,
    ]
    for body in bodies:
        answer = closed.client.post("/login", content=body)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert OTHER not in answer.text


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/key/../login",
        "/api/status",
        "/key?a=b\r\nSet-Cookie: x=y",
        "/key?a b",
        "/key?" + "x" * 1_500,
        "javascript:alert(1)",
    ],
)
def test_logging_in_does_not_send_anyone_elsewhere(closed, wanted):
    for answer in (
        closed.client.post("/login", data={"token": TOKEN, "next": wanted}),
        closed.client.post("/login", params={"next": wanted}, data={"token": TOKEN}),
    ):
        closed.client.cookies.clear()
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
    page = closed.get("/login", params={"next": wanted}, headers={"Accept": "text/html"})
    assert 'name="next" value="/"' in page.text


def test_other_methods_cannot_log_in(closed):
    assert closed.client.put("/login", data={"token": TOKEN}).status_code == 405


def test_where_no_token_is_needed_there_is_nothing_to_log_in_to(opened):
    assert opened.get("/login").headers["location"] == "/"
    answer = opened.client.post("/login", data={"token": ""})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared, really = [], hmac.compare_digest

    def compare(one, other):
        compared.append((one, other))
        return really(one, other)

    monkeypatch.setattr(access_module.hmac, "compare_digest", compare)
    guarded = Access("127.0.0.1", Secret(TOKEN))
    assert not guarded.knows(Headers({"authorization": f"Bearer {OTHER}", "cookie": f"{COOKIE}=x"}))
    assert compared == [(OTHER.encode(), TOKEN.encode()), (b"x", cookie_of(Secret(TOKEN)).encode())]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "",
        "127.0.0.1:x",
        "127.0.0.1 evil",
        "user@127.0.0.1",
        "127.0.0.1/x",
        "2130706433",
        "[::1",
    ],
)
def test_a_name_that_was_bent_towards_this_machine_is_not_answered(opened, host):
    for path in ("/", "/api/status", "/metrics", "/static/plotly.js", "/login", "/api/events"):
        answer = opened.raw(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"421", b"400"), (path, answer[:200])
        assert b"queries" not in answer


def test_two_host_headers_are_not_answered(opened):
    answer = opened.raw(
        b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert answer.split()[1] in (b"421", b"400")


def test_a_request_without_a_host_is_not_answered(opened):
    answer = opened.raw(b"GET /api/status HTTP/1.0\r\n\r\n")
    assert answer.split()[1] in (b"421", b"400")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:8765", "localhost.", "Pages.Example.org"]
)
def test_names_of_this_machine_and_allowed_ones_are_answered(opened, host):
    assert opened.get("/api/status", headers={"Host": host}).status_code == 200


def test_a_server_for_all_addresses_is_called_by_any_number_but_by_no_other_name():
    everywhere = Access("0.0.0.0", Secret(TOKEN))
    assert everywhere.may_be_called("192.0.2.7:8765")
    assert everywhere.may_be_called("[2001:db8::1]")
    assert not everywhere.may_be_called("evil.example")
    assert not Access("127.0.0.1").may_be_called("192.0.2.7")


@given(st.text(max_size=60))
def test_no_other_name_is_ever_taken_for_this_machine(host):
    known = Access("127.0.0.1")
    if known.may_be_called(host):
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and host[-1] != "]" else host
        assert name.lower().rstrip(".").strip("[]") in ("localhost", "127.0.0.1", "::1") or host == "::1"


def test_every_answer_carries_the_headers_that_keep_a_browser_safe(opened, closed):
    requested = [
        opened.get("/"),
        opened.get("/api/status"),
        opened.get("/api/keys?limt=1"),
        opened.get("/nothing"),
        opened.get("/static/plotly.js"),
        opened.get("/metrics"),
        opened.get("/api/keys.csv"),
        opened.get("/api/status", headers={"Host": "evil.example"}),
        opened.client.post("/api/status"),
        closed.get("/api/status"),
        closed.get("/login"),
    ]
    with opened.client.stream("GET", "/api/events") as stream:
        requested.append(stream)
    for answer in requested:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "cache-control" in answer.headers
        assert "server" not in answer.headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert "unsafe-eval" not in str(policy)
    for value in policy.values():
        assert not set(value.split()) - {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}


def test_an_address_that_is_too_long_is_refused(opened):
    assert opened.get("/api/keys?search=" + "x" * 64_100).status_code == 414
    assert opened.get("/static/" + "x" * 64_100).status_code == 414


def test_headers_that_are_too_long_are_refused(opened):
    with suppress(httpx.TransportError):  # it may hang up
        assert opened.get("/api/status", headers={"X-Long": "x" * 200_000}).status_code in (400, 431)
    assert opened.get("/api/status").status_code == 200


def test_the_token_is_in_no_output_of_the_server(monitor, monkeypatch, capfd, caplog):
    """Asked rightly and wrongly, and with an error inside: nothing that it prints, or shows of itself, holds it."""

    def fail(*arguments):
        raise RuntimeError("made to fail")

    monkeypatch.setattr(handlers, "keys_answer", fail)
    response = []
    with serving(monitor.file, token=TOKEN) as served:
        for given in (TOKEN, OTHER):
            for path in ("/api/status", "/api/keys", "/nothing"):
                response.append(served.get(path, headers={"Authorization": f"Bearer {given}"}).text)
            response.append(log_in(served, given).text)
            served.client.cookies.clear()
        response.append(repr(vars(served.server)) + repr(vars(served.live)))
    printed = "".join(capfd.readouterr()) + caplog.text
    assert "made to fail" in printed
    assert "the server failed" in response[1]
    assert "made to fail" not in "".join(response)
    for secret in (TOKEN, OTHER, cookie_of(Secret(TOKEN))):
        assert secret not in printed + "".join(response)
