"""What the pages say about records that real runs made."""

from __future__ import annotations

import json
import re

import pytest

from ludus.record import read_run


def steps_in(text: str) -> list[int]:
    return [int(one) for one in re.findall(r'id="step-(\d+)"', text)]


def test_runs_are_listed_filtered_and_sorted(site):
    text = site.text("/runs")
    for place in ("first", "deep~second", "hostile", "large"):
        assert f'href="/run/{place}"' in text
    text = site.text("/runs?agent=react-m")
    assert "/run/deep~second" in text
    assert 'href="/run/first"' not in text
    assert 'href="/run/first"' in site.text("/runs?q=FIRST")
    assert "0 runs" in site.text("/runs?q=nothing-is-called-so")
    text = site.text("/runs?list=episodes&outcome=scored&sort=-score")
    row = re.compile(r'</span></td>\s*<td class="number">(0\.\d+)</td>')
    scores = [float(one) for one in row.findall(text)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3
    first = site.text("/runs?list=episodes&sort=score&outcome=scored").find("deep~second")
    assert 0 < first < site.text("/runs?list=episodes&sort=score&outcome=scored").find("/first/")


@pytest.mark.parametrize(
    "query", ["sort=zzz", "page=-1", "page=99999", "list=x", "page=" + "9" * 50]
)
def test_odd_queries(site, query):
    assert site.get(f"/runs?{query}").status_code == 200


def test_a_run_has_scores_with_intervals_and_cells(site):
    text = site.text("/run/first")
    assert "95 % interval" in text
    for unit in site.units("first"):
        assert f'href="/run/first/e/{unit}"' in text
    assert "Agent faults" in text
    assert "not verified yet" in text


def test_an_episode(site):
    text = site.text(site.episode())
    assert steps_in(text) == list(range(7))
    assert "exit 1" in text
    assert "validated 0.6" in text
    assert "validated 0.95" in text
    assert '<span class="a-fg-green">ok</span>' in text
    assert "2 validations; a table follows" in text
    assert "model.py" in text
    record = next((site.folder / "first" / "records").iterdir())
    result = next(one.data for one in read_run(record).events if one.kind == "result")
    assert f"{result['value']:.4g}" in text


def test_filters_and_search(site):
    base = site.episode()
    assert steps_in(site.text(f"{base}?filter=failed")) == [3]
    assert steps_in(site.text(f"{base}?filter=validated")) == [2, 5]
    assert steps_in(site.text(f"{base}?q=MISSING.TXT")) == [3]
    assert steps_in(site.text(f"{base}?q=import json")) == [1]
    assert steps_in(site.text(f"{base}?filter=failed&q=import")) == []
    # Names of fields and hashes are not searched.
    assert steps_in(site.text(f"{base}?q=exit_code")) == []


def test_pages_of_steps(site):
    base = "/run/large/e/record"
    assert steps_in(site.text(base)) == list(range(200))
    assert steps_in(site.text(f"{base}?page=2")) == list(range(400, 450))
    assert steps_in(site.text(f"{base}?page=77")) == list(range(400, 450))
    answer = site.client.get(f"{base}?step=433", follow_redirects=False)
    assert answer.headers["location"].endswith("?page=2#step-433")
    assert steps_in(site.text(f"{base}?filter=failed")) == [96, 193, 290, 387]
    assert steps_in(site.text(f"{base}?q=echo 44")) == [44, *range(440, 450)]


def test_a_step_and_its_deep_link(site):
    base = site.episode()
    text = site.text(base)
    keys = re.findall(r"/s/(\d+-[0-9a-f]{6})\"", text)
    assert len(set(keys)) == 7
    text = site.text(f"{base}/s/1-")
    assert 'class="add">+import json' in text
    assert "seen by the agent" in text
    assert site.get(f"{base}/s/1-ffffff").status_code == 404
    assert "cut off when the episode was resumed" in site.get(f"{base}/s/1-ffffff").text
    answer = site.client.get(f"{base}/s/1", follow_redirects=False)
    assert answer.headers["location"] == f"{base}/s/{keys[1] if keys[1][0] == '1' else keys[2]}"
    for wrong in ("99", "x", "-1", "1e3", "٣", "9" * 40):
        assert site.get(f"{base}/s/{wrong}").status_code == 404


def test_a_whole_output_in_windows(site):
    base = site.episode()
    text = site.text(f"{base}/s/4-")
    assert "6,000 lines" in text
    assert "\n500</pre>" in text
    assert "shown are lines 5001 to 5500" in site.text(f"{base}/s/4-?line=5000")
    key = re.search(r"/output/(4-[0-9a-f]+)", text)[1]
    answer = site.get(f"{base}/output/{key}")
    assert answer.text == "".join(f"{n}\n" for n in range(1, 6001))
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    part = site.get(f"{base}/output/{key}", range="bytes=2-5")
    assert (part.status_code, part.text) == (206, "2\n3\n")
    assert site.get(f"{base}/output/{key}", range="bytes=999999999-").status_code == 416


def test_the_conversation(site):
    base = site.episode("deep/second")
    text = site.text(f"{base}/conversation")
    assert "Write the answer to answer.json." in text
    assert "→ shell {&#34;command&#34;: &#34;seq 3&#34;}" in text
    text = site.text(f"{base}/conversation?call=4")
    assert "Call 4" in text
    assert "No tool was called" in text or "tool" in text
    assert "Prompt tokens" in text
    assert "no calls of a model" in site.text(f"{site.episode()}/conversation")


def test_files_and_about(site):
    base = site.episode()
    text = site.text(f"{base}/files")
    digest = re.search(r"/f/([0-9a-f]{64})", text)[1]
    assert "answer.json" in text
    assert site.text(f"{base}/f/{digest}")
    assert site.get(f"{base}/blob/{digest}").status_code == 200
    assert "7 step" in site.text(f"{base}/about")


def test_a_comparison(site):
    one, other = site.units("first")
    (third,) = site.units("deep/second")
    text = site.text(f"/compare?a=first@{one}&b=first@{other}")
    assert "7 steps have the same action" in text
    assert "No action differs" in text
    text = site.text(f"/compare?a=first@{one}&b=deep~second@{third}")
    assert "The first difference is" in text
    assert text.count('class="badge warn">differs') >= 3
    assert site.text("/compare")
    assert site.get("/compare?a=first@x&b=first@y").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "/run/none", "/run/%2e%2e", "/run/%2e%2e%2fetc", "/run/first/e/none",
        "/run/first/e/%2e%2e", "/run/first/e/record", "/nothing", "/static/..%2fapp.py",
        "/static/view.txt", "/run/first~..", "/run/hostile/e/record/f/" + "0" * 64,
        "/run/hostile/e/record/blob/..%2f..%2fsecret.txt",
    ],
)  # fmt: skip
def test_what_is_not_there(site, address):
    answer = site.get(address)
    assert answer.status_code == 404, answer.text
    assert "secret" not in answer.text.replace("secret.txt", "")


def test_a_broken_record_is_shown_as_far_as_it_goes(site, tmp_path):
    from shutil import copytree

    from tests.view.conftest import client_of

    copytree(site.folder / "large", tmp_path / "runs" / "cut")
    file = tmp_path / "runs" / "cut" / "events.jsonl"
    lines = file.read_bytes().split(b"\n")
    lines[101] = b'{"data":{},"kind":"step"}'
    file.write_bytes(b"\n".join(lines))
    copytree(site.folder / "large", tmp_path / "runs" / "none")
    (tmp_path / "runs" / "none" / "manifest.json").write_text("{")
    with client_of(tmp_path / "runs") as client:
        text = client.get("/run/cut/e/record").text
        assert "Line 102 of the record is no event" in text
        assert steps_in(text) == list(range(50))
        assert client.get("/run/none/e/record").status_code == 422
        assert "damaged" in client.get("/runs").text


def test_data_of_events_of_any_form(tmp_path):
    """A record from elsewhere may hold anything where a field is expected."""
    from ludus.record import Run
    from tests.view import samples
    from tests.view.conftest import client_of

    odd = [None, True, -1, 1e300, "x", [], [1], {}, {"a": [None]}, "9" * 50]
    with Run.create(
        tmp_path / "odd", kind="research", subject={"evaluation": 3, "unit": []}
    ) as run:
        for value in odd:
            names = samples.step(0)
            run.append("ask", dict.fromkeys(("kept", "messages", "usage", "bodies", "n"), value))
            run.append("act", dict.fromkeys(("n", "action", "thought", "cost"), value))
            run.append("grading", {"files": value})
            run.append("step", dict.fromkeys([*names, "changes", "output_file"], value))
        run.append("result", {"outcome": [], "value": [], "reason": {}, "cost": "x", "end": []})
    with client_of(tmp_path) as client:
        for rest in (
            "",
            "/conversation",
            "/files",
            "/about",
            "?filter=failed",
            "?q=x",
            "/overview",
        ):
            assert client.get(f"/run/odd/e/record{rest}").status_code == 200, rest
        for n in range(len(odd)):
            assert client.get(f"/run/odd/e/record/s/{n}").status_code == 200, json.dumps(odd[n])
            assert client.get(f"/run/odd/e/record/conversation?call={n}").status_code == 200
        assert client.get("/compare?a=odd&b=odd").status_code == 200
        assert client.get("/runs").status_code == 200
