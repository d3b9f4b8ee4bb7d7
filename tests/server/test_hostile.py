"""Forty texts that try to break out, wherever a model of any workflow can write: what the server hands out is
either plain data or a page in which they are only text, under a policy that lets nothing run or load."""

from __future__ import annotations

import httpx2
import pytest

from podium.workflows import SHIPPED
from tests.payloads import RAN
from tests.server.programs.hostile import BEACON, TEXTS
from tests.server.serving import PROGRAMS, done, events_of, started, until
from tests.workflows.browser import Markup

MODEL = f"python:{PROGRAMS / 'hostile.py'}:answer"
CORPUS = PROGRAMS.parents[1] / "workflows" / "research" / "example"
POLICY = ("sandbox;", "default-src 'none'")
LIVE = frozenset({
    "script", "iframe", "object", "embed", "link", "base", "form", "video", "audio", "source", "img", "image",
    "use", "foreignobject",
})  # fmt: skip
"""Elements that run or load something."""
LOADING = frozenset(
    {
        "src",
        "srcset",
        "action",
        "formaction",
        "srcdoc",
        "poster",
        "background",
        "data",
        "ping",
    }
)
"""Attributes that make a browser ask for something."""


def check_page(html: str) -> None:
    page = Markup()
    page.feed(html)
    assert not page.tags & LIVE, page.tags & LIVE
    assert [name for name, _ in page.attributes if name.startswith("on") or name in LOADING] == []
    addresses = [value for name, value in page.attributes if name in ("href", "xlink:href")]
    assert [address for address in addresses if not address.startswith(("http://", "https://", "#"))] == []
    styles = [value for name, value in page.attributes if name == "style"]
    assert [style for style in styles if "url" in style.lower() or "@import" in style.lower()] == []
    refreshed = [value for name, value in page.attributes if name == "http-equiv"]
    assert [target for target in refreshed if target.lower() == "refresh"] == []


def check_harmless(answer: httpx2.Response) -> None:
    """Headers under which a browser runs nothing, whatever the bytes are."""
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert all(part in policy for part in POLICY), policy
    assert "script-src" not in policy


@pytest.mark.parametrize("workflow", list(SHIPPED))
def test_whatever_a_model_writes_is_text_in_every_answer(client: httpx2.Client, workflow: str) -> None:
    options = {"corpus": str(CORPUS)} if workflow == "research" else {}
    request = "Write slugify(text)" if workflow == "build" else f"Plan a garden {TEXTS[0]}"
    run_id = started(client, workflow, request, model=MODEL, budget={"calls": 150}, options=options)
    base = f"/api/runs/{run_id}"
    if workflow == "chat":
        until(client, run_id, "waiting")
        client.post(f"{base}/answer", json={"answer": "/end"})
    calls = done(client, run_id)["usage"]["calls"]
    log = str(events_of(client, run_id))
    held = [text for text in TEXTS if repr(text)[1:-1].strip() in log]
    assert RAN in log
    assert len(held) > min(10, calls), "the texts went everywhere"
    report = client.get(f"{base}/report")
    check_harmless(report)
    check_page(report.text)
    for path in ("report?format=md", "report?format=json"):
        check_harmless(client.get(f"{base}/{path}"))
    for made in client.get(f"{base}/artifacts").json()["artifacts"]:
        for inline in (True, False):
            answer = client.get(f"{base}/artifacts/{made['id']}", params={"inline": inline})
            check_harmless(answer)
            assert answer.headers["content-type"].split(";")[0] != "image/svg+xml"
    for path in ("", "/steps", "/events?limit=5000", "/artifacts", "/trace?content=true"):
        assert client.get(f"{base}{path}").headers["content-type"] == "application/json"


def test_texts_in_names_kinds_and_questions_are_data_or_refused(client: httpx2.Client) -> None:
    run_id = started(client, f"{PROGRAMS / 'hostile.py'}:spoils", "x")
    done(client, run_id)
    made = client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"]
    assert len(made) == len(TEXTS)
    for artifact in made:
        answer = client.get(f"/api/runs/{run_id}/artifacts/{artifact['id']}", params={"inline": True})
        check_harmless(answer)
        assert answer.headers["content-type"] == "application/octet-stream"
        named = answer.headers["content-disposition"]
        assert named.startswith("attachment; filename=")
        assert not any(mark in named for mark in "<>\r\n/")
        assert answer.content.decode() in TEXTS
    report = client.get(f"/api/runs/{run_id}/report")
    check_harmless(report)
    check_page(report.text)
    assert BEACON in report.text, "they are there, as text"


def test_the_check_would_show() -> None:
    seen = 0
    for text in TEXTS:
        try:
            check_page(f"<p>{text}</p><a href='{text}'>x</a>")
        except AssertionError:
            seen += 1
    assert seen >= 30
