from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from ludus.bench.report import ReportFiles, write_report

from .samples import HOSTILE, PROVENANCE, REFERENCES, fault, hostile, many, result, usual

EDGES = {
    "nothing": [],
    "one run": [result()],
    "one failed record": [result(verified="failed")],
    "agent faults only": [fault("agent_fault", "x", seed=seed) for seed in range(3)],
    "infrastructure faults only": [fault("infrastructure_fault", "x")],
    "equal scores": [result(agent, seed=seed) for agent in "ab" for seed in range(3)],
    "huge scores": [result(seed=seed, score=1.7e308) for seed in range(3)],
    "tiny scores": [result(seed=seed, score=score) for seed, score in enumerate((5e-324, 0.0))],
    "odd curves": [
        result(seed=seed, extra={"curve": curve})
        for seed, curve in enumerate(
            ([[0, 1]], [[5, 2], [5, 3]], "x", [], [[1]], [["a", 1]], {}, [[0, 1e308], [9, -1e308]])
        )
    ],
    "repeated work": [result(), result(run="another", budget='{"episodes":3}')],
}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser.found


@pytest.mark.parametrize("references", [None, REFERENCES])
@pytest.mark.parametrize("results", EDGES.values(), ids=EDGES)
def test_any_results_give_a_report_without_a_nan(tmp_path, results, references):
    files = write_report(results, tmp_path / "report.html", references=references)
    tags(files.html.read_text("utf-8"))
    for path in (files.html, files.markdown):
        assert not re.search(r"\b(nan|inf|-inf|None)\b", path.read_text("utf-8"))


def test_the_facts_are_in_both_files(tmp_path):
    files = write_report(
        usual(), tmp_path / "r.html", title="Five", references=REFERENCES, provenance=PROVENANCE
    )
    page = re.sub(r"<[^>]+>", "", files.html.read_text("utf-8"))
    markdown = files.markdown.read_text("utf-8").replace("\\", "")
    for text in (page, markdown):
        assert "…" not in text
        for fact in (
            "Five",
            "5 agents on 4 environments with 10 seeds: 200 runs",
            "192 scored, 7 ended in a fault of the agent and 1 in a fault of the infrastructure",
            "166 of 200 runs are verified",
            "has the highest interquartile mean",
            "ValueError: the action 3 is not in Discrete(2)",
            "WorkerCrashed: the worker was killed by signal 9",
            "reference -1230 (counts as 0) to -150.0 (counts as 1)",
            "✓ verified",
            "✗ failed",
            "AMD EPYC",
            "ludus bench run classic --agent ppo --seeds 10",
        ):
            assert fact in text


def test_how_to_reproduce_is_guessed_from_the_results(tmp_path):
    results = [result(agent, seed=seed) for agent in ("b c", "a") for seed in range(3)]
    other = result(suite="my suite", seed=7, budget='{"steps":500,"max_seconds":60.0}')
    files = write_report([*results, other], tmp_path)
    text = files.markdown.read_text("utf-8")
    assert "    ludus bench run classic --agent a --agent 'b c' --seeds 3 --episodes 10\n" in text
    assert (
        "    ludus bench run 'my suite' --agent ppo --seeds 7 --steps 500 --unit-seconds 60\n"
        in text
    )


def test_one_run_shows_no_interval(tmp_path):
    files = write_report([result()], tmp_path, references=REFERENCES)
    text = files.markdown.read_text("utf-8")
    assert "±" not in text
    assert "| ppo | 100.0 | 1 of 1 | – | 0.163 | 0 | 0 | 0 of 1 |" in text
    assert not any(
        attributes.get("class") in ("whisker", "band")
        for _, attributes in tags(files.html.read_text("utf-8"))
    )


def test_the_path_may_be_a_folder_or_either_file(tmp_path):
    for path, stem in (("new/folder", "new/folder/report"), ("a.html", "a"), ("b.md", "b")):
        files = write_report([], tmp_path / path)
        assert files == ReportFiles(tmp_path / f"{stem}.html", tmp_path / f"{stem}.md")
        assert files.html.exists()
        assert files.markdown.exists()


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path):
    files = write_report([], tmp_path)
    before = files.html.read_bytes()
    with pytest.raises(ValueError, match="reference"):
        write_report([result()], tmp_path, references={"CartPole-v1": (0.0,)})
    assert files.html.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.md"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/report\.html'$"):
        write_report([result()], tmp_path / "file" / "report.html")


def test_the_same_results_give_the_same_bytes(tmp_path):
    one = write_report(usual(3), tmp_path / "a.html", references=REFERENCES)
    other = write_report(usual(3), tmp_path / "b.html", references=REFERENCES)
    assert one.html.read_bytes() == other.html.read_bytes()
    assert one.markdown.read_bytes() == other.markdown.read_bytes()


def test_the_page_is_complete_in_itself(tmp_path):
    files = write_report(usual(3), tmp_path, references=REFERENCES)
    found = tags(files.html.read_text("utf-8"))
    assert not {tag for tag, _ in found} & {"script", "img", "iframe", "object", "form", "base"}
    for tag, attributes in found:
        assert not {"src", "style", "srcset"} & attributes.keys()
        assert not any(key.startswith("on") for key in attributes)
        if "href" in attributes:
            assert attributes["href"].startswith("#") or (tag, attributes["href"]) == (
                "link",
                "data:,",
            )
    policy = next(
        a["content"] for t, a in found if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_charts_and_tables_are_described(tmp_path):
    files = write_report(usual(3), tmp_path, references=REFERENCES)
    text = files.html.read_text("utf-8")
    found = tags(text)
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    charts = [a for tag, a in found if tag == "svg" and "chart" in a["class"].split()]
    assert len(charts) == 6 + 4
    for chart in charts:
        assert chart["role"] == "img"
        assert {chart["aria-labelledby"], chart["aria-describedby"]} <= set(ids)
    assert all(a.get("aria-label") for tag, a in found if tag == "table")
    assert all(a.get("scope") in ("col", "row") for tag, a in found if tag == "th")


def hostile_report(folder, **changes):
    options = {
        "title": "".join(HOSTILE[:4]),
        "references": {"CartPole-v1": (20.0, 500.0)},
        "provenance": {text: {text: [text, text]} for text in HOSTILE} | {"command": list(HOSTILE)},
    }
    return write_report(hostile(), folder, **options | changes)


def test_hostile_texts_add_no_tag_to_the_page(tmp_path):
    found = tags(hostile_report(tmp_path).html.read_text("utf-8"))
    assert not {tag for tag, _ in found} & {"script", "img", "iframe"}
    assert sum(tag == "style" for tag, _ in found) == 1
    assert not any(key.startswith("on") for _, attributes in found for key in attributes)


def test_hostile_texts_add_no_markup_to_the_markdown(tmp_path):
    text = hostile_report(tmp_path).markdown.read_text("utf-8")
    parser = MarkdownIt("gfm-like", {"linkify": False, "html": True}).enable("table")
    tokens = parser.parse(text)
    kinds = {token.type for token in tokens}
    inner = {child.type for token in tokens for child in token.children or ()}
    assert "html_block" not in kinds
    assert not inner & {"html_inline", "image", "link_open", "code_inline", "em_open"}
    for table in "\n".join(text.splitlines()).split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1
    assert not re.search(r"(?<!\\)://|www\.", text.split("## How to reproduce")[0])


def test_very_many_results_give_a_report_of_a_usable_size(tmp_path):
    results, references = many(agents=60, envs=30, seeds=5)
    files = write_report(results, tmp_path, references=references)
    assert files.html.stat().st_size < 3_000_000
    text = files.html.read_text("utf-8")
    assert "Shown are the 20 agents of 60 with the highest IQM" in text
    assert "Shown are the 8 agents of 60 with the highest IQM" in text
    assert "Compared are the first 5 of 60 agents" in text
    assert "500 of 9,000 records" in text
    assert all(f"agent-{agent:03}" in text for agent in range(60))


def test_curves_may_be_given_beside_the_results(tmp_path):
    unit = result()
    files = write_report([unit], tmp_path, curves={unit.id: [(0, 1.0), (1000, 5.0)]})
    assert "Learning curves on CartPole-v1" in files.html.read_text("utf-8")
    assert "| CartPole-v1 | ppo | 0 | 1.000 | 1000 | 5.000 | 1 of 1 |" in files.markdown.read_text(
        "utf-8"
    )


def test_what_makes_results_less_comparable_is_said(tmp_path):
    results = [
        result(),
        result(run="copied"),
        result(run="again", created="2026-02-01T12:00:00Z", steps=999),
        result(seed=1, budget='{"episodes":3}', source_hash="ef" * 32, suite_digest="other"),
        result(seed=2, verified="failed", score=1e200),
        result("lame", "Acrobot-v1"),
    ]
    text = write_report(results, tmp_path, references=REFERENCES).markdown.read_text("utf-8")
    for said in (
        "1 of 6 runs are copies of another one, and do not count",
        "1 of 6 runs repeat the agent",
        "1 of 2 environments were run with different budgets",
        "1 of 2 environments were run with different versions of their source",
        "different suites",
        "1 of 6 runs failed the check",
        "beyond 1e+150",
        "No agent has a run that counts on every environment with a reference",
    ):
        assert said in text
