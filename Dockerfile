# One image for coordinator and agents.
# Another base: docker build --build-arg BASE_IMAGE=... . From a registry name it by its digest:
# BASE_IMAGE=python:3.12-slim@sha256:… (docker buildx imagetools inspect python:3.12-slim says which).
# What is installed is requirements/image.lock, by its hashes; with other extras: make lock.
# What each frame goes through is compiled ("Compiled" in docs/performance.md), unless --build-arg COMPILE= says no.
ARG BASE_IMAGE=python:3.12-slim
FROM ${BASE_IMAGE} AS built

ARG COMPILE=1
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/venv/bin:$PATH
WORKDIR /opt/posse
COPY requirements/image.lock requirements/compile.lock requirements/
RUN python3 -m venv /opt/venv \
 && pip install --require-hashes -r requirements/image.lock \
 && python -c "import pathlib, shutil; [shutil.rmtree(t, True) for t in [*pathlib.Path('/opt/venv').rglob('tests')]]"
RUN if [ -n "$COMPILE" ]; then \
        apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev \
     && { ls "$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
          || apt-get install -y -q --no-install-recommends python3-dev; } \
     && pip install --require-hashes --target /opt/compile -r requirements/compile.lock; \
    fi
COPY pyproject.toml setup.py README.md LICENSE ./
COPY posse posse
COPY agent agent
COPY coordinator coordinator
COPY topologies topologies
COPY protocol protocol
COPY systems systems
COPY examples examples
RUN export PYTHONPATH=/opt/compile POSSE_COMPILE=$COMPILE \
 && pip install --no-deps --no-build-isolation . \
 && pip install --no-deps --no-build-isolation ./systems \
 && pip uninstall --yes --quiet setuptools pip

FROM ${BASE_IMAGE}

COPY --from=built /opt/venv /opt/venv
# an empty volume gets its owner from a folder that is here: as many parties as posse new --deploy compose writes
RUN mkdir -p /runs /keys /data /party/coordinator \
 && for rank in $(seq 0 255); do mkdir /party/agent-$rank /party/data-$rank; done \
 && chown -R 10001:10001 /runs /keys /data /party && chmod -R go= /keys /data /party

USER 10001:10001
WORKDIR /runs
# a container that is stopped is started again: SIGTERM interrupts a run, and does not end it
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 POSSE_RESUMABLE=1
ENTRYPOINT ["posse"]
CMD ["--help"]
