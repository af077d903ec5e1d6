# Two images: `ludus`, the command line, and `serve`, environments over the network.
#
#     docker build --target serve --tag ludus-serve .
#
# docs/containers.md tells how to run them. Instructions of BuildKit are used (`RUN --mount`).

# Debian with the tag and the digest that the tag had. Where no registry is reachable, another image
# of Debian 13 or 12 can stand in: --build-arg BASE=localhost/debian:trixie
ARG BASE=docker.io/library/debian:13.7-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

# Programs of Debian that run as root whoever starts them (su, mount, …) lose that right.
FROM ${BASE} AS python
# No versions: Debian's mirrors keep the newest of a package only.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends bubblewrap python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3-venv
# pip stays outside of the environment that is copied into the images.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/ludus
WORKDIR /src
# Every file of a package is compared with its hash here. requirements.lock has all extras.
ARG LOCK=requirements-image.lock
ENV PIP="/build/bin/pip --python /opt/ludus/bin/python3 --disable-pip-version-check --no-input" \
    PIP_CONFIG_FILE=/run/secrets/pip \
    COMPILE="python3 -W ignore -m compileall -q -j 0 --invalidation-mode unchecked-hash"
COPY ${LOCK} ./
# Bytecode goes by the hash of its source instead of the date: it is valid wherever it is copied to.
# Examples of Box2D are for Python 2, and no part of what runs.
RUN --mount=type=secret,id=pip --mount=type=secret,id=ca --mount=type=cache,target=/root/.cache/pip \
    ${PIP} install --no-compile --only-binary :all: --require-hashes --no-deps --requirement ${LOCK} \
    && rm -rf /opt/ludus/lib/python3*/site-packages/Box2D/examples \
    && ${COMPILE} /opt/ludus/lib
COPY LICENSE README.md pyproject.toml ./
COPY src src
RUN ${PIP} install --no-compile --no-index --no-build-isolation --no-deps . \
    && ${PIP} uninstall --yes editables hatchling pathspec pluggy trove-classifiers \
    && ${PIP} check \
    && ${COMPILE} /opt/ludus/lib/python3*/site-packages/ludus /opt/ludus/lib/python3*/site-packages/*.py

FROM python AS ludus
LABEL org.opencontainers.image.title="Ludus" \
      org.opencontainers.image.description="Reinforcement learning environments with Gymnasium's API" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.source="https://github.com/ludus-gym/ludus"
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /work --shell /usr/sbin/nologin ludus \
    && install --directory --owner ludus --group ludus --mode 0755 /work
COPY --from=build /opt/ludus /opt/ludus
# Only /tmp has to be writable.
ENV PATH=/opt/ludus/bin:/usr/local/bin:/usr/bin:/bin \
    LUDUS_CACHE=/tmp/ludus-cache \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /work
# A number, so that a cluster can tell that it is not root.
USER 10001:10001
ENTRYPOINT ["ludus"]
CMD ["--help"]

FROM ludus AS serve
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python3", "-I", "-S", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8000, timeout=4); c.request('GET', '/health'); raise SystemExit(c.getresponse().status != 200)"]
# The token is in LUDUS_SERVE_TOKEN or in a file: docs/containers.md.
ENTRYPOINT ["ludus", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["CartPole-v1"]
