# One image for coordinator and agents.
# Another base: docker build --build-arg BASE_IMAGE=... . From a registry name it by its digest:
# BASE_IMAGE=python:3.12-slim@sha256:… (docker buildx imagetools inspect python:3.12-slim says which).
# What is installed is requirements/image.lock, by its hashes; with other extras: make lock.
ARG BASE_IMAGE=python:3.12-slim
FROM ${BASE_IMAGE}

WORKDIR /opt/posse
COPY pyproject.toml README.md LICENSE ./
COPY requirements/image.lock requirements/
COPY posse posse
COPY agent agent
COPY coordinator coordinator
COPY topologies topologies
COPY protocol protocol
RUN python -m venv /opt/venv \
 && export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
 && /opt/venv/bin/pip install --require-hashes -r requirements/image.lock \
 && /opt/venv/bin/pip install --no-deps --no-build-isolation . \
 && /opt/venv/bin/pip uninstall --yes --quiet --disable-pip-version-check setuptools pip \
 && find /opt/venv -depth -type d -name tests -exec rm -rf {} + \
 && rm -rf /opt/posse/build \
 && mkdir -p /runs /keys /data /party/coordinator /party/agent-0 /party/data-0 \
 && for rank in 1 2 3 4 5 6 7; do mkdir /party/agent-$rank /party/data-$rank; done \
 && chown -R 10001:10001 /runs /keys /data /party && chmod -R go= /keys /data /party

USER 10001:10001
WORKDIR /runs
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
ENTRYPOINT ["posse"]
CMD ["--help"]
