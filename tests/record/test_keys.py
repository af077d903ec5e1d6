from __future__ import annotations

import json
import pickle
import stat
import sys

import pytest

from ludus.errors import DependencyNotInstalled, RecordDamaged, RecordError
from ludus.record import (
    PublicKey,
    Run,
    fsck,
    generate_key,
    load_public_key,
    load_signing_key,
    read_run,
    sign_run,
)
from ludus.record.format.keys import default_key_path, trusted_keys, trusted_keys_path
from tests.record.forging import SUBJECT, small_run


@pytest.fixture
def key(tmp_path):
    return generate_key(tmp_path / "keys" / "mine")


def test_keys_are_kept_and_come_back(tmp_path, key):
    path = tmp_path / "keys" / "mine"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    loaded = load_signing_key(path)
    assert loaded.public == key.public == load_public_key(f"{path}.pub")
    assert load_public_key(key.public.hex) == key.public
    assert key.fingerprint.startswith("SHA256:")
    assert key.public.verify(loaded.sign(b"text"), b"text")
    assert not key.public.verify(loaded.sign(b"text"), b"Text")
    assert not key.public.verify(b"short", b"text")


def test_a_key_does_not_show_itself(tmp_path, key):
    assert repr(key) == f"SigningKey({key.fingerprint})"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)


@pytest.mark.parametrize("existing", ["mine", "mine.pub"])
def test_no_key_is_replaced(tmp_path, existing):
    (tmp_path / existing).write_bytes(b"precious")
    with pytest.raises(RecordError, match="already"):
        generate_key(tmp_path / "mine")
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [
        (existing, b"precious")
    ]


def test_a_key_behind_a_link_is_not_replaced(tmp_path):
    (tmp_path / "mine").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError, match="already"):
        generate_key(tmp_path / "mine")


def test_the_default_place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_key_path() == tmp_path / "ludus" / "keys" / "default"
    made = generate_key()
    assert load_signing_key().public == made.public
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_key_path() == tmp_path / ".config" / "ludus" / "keys" / "default"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path, key, mode):
    path = tmp_path / "keys" / "mine"
    path.chmod(mode)
    with pytest.raises(RecordError, match="chmod 600"):
        load_signing_key(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "no private key"), (b"x" * 5000, "more than"), (b"-----BEGIN", "no private key")],
)
def test_what_is_no_private_key(tmp_path, content, words):
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(RecordError, match=words):
        load_signing_key(tmp_path / "key")


def test_a_key_of_another_kind(tmp_path):
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import x25519

    other = x25519.X25519PrivateKey.generate().private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    (tmp_path / "key").write_bytes(other)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(RecordError, match="Ed25519"):
        load_signing_key(tmp_path / "key")


@pytest.mark.parametrize("source", ["missing", "ab" * 31, "AB" * 32])
def test_what_is_no_public_key(tmp_path, source):
    with pytest.raises(RecordError, match="no key at"):
        load_public_key(source)
    (tmp_path / "key.pub").write_text(source)
    with pytest.raises(RecordError, match="64 hexadecimal"):
        load_public_key(tmp_path / "key.pub")
    with pytest.raises(RecordError, match="64 hexadecimal"):
        PublicKey(source)


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[sign\]"):
        generate_key(tmp_path / "key")


def test_a_run_is_signed_when_it_is_closed(tmp_path, key):
    path = small_run(tmp_path / "run", key=key)
    reader = read_run(path)
    signature = reader.signature()
    assert signature.key == key.public
    assert signature.is_genuine()
    assert signature.covers(reader.manifest_hash, reader.head, reader.events_count)
    assert not signature.covers(reader.manifest_hash, reader.head, reader.events_count + 1)
    assert fsck(path).ok
    assert key.public.hex in (path / "signature.json").read_text()


@pytest.mark.parametrize("field", ["public_key", "manifest", "head", "signature", "events"])
def test_a_changed_signature_is_not_genuine(tmp_path, key, field):
    path = small_run(tmp_path / "run", key=key)
    content = json.loads((path / "signature.json").read_bytes())
    if field == "events":
        content[field] += 1
    else:
        last = content[field][-1]
        content[field] = content[field][:-1] + ("0" if last != "0" else "1")
    text = json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"
    (path / "signature.json").write_text(text)
    assert not read_run(path).signature().is_genuine()
    assert fsck(path).ok is (field in ("public_key", "signature", "manifest"))


def test_somebody_elses_signature_names_another_key(tmp_path, key):
    path = small_run(tmp_path / "run", key=key)
    other = generate_key(tmp_path / "other")
    sign_run(path, other)
    signature = read_run(path).signature()
    assert signature.is_genuine()
    assert signature.key == other.public != key.public


def test_a_signature_of_another_run_does_not_cover_this_one(tmp_path, key):
    one, two = small_run(tmp_path / "one", key=key), small_run(tmp_path / "two", key=key)
    (one / "signature.json").write_bytes((two / "signature.json").read_bytes())
    reader = read_run(one)
    assert reader.signature().is_genuine()
    assert not reader.signature().covers(reader.manifest_hash, reader.head, reader.events_count)
    assert "another run" in fsck(one).problems[0].message


def test_resuming_takes_the_signature_away(tmp_path, key):
    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT, key=key)
    run.close("interrupted")
    assert read_run(tmp_path / "run").signature() is not None
    run = Run.resume(tmp_path / "run", key=key)
    assert read_run(tmp_path / "run").signature() is None
    run.close()
    assert read_run(tmp_path / "run").signature().is_genuine()
    assert fsck(tmp_path / "run").ok


def test_only_closed_runs_are_signed_afterwards(tmp_path, key):
    run = Run.create(tmp_path / "run", kind="test", subject=SUBJECT)
    run._journal.release()
    with pytest.raises(RecordError, match="not closed"):
        sign_run(tmp_path / "run", key)
    Run.resume(tmp_path / "run").close()
    sign_run(tmp_path / "run", key)
    assert read_run(tmp_path / "run").signature().is_genuine()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"x" * 5000,
        b'{"algorithm":"none"}\n',
        b'{"$float":"nan"}\n',
    ],
)
def test_what_is_no_signature(tmp_path, key, content):
    path = small_run(tmp_path / "run")
    (path / "signature.json").write_bytes(content)
    with pytest.raises(RecordDamaged) as caught:
        read_run(path).signature()
    assert caught.value.file == "signature.json"
    assert fsck(path).problems[0].file == "signature.json"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("algorithm", "rsa"),
        ("public_key", "xyz"),
        ("head", 3),
        ("signature", "ab"),
        ("events", "7"),
        ("events", True),
        ("more", 1),
    ],
)
def test_malformed_fields_of_a_signature(tmp_path, key, field, value):
    path = small_run(tmp_path / "run", key=key)
    content = json.loads((path / "signature.json").read_bytes()) | {field: value}
    text = json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"
    (path / "signature.json").write_text(text)
    with pytest.raises(RecordDamaged):
        read_run(path).signature()


def test_a_list_of_trusted_keys_that_everybody_can_change(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    listed = trusted_keys_path()
    listed.parent.mkdir(parents=True)
    listed.write_text("1" * 64 + "\n")
    listed.chmod(0o644)
    assert len(trusted_keys()) == 1
    listed.chmod(0o666)
    with pytest.raises(RecordError, match="changed by everybody"):
        trusted_keys()


def test_a_public_key_that_everybody_can_change(tmp_path, monkeypatch):
    """Whoever puts another key in its place would be trusted as the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    generate_key()
    public = default_key_path().with_name("default.pub")
    public.chmod(0o666)
    with pytest.raises(RecordError, match="changed by everybody"):
        trusted_keys()


def test_keys_are_not_looked_for_in_the_folder_one_is_in(tmp_path, monkeypatch):
    """It may be a folder that somebody has handed over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    generate_key(tmp_path / "ludus" / "keys" / "default")
    assert trusted_keys() == ()
