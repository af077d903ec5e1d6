"""Opening, closing and losing connections with ludus.connect."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import ludus
from ludus.errors import (
    BadArguments,
    CapacityReached,
    ClosedEnvironmentError,
    Error,
    InvalidAction,
    ServeError,
    ServerLost,
    ServerTimeout,
    SessionGone,
    StateError,
    UnknownName,
)
from ludus.serve import Limits, Served
from ludus.testing.require import require_same
from tests.serve.client.support import SERVED, Running, raises_within, running, wait_for


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(*SERVED) as found:
        yield found


def test_what_cannot_be_opened(server: Running) -> None:
    cases: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownName, {"id": "Nothing-v0"}),
        (BadArguments, {"id": "Counter-v0", "goal": 3}),
        (BadArguments, {"id": "CartPole-v1", "render_mode": "human"}),
        (BadArguments, {"id": "CartPole-v1", "num_envs": 10**6}),
        (ServeError, {"num_envs": 0}),
        (ServeError, {"num_envs": "3"}),
        (ServeError, {"timeout": 0}),
        (ServeError, {"pool": True}),
        (ServeError, {"token": "a\nb"}),
        (ValueError, {"num_envs": 2, "autoreset_mode": "Sometimes"}),
        (BadArguments, {"num_envs": 2, "autoreset_mode": "NextStep", "pool": True}),
    ]
    for kind, given in cases:
        with pytest.raises(kind):
            ludus.connect(server.url, **given)
    for url in ("", "ftp://x", "http://", 3, "http://a b", "http://me:secret@127.0.0.1:1"):
        with pytest.raises(ServeError):
            ludus.connect(url)  # type: ignore[arg-type]
    wait_for(lambda: not len(server.service.sessions))


def test_without_an_id_the_servers_first_is_opened(server: Running) -> None:
    with closing(ludus.connect(server.url)) as env:
        assert env.spec.id == "CartPole-v1"  # type: ignore[union-attr]
    with closing(ludus.connect(f"{server.url}/env/Counter-v0")) as env:
        assert env.spec.id == "Counter-v0"  # type: ignore[union-attr]


def test_the_spec_makes_another_one(server: Running) -> None:
    with closing(ludus.connect(server.url, "Image-v0")) as env:
        assert env.spec is not None
        with closing(env.spec.make(render_mode="rgb_array")) as other:
            other.reset(seed=1)
            assert other.render().shape == (16, 20, 3)
        with closing(ludus.make_vec(env.spec, 3)) as batch:
            require_same(batch.reset(seed=2)[0][0], env.reset(seed=2)[0])
    with closing(ludus.connect(server.url, "Image-v0", token="secret!" * 4)) as env:
        assert "secret" not in repr(env.spec)


def test_closing_gives_the_session_back(server: Running) -> None:
    sessions = server.service.sessions
    wait_for(lambda: not len(sessions))
    env = ludus.connect(server.url, "CartPole-v1")
    batch = ludus.connect(server.url, "CartPole-v1", num_envs=3)
    pool = ludus.connect(server.url, "Slow-v0", num_envs=2, pool=True)
    assert len(sessions) == 4
    pool.reset()
    pool.send([0, 0])
    for one in (env, batch, pool):
        one.close()
        one.close()
    wait_for(lambda: not len(sessions))
    with pytest.raises(ServerLost, match="closed"):
        env.reset()
    with pytest.raises(ClosedEnvironmentError):
        batch.reset()


def test_a_message_that_is_too_large_for_the_server() -> None:
    with running("CartPole-v1", message_bytes=4096) as server:
        env = ludus.connect(server.url, num_envs=64)
        env.reset(seed=0)
        with pytest.raises(ServerLost, match="--message-bytes"):
            raises_within(3, lambda: env.step_many(np.zeros((64, 64), np.int64)), ValueError)
        env.close()


def test_a_slow_answer_times_out(server: Running) -> None:
    with closing(ludus.connect(server.url, "Slow-v0", timeout=0.05, num_envs=1)) as env:
        env.reset(seed=0)
        with pytest.raises(ServerTimeout, match="timeout="):
            env.step([0])
        with pytest.raises(ServerLost, match="timeout="):
            env.step([0])
        env.reconnect()
        env.reset(seed=0)


def test_an_interrupted_call_ends_the_connection(server: Running) -> None:
    env = ludus.connect(server.url, "CartPole-v1")
    env.reset(seed=0)
    connection = env._link.connection  # type: ignore[attr-defined]
    receive = connection.receive

    def interrupted() -> Any:
        receive()
        raise KeyboardInterrupt

    connection.receive = interrupted
    with pytest.raises(KeyboardInterrupt):
        env.step(0)
    with pytest.raises(ServerLost, match="interrupted by KeyboardInterrupt"):
        env.step(0)
    env.reconnect()
    env.reset(seed=0)
    env.close()


def test_threads_may_share_an_environment(server: Running) -> None:
    env = ludus.connect(server.url, "Counter-v0", num_envs=1)
    env.reset(seed=0)
    problems: list[BaseException] = []

    def steps() -> None:
        try:
            for _ in range(50):
                env.step([0])
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=steps) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    env.close()
    assert not problems


def test_another_process_cannot_use_the_connection(server: Running) -> None:
    env = ludus.connect(server.url, "CartPole-v1")
    env.reset(seed=0)
    env._link._maker += 1  # type: ignore[attr-defined]
    with pytest.raises(Error, match="in this one"):
        env.step(0)
    env._link._maker = os.getpid()  # type: ignore[attr-defined]
    env.step(0)
    with pytest.raises(Error, match="cannot be pickled"):
        env.__reduce__()
    env.close()


def test_a_full_server_says_so() -> None:
    with running("CartPole-v1", limits=Limits(sessions=2)) as server:
        kept = [ludus.connect(server.url) for _ in range(2)]
        with pytest.raises(CapacityReached, match="at most 2"):
            ludus.connect(server.url)
        with pytest.raises((CapacityReached, BadArguments)):
            ludus.connect(server.url, num_envs=3, pool=True)
        kept[0].close()
        wait_for(lambda: len(server.service.sessions) == 1)
        ludus.connect(server.url).close()
        kept[1].close()


def test_an_idle_session_ends_with_its_reason() -> None:
    with running("CartPole-v1", limits=Limits(idle_seconds=0.2)) as server:
        env = ludus.connect(server.url)
        env.reset(seed=0)
        wait_for(lambda: not len(server.service.sessions))
        problem = raises_within(3, lambda: env.step(0), (ServerLost, SessionGone))
        assert "idle" in str(problem)
        env.reconnect()
        env.reset(seed=0)
        env.close()


def test_a_token_is_needed() -> None:
    with running("CartPole-v1", token="t" * 32) as server:
        for token in (None, "wrong" * 8):
            with pytest.raises(ServerLost, match=r"401|token"):
                ludus.connect(server.url, token=token)
        with closing(ludus.connect(server.url, token="t" * 32)) as env:
            env.reset(seed=0)


def test_a_server_that_stops_says_goodbye() -> None:
    with running("CartPole-v1") as server:
        env = ludus.connect(server.url)
        env.reset(seed=0)
    began = time.monotonic()
    raises_within(3, lambda: env.step(0), ServerLost)
    with pytest.raises(ServerLost, match="ludus serve"):
        env.reconnect()
    env.close()
    assert time.monotonic() - began < 5


def test_a_research_task() -> None:
    with (
        running("research/battleOfSexes") as server,
        closing(ludus.connect(server.url)) as env,
    ):
        seen, info = env.reset(seed=7)
        assert "Two players" in seen["task"]
        assert seen in env.observation_space
        assert "score" in info
        seen, reward, terminated, truncated, _ = env.step("echo héllo")
        assert seen["output"].strip() == "héllo"
        assert (reward, terminated, truncated) == (0.0, False, False)
        for call in (env.get_state, lambda: env.set_state({})):
            with pytest.raises(StateError, match="stays on the server"):
                call()
        with pytest.raises(BadArguments):
            env.get_attr("np_random_seed")  # type: ignore[attr-defined]
        for bad in (3, {"tool": "none"}, None):
            with pytest.raises(InvalidAction):
                env.step(bad)


def test_a_recorded_episode_goes_on_with_another_server(tmp_path: Any) -> None:
    task = Served.of("research/battleOfSexes", records=tmp_path)
    with running(task) as server, closing(ludus.connect(server.url)) as env:
        _, info = env.reset(seed=7)
        env.step("echo kept > kept.txt")
    with running(task) as server, closing(ludus.connect(server.url)) as env:
        seen, again = env.reset(options={"episode_id": info["episode_id"]})
        assert again["episode_id"] == info["episode_id"]
        assert seen["steps_left"] == 49
        assert env.step("cat kept.txt")[0]["output"].strip() == "kept"
        _, other = env.reset(seed=8)
        assert other["episode_id"] != info["episode_id"]


def test_tls(tmp_path: Any) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    with running("CartPole-v1", certificate=certificate, key=key) as server:
        port = server.settings.port
        for url in (f"https://127.0.0.1:{port}", f"wss://127.0.0.1:{port}/ws"):
            with pytest.raises(ServerLost, match="(?i)certificate"):
                ludus.connect(url)
            trusting = ssl.create_default_context(cafile=str(certificate))
            with closing(ludus.connect(url, num_envs=64, tls=trusting)) as env:
                env.reset(seed=0)
                # More than fits a record of TLS.
                many = env.step_many(np.zeros((64, 64), np.int64))
                assert many.observations.shape == (64, 64, 4)
                env._link.connection.attend()  # type: ignore[union-attr]
                env.step(np.zeros(64, np.int64))
        with pytest.raises(ServerLost):
            ludus.connect(f"http://127.0.0.1:{port}", timeout=2)


def write_certificate(certificate: Path, key: Path) -> None:
    """Write a certificate of 127.0.0.1 that is signed by itself."""
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(own.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(own, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    certificate.write_bytes(made.public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key.write_bytes(own.private_bytes(pem, *plain))
