"""A task's image is the root of what the agent does and hands in, and of nothing that decides."""

from __future__ import annotations

import os
import shutil

import pytest

from ludus.bench.running.folder import BenchFolder
from ludus.errors import (
    ImageMissing,
    PolicyNotEnforceable,
    ResearchError,
    SandboxUnavailable,
    StateError,
    TaskError,
)
from ludus.record import read_run
from ludus.research import ResearchEnv, load_task
from ludus.research.data.availability import find_missing
from ludus.research.images.containerfile import recipe_of
from ludus.research.images.task_image import find_task_image
from ludus.research.running import EpisodeOptions, parse_agent, resume_research, run_research
from ludus.research.running.options import RunFile
from ludus.research.running.verification import verify_episode, verify_research_run
from tests.research.env_support import FakeGrade, answer, write_task
from tests.research.running.support import record_of, write_script
from tests.research.support import SAMPLES
from tests.sandbox.containers_suite import image_tar
from tests.sandbox.engines import load_image, run, unload_image
from tests.sandbox.python_image import SITE, python_tar, with_files
from tests.sandbox.support import needs, why_not

pytestmark = needs("bubblewrap", root=True)

ENGINES = ("podman", "docker")
NAME = "localhost/ludus-test-python:1"
MISSING = "localhost/ludus-test-none:1"
PROOF = "etc/whose-image"
# Says where it runs; the grader is asked the same.
WHERE = f'Path("/{PROOF}").exists()'
CODE = f"""
from pathlib import Path

def guess(low, high, answers):
    return low + len(answers) if {WHERE} else high
"""
GRADER = f"""
from pathlib import Path
import numpy
from ludus.research.grading import Score

def grade(submission, labels, seed, split):
    inside = submission.code("guess.py").call("guess", 0, 31, [], returns=int) == 0
    return Score(float(inside), {{"grader": {WHERE}, "numpy": numpy.__file__}})
"""


def require(backend):
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")


@pytest.fixture(scope="module")
def images():
    """Images that were made, by engine and name; removed in the end."""
    made: dict[tuple[str, str], None] = {}

    def make(backend, name=NAME, files=None, data=None):
        if files is None and data is None and (backend, name) in made:
            return name
        require(backend)
        content = with_files({PROOF: "x\n", **(files or {})}) if data is None else data
        load_image(backend, content, name)
        made[backend, name] = None
        return name

    yield make
    for backend, name in made:
        unload_image(backend, name)


@pytest.fixture
def podman(images):
    return images("podman")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))


def with_lines(folder, *lines):
    with (folder / "task.yaml").open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))
    return folder


def answering(folder, *lines):
    """Write a task without submitted code."""
    return with_lines(write_task(folder), *lines)


def guessing(folder, *lines):
    """Write a task whose submission and grader say where they run."""
    shutil.copytree(SAMPLES / "guess_number", folder)
    (folder / "grader" / "grade.py").write_text(GRADER)
    text = (folder / "task.yaml").read_text()
    text = text.replace("direction: lower, threshold: 6, baseline: 17, floor: 32", "threshold: 1")
    (folder / "task.yaml").write_text(text)
    return with_lines(folder, "packages: [numpy]", *lines)


# --- where what runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ENGINES)
def test_agent_and_submission_run_in_it_and_the_grader_does_not(tmp_path, images, backend):
    folder = guessing(tmp_path / "guess", f"image: {images(backend)}")
    with ResearchEnv(folder, backend=backend) as env:
        env.reset(seed=0)
        told = env.step(f"ls /{PROOF}; python3 -c 'import numpy; print(numpy.__file__)'")[0]
        assert told["output"] == f"/{PROOF}\n/{SITE}/numpy/__init__.py\n"
        # The tools of agents run with the image's Python.
        assert env.step("memory_write kept; memory_read")[0]["output"].endswith("1. kept\n")
        env.sandbox.write_bytes("guess.py", CODE.encode())
        info = env.step("submit")[4]
    assert (info["outcome"], info["score"]) == ("scored", 1.0), info["reason"]
    details = info["final"]["details"]
    assert details["grader"] is False
    assert not details["numpy"].startswith(f"/{SITE}")


def test_without_a_backend_the_first_with_images_is_taken(tmp_path, podman):
    with ResearchEnv(answering(tmp_path / "t", f"image: {podman}"), grade=FakeGrade()) as env:
        env.reset(seed=0)
        assert (env.sandbox.backend, env.sandbox.image) == ("podman", env.equipment.image.digest)


def test_the_engine_that_has_the_image_is_taken(tmp_path, images):
    """And of two that have the name, the one whose image has the wanted digest."""
    name = f"localhost/ludus-test-engines-{os.getpid()}:1"
    task = load_task(answering(tmp_path / "t", f"image: {name}"))
    require("podman")
    images("docker", name, data=image_tar())
    only = find_task_image(task)
    assert only.backend == "docker"
    images("podman", name, data=image_tar({"etc/other": b"x"}))
    first = find_task_image(task)
    assert (first.backend, first.digest == only.digest) == ("podman", False)
    assert find_task_image(task, digest=only.digest) == only
    assert find_task_image(task, digest=first.digest) == first


def test_what_a_task_hides_is_hidden_in_the_image_too(tmp_path, images):
    """Files of packages lie elsewhere in it, and so does a copy of Ludus with its graders."""
    place = f"{SITE}/numpy/testing/secret.txt"
    files = {
        place: "THE-ANSWERS\n",
        "opt/venv/lib/python3.9/site-packages/numpy/testing/secret.txt": "THE-ANSWERS\n",
        f"{SITE}/ludus/__init__.py": "raise SystemExit('the copy of the image')\n",
        f"{SITE}/ludus/research/tasks/digits/grader/grade.py": "THE-ANSWERS\n",
        "srv/labels/a.txt": "THE-ANSWERS\n",
        "srv/one.txt": "THE-ANSWERS\n",
    }
    name = images("podman", "localhost/ludus-test-copies:1", files)
    lines = (f"image: {name}", "hidden: ['numpy:testing', /srv/labels, /srv/one.txt]")
    folder = guessing(tmp_path / "guess", *lines)
    with ResearchEnv(folder) as env:
        env.reset(seed=0)
        for path in files:
            found = env.step(f"cat /{path}")[0]["output"]
            assert "THE-ANSWERS" not in found, path
        # The submission's sandbox imports the Ludus that is mounted, whatever the image has.
        looks = "\n".join(f"    assert not open('/{path}').read()" for path in ("srv/one.txt",))
        env.sandbox.write_bytes("guess.py", f"{CODE}\nif 1:\n{looks}\n".encode())
        info = env.step("submit")[4]
    assert (info["outcome"], info["score"]) == ("scored", 1.0), info["reason"]


# --- refused before anything is done -----------------------------------------------------------


@pytest.mark.parametrize("backend", ["bubblewrap", "gvisor"])
def test_a_backend_without_images_is_refused_unless_one_does_without(tmp_path, backend):
    folder = answering(tmp_path / "t", f"image: {MISSING}")
    with pytest.raises(PolicyNotEnforceable, match=r"has no images.*--without-image") as caught:
        ResearchEnv(folder, backend=backend)
    assert caught.value.reasons.keys() == {"image"}
    if backend == "bubblewrap":
        with ResearchEnv(folder, backend=backend, without_image=True, grade=FakeGrade()) as env:
            env.reset(seed=0)
            assert env.equipment.image is None


def test_no_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    from ludus.sandbox.backend import podman

    podman._trial.cache_clear()
    try:
        with pytest.raises(SandboxUnavailable, match=r"podman(?s:.*)--without-image"):
            ResearchEnv(answering(tmp_path / "t", f"image: {MISSING}"))
    finally:
        podman._trial.cache_clear()


def test_an_image_that_is_missing(tmp_path):
    require("podman")
    folder = answering(tmp_path / "t", f"image: {MISSING}")
    told = rf"podman build --tag {MISSING}.*ludus task image /.*task\.yaml"
    with pytest.raises(ImageMissing, match=told):
        ResearchEnv(folder)
    with pytest.raises(ImageMissing, match="nothing is downloaded"):
        begin(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (lacks,) = find_missing([load_task(folder)])
    assert [one.what for one in lacks] == ["image"]
    assert MISSING in lacks[0].reason


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: image_tar(), "its python3 cannot be asked"),
        (lambda: with_files({"bin/python3": "#!/bin/bash\necho '[]'\n"}, image_tar()), "answer"),
        (lambda: with_files({"bin/python3": "#!/bin/bash\nexit 3\n"}, image_tar()), "status 3"),
        (
            lambda: with_files(
                {"bin/python3": """#!/bin/bash
echo '{"python": [3, 8], "missing": [], "hidden": [], "trouble": ""}'
"""},
                image_tar(),
            ),
            "Python 3.8; required is 3.11",
        ),
        (lambda: with_files({f"{SITE}/scipy/__init__.py": "1/0\n"}), "ZeroDivisionError"),
        (python_tar, "lacks packages that the task declares: scipy"),
        (
            lambda: with_files(
                {"bin/python3": """#!/bin/bash
echo '{"python": [3, 12], "missing": [], "hidden": [["/etc", true]], "trouble": ""}'
"""},
                image_tar(),
            ),
            "expected an absolute path",
        ),
    ],
)  # fmt: skip
def test_an_image_in_which_the_task_cannot_run(tmp_path, images, make, words):
    """Found out before the first episode; what the image's own Python says is no instruction."""
    name = images("podman", "localhost/ludus-test-lacking:1", data=make())
    folder = answering(tmp_path / "t", f"image: {name}", "packages: [scipy]")
    with pytest.raises(TaskError, match=words):
        ResearchEnv(folder)


@pytest.mark.parametrize(
    "name", ["--privileged", "'-v /:/host'", "'a b'", "oci:/etc", "sha256:abc", "[a]", "''"]
)
def test_a_tasks_file_cannot_give_options_for_an_image(tmp_path, name):
    with pytest.raises(TaskError, match=r"task.yaml, line \d+: image"):
        load_task(answering(tmp_path / "t", f"image: {name}"))


# --- records -----------------------------------------------------------------------------------


def begin(folder, out, actions=("submit",), **options):
    out.parent.mkdir(exist_ok=True)
    script = write_script(out.parent / "script.yaml", list(actions))
    agent = parse_agent("scripted", {"file": script})
    return run_research([folder], [agent], out=out, runs=1, options=EpisodeOptions(**options))


@pytest.fixture
def own_name(images):
    """An image of a name that only one test uses, and its id."""
    name = f"localhost/ludus-test-own-{os.getpid()}:1"
    images("podman", name, {})
    return name


def test_the_manifest_names_the_image_and_another_one_verifies_nothing(tmp_path, images, own_name):
    folder = guessing(tmp_path / "guess", f"image: {own_name}")
    (folder / "workspace" / "guess.py").write_text(CODE)
    done = begin(folder, tmp_path / "run", ["submit"], draws="private")
    assert done.exit_code == 0, done.results
    record = record_of(tmp_path / "run")
    digest = find_task_image(load_task(folder)).digest
    image = read_run(record).manifest["subject"]["image"]
    assert (image["name"], image["digest"]) == (own_name, digest)
    assert RunFile.read(tmp_path / "run").tasks["mlgym/guessNumber-v0"].image.digest == digest

    found = verify_episode(record, task=folder)
    assert found.passed, found.to_dict()
    (looked,) = verify_research_run(BenchFolder.open(tmp_path / "run"), tasks=[folder])
    assert (looked.problems, looked.unchecked) == ((), ()), looked
    # Without an engine nothing can be said, and nothing is.
    status = checks(verify_episode(record, task=folder, backend="bubblewrap"))
    assert (status["spec"], status["replay"]) == ("passed", "skipped")

    images("podman", own_name, {"etc/other": "y\n"})
    status = checks(verify_episode(record, task=folder))
    assert (status["spec"], status["replay"]) == ("failed", "skipped")
    (looked,) = verify_research_run(BenchFolder.open(tmp_path / "run"), tasks=[folder])
    assert "was" in looked.problems[0]
    images("podman", own_name, {})


def checks(found):
    return {one.name: one.status for one in found.checks}


def test_a_run_does_not_go_on_in_another_image(tmp_path, images, own_name, monkeypatch):
    """A tag that moved is told, with how to put it back."""
    folder = answering(tmp_path / "t", f"image: {own_name}")
    begin(folder, tmp_path / "run", [answer(0.75), "submit"])
    was = find_task_image(load_task(folder)).digest
    (unit,) = BenchFolder.open(tmp_path / "run").unit_ids
    (tmp_path / "run" / "results" / f"{unit}.json").unlink()
    shutil.rmtree(tmp_path / "run" / "records")
    images("podman", own_name, {"etc/other": "z\n"})
    now = find_task_image(load_task(folder)).digest
    assert now != was
    with pytest.raises(TaskError, match=rf"{now}.*was {was}(?s:.*)podman tag {was} {own_name}"):
        resume_research(tmp_path / "run")
    run("tag", was, own_name)
    assert find_task_image(load_task(folder)).digest == was
    assert resume_research(tmp_path / "run").exit_code == 0


def test_a_record_does_not_go_on_in_another_image(tmp_path, podman):
    """Also where somebody has edited what the run remembers."""
    from ludus.research.running.log import Log

    def subject(digest):
        image = {} if digest is None else {"image": {"name": podman, "digest": digest}}
        return {"unit": {"id": "a"}, **image}

    with Log.open(tmp_path / "record", subject("sha256:a"), None):
        pass
    for other in ("sha256:b", None):
        with pytest.raises(ResearchError, match="not mixed"):
            Log.open(tmp_path / "record", subject(other), None)


def test_a_state_is_of_its_image(tmp_path, images, podman):
    folder = answering(tmp_path / "t", f"image: {podman}")
    with ResearchEnv(folder, grade=FakeGrade()) as env:
        env.reset(seed=0)
        state = env.get_state()
    with ResearchEnv(folder, without_image=True, grade=FakeGrade()) as env:
        env.reset(seed=0)
        with pytest.raises(StateError, match="Use the same image"):
            env.set_state(state)


def test_a_run_without_its_image_stays_a_claim(tmp_path):
    folder = guessing(tmp_path / "guess", f"image: {MISSING}")
    done = begin(folder, tmp_path / "run", ["submit"], without_image=True, backend="bubblewrap")
    assert done.exit_code == 0, done.results
    record = record_of(tmp_path / "run")
    subject = read_run(record).manifest["subject"]
    assert "image" not in subject
    assert subject["options"]["without_image"] is True
    status = checks(verify_episode(record, task=folder, backend="bubblewrap"))
    assert (status["spec"], status["replay"]) == ("skipped", "passed")
    (looked,) = verify_research_run(
        BenchFolder.open(tmp_path / "run"), tasks=[folder], backend="bubblewrap"
    )
    assert not looked.problems
    assert any("without the task's image" in one for one in looked.unchecked), looked


# --- the recipe --------------------------------------------------------------------------------


def test_podman_understands_the_recipe(tmp_path, images, podman):
    """Without its last line, which needs an index of packages."""
    require("podman")
    folder = answering(tmp_path / "t", "packages: [numpy]")
    recipe = recipe_of(load_task(folder), podman)
    recipe.write(tmp_path / "image")
    file = tmp_path / "image" / "Containerfile"
    lines = recipe.containerfile.splitlines()
    assert lines[-1].startswith("RUN python3 -m pip install")
    file.write_text("\n".join(lines[:-1]) + "\n")
    tag = f"localhost/ludus-test-recipe-{os.getpid()}:1"
    run("build", "--pull-never", "--network=none", f"--tag={tag}", str(tmp_path / "image"))
    try:
        named = answering(tmp_path / "named", f"image: {tag}", "packages: [numpy]")
        with ResearchEnv(named, grade=FakeGrade()) as env:
            env.reset(seed=0)
            listed = env.step("cat /usr/local/share/requirements.txt")[0]["output"]
            assert listed == recipe.requirements
    finally:
        run("rmi", "--force", tag)
