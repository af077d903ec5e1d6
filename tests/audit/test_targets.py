"""Folders, wheels, sdists and installed distributions, honest and hostile; none is run."""

from __future__ import annotations

import base64
import hashlib
import io
import struct
import sys
import tarfile
import zipfile

import pytest

from ludus.audit import AuditError, Limits, Settings, audit
from ludus.distribution import DISTRIBUTION
from tests.audit.support import (
    OFFLINE,
    findings,
    make_folder,
    make_sdist,
    make_wheel,
    metadata,
    rules,
)

EVIL = "import os\nos.system('touch ran')\n"


@pytest.mark.parametrize("make", ["folder", "wheel", "sdist"])
def test_code_is_found_in_each_and_never_run(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project").mkdir()
    path = {
        "folder": lambda: make_folder(tmp_path / "project", {"pkg/a.py": EVIL, "setup.py": EVIL}),
        "wheel": lambda: make_wheel(tmp_path, {"pkg/a.py": EVIL}),
        "sdist": lambda: make_sdist(tmp_path, {"suspect-1.0/pkg/a.py": EVIL}),
    }[make]()
    report = audit(str(path), OFFLINE)
    assert {"subprocess", "import-time-effect"} <= {item.rule for item in report.findings}
    place = next(item for item in report.findings if item.path.endswith("pkg/a.py"))
    assert place.line == 2
    assert report.components[0].key == "suspect"
    assert report.components[0].version == "1.0"
    assert report.exit_code == 1
    assert not (tmp_path / "ran").exists()


def test_an_honest_package_is_clean(tmp_path):
    source = "import math\n\ndef area(r):\n    return math.pi * r * r\n"
    report = audit(str(make_wheel(tmp_path, {"suspect/__init__.py": source})), OFFLINE)
    assert report.findings == []
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("suspect/fast.cpython-311-x86_64-linux-gnu.so", "ELF", "native-extension"),
        ("suspect/fast.pyd", "MZ", "native-extension"),
        ("suspect/hidden.pyc", "bytes", "bytecode"),
        ("suspect/__pycache__/a.cpython-311.pyc", "bytes", "bytecode"),
        ("suspect/more.zip", "PK", "nested-archive"),
        ("start.pth", "/some/path\nimport os; os.system('x')\n", "startup-code"),
        ("start.pth", "import\tos\n", "startup-code"),
        ("start.pth", "x\rimport os\r", "startup-code"),
        ("suspect-1.0.data/purelib/start.pth", "import os\n", "startup-code"),
        ("sitecustomize.py", "x = 1\n", "startup-code"),
        ("random.py", "x = 1\n", "shadowed-module"),
        ("json/__init__.py", "x = 1\n", "shadowed-module"),
        ("suspect-1.0.data/scripts/tool", "#!python\nimport os\nos.system('x')\n", "subprocess"),
        ("suspect/gui.pyw", EVIL, "subprocess"),
        ("SUSPECT/A.PY", EVIL, "subprocess"),
    ],
)
def test_files_that_speak_by_their_names(name, content, rule, tmp_path):
    assert rule in rules(make_wheel(tmp_path, {name: content}))


def test_a_path_file_without_code_is_harmless(tmp_path):
    assert "startup-code" not in rules(make_wheel(tmp_path, {"a.pth": "# import os\nimported\n"}))


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"setup.py": "from setuptools import setup\nsetup()\n"}, "install-code"),
        ({"setup.py": "from setuptools import setup\nsetup(cmdclass={})\n"}, "install-code:high"),
        ({"setup.cfg": "[options]\ncmdclass = install = evil.Install\n"}, "install-code:high"),
        (
            {"pyproject.toml": "[build-system]\nbuild-backend='b'\nbackend-path=['.']\n"},
            "install-code",
        ),
        ({"pyproject.toml": "not toml ["}, "invalid-metadata"),
    ],
)
def test_code_that_runs_when_installed(files, rule, tmp_path):
    rule, _, severity = rule.partition(":")
    found = [item for item in findings(make_folder(tmp_path, files)) if item.rule == rule]
    assert {item.severity for item in found} == {severity or "medium"}


def test_links_are_not_followed(tmp_path):
    (tmp_path / "secret.py").write_text(EVIL)
    project = make_folder(tmp_path / "project", {"a.py": "x = 1\n"})
    (project / "b.py").symlink_to(tmp_path / "secret.py")
    (project / "home").symlink_to(tmp_path)
    (project / "loop").symlink_to(project)
    found = findings(project)
    assert {(item.rule, item.path) for item in found} == {
        ("unscanned-file", "b.py"),
        ("unscanned-file", "home"),
    }


def test_a_pipe_is_not_waited_for(tmp_path):
    import os

    project = make_folder(tmp_path, {})
    os.mkfifo(project / "a.py")
    assert audit(str(project), OFFLINE).exit_code == 0


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../../x.py", "a/../../x.py", "C:/x.py", "a\\..\\x.py", "a\x1b[2Jb.py",
     "a\u202eb.py", "x" * 2000],
)  # fmt: skip
def test_names_that_lead_elsewhere(name, tmp_path):
    path = make_wheel(tmp_path, {name: "x = 1\n"})
    found = [item for item in findings(path) if item.rule == "unsafe-archive"]
    assert found
    assert all(item.path.isprintable() and len(item.path) <= 300 for item in found)
    assert sorted(tmp_path.iterdir()) == [path]
    info = tarfile.TarInfo(name)
    assert "unsafe-archive" in rules(make_sdist(tmp_path, members=[info]))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_an_sdist_with_links_and_devices(kind, tmp_path):
    info = tarfile.TarInfo("suspect-1.0/a.py")
    info.type, info.linkname = kind, "/etc/passwd"
    assert "unsafe-archive" in rules(make_sdist(tmp_path, members=[info]))


def test_a_wheel_with_a_link(tmp_path):
    info = zipfile.ZipInfo("suspect/a.py")
    info.external_attr = 0o120777 << 16
    path = make_wheel(tmp_path, {})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "unsafe-archive" in rules(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name(tmp_path):
    path = make_wheel(tmp_path, {"suspect/a.py": "x = 1\n"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("suspect/a.py", EVIL)
    assert "unsafe-archive" in rules(path)


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    limits = Limits(source=2**20, unpacked=2**26)
    path = make_wheel(tmp_path, {"suspect/a.py": b"#" * 2**25, "suspect/data": b"\0" * 2**26})
    report = audit(str(path), Settings(offline=True, bandit=False, limits=limits))
    assert {"unsafe-archive", "unscanned-file"} <= {item.rule for item in report.findings}
    assert report.missing[0].name == "files"


def test_a_zip_that_lies_about_its_sizes(tmp_path):
    path = make_wheel(tmp_path, {"suspect/a.py": b"#" * 10_000_000})
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\1\2")
    content[entry + 24 : entry + 28] = struct.pack("<I", 100)
    path.write_bytes(content)
    # Cut at the size it claims, the content fails its checksum.
    assert "unscanned-file" in rules(path)


def test_a_million_entries(tmp_path):
    path = make_wheel(tmp_path, {})
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    directory = (entry + b"a") * 1_000_000
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    path.write_bytes(directory + end)
    report = audit(str(path), OFFLINE)
    assert "unsafe-archive" in {item.rule for item in report.findings}
    assert report.target.members == []


def test_a_tar_with_more_files_than_are_read(tmp_path):
    members = [tarfile.TarInfo(f"suspect-1.0/{number}") for number in range(300)]
    path = make_sdist(tmp_path, members=members)
    settings = Settings(offline=True, bandit=False, limits=Limits(files=100))
    assert "unsafe-archive" in rules(path, settings)


def test_a_tar_header_that_claims_gigabytes(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 2**33
    path = tmp_path / "suspect-1.0.tar"
    first = tarfile.TarInfo("suspect-1.0/PKG-INFO")
    path.write_bytes(first.tobuf() + info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024)
    assert "unsafe-archive" in rules(path)


def test_a_tar_cut_short(tmp_path):
    path = make_sdist(
        tmp_path, {f"suspect-1.0/{number}.py": str(number) * 999 for number in range(9)}
    )
    path.write_bytes(path.read_bytes()[:-40])
    report = audit(str(path), OFFLINE)
    assert "unsafe-archive" in {item.rule for item in report.findings}


@pytest.mark.parametrize("name", ["a.whl", "a.tar.gz", "a.txt"])
def test_what_is_no_archive(name, tmp_path):
    (tmp_path / name).write_bytes(b"nonsense" * 100)
    with pytest.raises(AuditError, match=r"a\."):
        audit(str(tmp_path / name), OFFLINE)


@pytest.mark.parametrize("name", ["no-such-distribution-anywhere", "no/such/path", "a b", "-rf"])
def test_what_does_not_exist(name):
    with pytest.raises(AuditError, match=name):
        audit(name, OFFLINE)


def test_a_wheel_without_metadata(tmp_path):
    path = tmp_path / "suspect-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("suspect/a.py", "x = 1\n")
    assert "invalid-metadata" in rules(path)


@pytest.mark.parametrize(
    "text",
    [
        "Name: \x1b[31mred\n",
        "Name: a\n  --index-url http://evil\n",
        "Version: 1.0\n",
        "Name: a/../../b\n",
        "",
        "\0" * 1000,
    ],
)
def test_metadata_with_hostile_names(text, tmp_path):
    path = tmp_path / "suspect-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("suspect-1.0.dist-info/METADATA", text)
    report = audit(str(path), OFFLINE)
    assert "invalid-metadata" in {item.rule for item in report.findings}
    assert set(report.components[0].key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_metadata_of_megabytes_is_cut(tmp_path):
    path = make_wheel(tmp_path, {}, Summary="x" * 5_000_000)
    assert "invalid-metadata" in rules(path)
    path = make_wheel(tmp_path, {}, Requires_Dist=[f"p{number}" for number in range(20_000)])
    assert len(audit(str(path), OFFLINE).components) <= 2001


def test_metadata_packed_into_a_bomb(tmp_path):
    path = make_wheel(tmp_path, {}, Summary="x" * 50_000_000)
    assert path.stat().st_size < 100_000
    assert "invalid-metadata" in rules(path)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A distribution on this Python's path, as pip would have left it."""

    def install(files, record=None):
        info = tmp_path / "suspect-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(metadata())
        rows = []
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest())
            rows.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(content)}")
        (info / "RECORD").write_text("\n".join([*rows, *(record or [])]))
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path

    return install


def test_an_installed_distribution_is_not_imported(installed):
    installed({"suspect_for_audit/__init__.py": EVIL})
    report = audit("suspect", OFFLINE)
    assert report.target.kind == "installed"
    assert "subprocess" in {item.rule for item in report.findings}
    assert "suspect_for_audit" not in sys.modules


def test_files_that_differ_from_the_record(installed):
    folder = installed({"pkg/a.py": "x = 1\n", "pkg/b.py": "x = 1\n", "pkg/c.py": "x = 1\n"})
    assert audit("suspect", OFFLINE).findings == []
    (folder / "pkg/a.py").write_text("x = 2\n")
    (folder / "pkg/b.py").unlink()
    found = {(item.rule, item.path) for item in audit("suspect", OFFLINE).findings}
    assert found == {("changed-file", "pkg/a.py"), ("changed-file", "pkg/b.py")}


def test_a_record_that_leads_elsewhere(installed):
    installed({"pkg/a.py": "x = 1\n"}, record=["../../../../../../etc/passwd,,", "/etc/hosts,,"])
    found = [item for item in audit("suspect", OFFLINE).findings if "RECORD" in item.message]
    assert len(found) == 2


def test_an_editable_distribution_is_its_folder():
    report = audit(DISTRIBUTION, Settings(offline=True, bandit=False, limits=Limits(files=5)))
    assert report.target.kind in ("editable", "installed")


def test_an_sdist_may_be_large_without_being_kept(tmp_path):
    path = tmp_path / "suspect-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("suspect-1.0/data.bin")
        info.size = 30_000_000
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    report = audit(str(path), OFFLINE)
    assert report.target.members[0].read(10) == b""
