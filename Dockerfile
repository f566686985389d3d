# One image for coordinator and agents.
# Another base: docker build --build-arg BASE_IMAGE=... .
ARG BASE_IMAGE=python:3.12-slim
FROM ${BASE_IMAGE}

WORKDIR /opt/posse
COPY pyproject.toml README.md ./
COPY posse posse
COPY agent agent
COPY coordinator coordinator
COPY topologies topologies
COPY protocol protocol
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check . \
 && rm -rf /opt/posse/build \
 && mkdir -p /runs && chown 10001:10001 /runs

USER 10001:10001
WORKDIR /runs
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
ENTRYPOINT ["posse"]
CMD ["--help"]
