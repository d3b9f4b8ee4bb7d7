"""Artifacts and reports: a model may have written them, so a browser must not trust them."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.server.serving import done, flow, served, started


def test_an_artifact_is_saved_under_a_name_that_stays_a_name(client: httpx2.Client) -> None:
    run_id = started(client, flow("makes"), "x")
    done(client, run_id)
    listed = client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"]
    assert [artifact["media_type"] for artifact in listed] == ["text/html", "image/svg+xml", "text/markdown"]
    for made in listed:
        answer = client.get(f"/api/runs/{run_id}/artifacts/{made['id']}")
        assert len(answer.content) == made["bytes"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        for trick in ("..", "/", "\\", "\r", "\n"):
            assert trick not in answer.headers["Content-Disposition"].partition("filename=")[2].split(";")[0]
    svg = client.get(f"/api/runs/{run_id}/artifacts/{listed[1]['id']}", params={"inline": "true"})
    assert svg.headers["Content-Type"] == "application/octet-stream", (
        "a picture that can run a script is no picture"
    )
    assert svg.headers["Content-Disposition"].startswith("attachment")


def test_a_page_is_shown_only_in_a_sandbox(client: httpx2.Client) -> None:
    run_id = started(client, flow("makes"), "x")
    done(client, run_id)
    answer = client.get(f"/api/runs/{run_id}/artifacts/page.html", params={"inline": "true"})
    assert answer.headers["Content-Disposition"].startswith("inline")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "allow-scripts" not in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fetc%2fpasswd", "%00", "a" * 200, "....//"])
def test_an_artifact_that_was_not_made_is_not_there(client: httpx2.Client, name: str) -> None:
    run_id = started(client, flow("makes"), "x")
    done(client, run_id)
    assert client.get(f"/api/runs/{run_id}/artifacts/{name}").status_code == 404


def test_a_report_is_reported_in_each_format(client: httpx2.Client) -> None:
    run_id = started(client, flow("makes"), "<img src=x onerror=alert(1)>")
    done(client, run_id)
    page = client.get(f"/api/runs/{run_id}/report")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].startswith(
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    )
    assert "<script>" not in page.text
    assert "<img src=x" not in page.text
    assert client.get(f"/api/runs/{run_id}/report", params={"format": "md"}).text.startswith("#")
    shown = client.get(f"/api/runs/{run_id}/report", params={"format": "json"}).json()
    assert (shown["run_id"], shown["status"]) == (run_id, "completed")
    assert shown["usage"] == client.get(f"/api/runs/{run_id}").json()["usage"]
    assert client.get(f"/api/runs/{run_id}/report", params={"format": "pdf"}).status_code == 422


def test_a_report_of_a_shipped_workflow_has_its_own_sections(client: httpx2.Client) -> None:
    run_id = started(client, "council", "Quiet evenings in a port town")
    done(client, run_id)
    shown = client.get(f"/api/runs/{run_id}/report", params={"format": "json"}).json()
    assert shown["sections"]


# ── the built UI ─────────────────────────────────────────────────────────────────────────────────


def test_without_a_built_ui_there_is_a_page_that_says_so(tmp_path: Path) -> None:
    with served(tmp_path, ui=tmp_path / "nothing") as server, server.client() as client:
        answer = client.get("/")
        assert (answer.status_code, "built without the web UI" in answer.text) == (200, True)


def test_built_files_are_kept_for_ever_and_their_page_is_not(tmp_path: Path) -> None:
    ui = tmp_path / "ui"
    (ui / "assets").mkdir(parents=True)
    (ui / "index.html").write_text("<h1>built</h1>")
    (ui / "assets" / "index-Ab12Cd34.js").write_text("export {}")
    (ui / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.js").write_text("secret")
    (ui / "assets" / "link-Ab12Cd34.js").symlink_to(tmp_path / "secret.js")
    with served(tmp_path, ui=ui) as server, server.client() as client:
        page = client.get("/runs/abc")
        assert (page.text, page.headers["Cache-Control"]) == ("<h1>built</h1>", "no-cache")
        script = client.get("/assets/index-Ab12Cd34.js")
        assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert script.headers["Content-Type"].startswith("text/javascript")
        assert client.get("/favicon.svg").headers["Cache-Control"] == "no-cache"
        gone = ("/assets/other-Ab12Cd34.js", "/secret.js", "/..%2fsecret.js", "/assets/link-Ab12Cd34.js")
        assert [client.get(path).status_code for path in gone] == [404] * 4
