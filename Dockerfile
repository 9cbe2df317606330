# llmsspider with PostgreSQL and the MCP server, without a browser: docs/how-to/deployment.md.
#   docker build -t llmsspider .
#   docker run --rm -v documentation:/data llmsspider https://docs.example.com/ -o docs
FROM python:3.13.9-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/llmsspider
COPY locks/requirements-server.lock ./
RUN /opt/llmsspider/bin/pip install --require-hashes -r requirements-server.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY llmsspider ./llmsspider
COPY pipelines_config ./pipelines_config
RUN /opt/llmsspider/bin/pip install --no-deps .

FROM python:3.13.9-slim-bookworm
COPY --from=build /opt/llmsspider /opt/llmsspider
RUN useradd --uid 10001 --create-home --home-dir /data llmsspider && install -d -o 10001 -g 10001 /data/store
ENV PATH=/opt/llmsspider/bin:$PATH LLMS_DATA_DIR=/data/store PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
VOLUME /data
HEALTHCHECK --interval=60s --timeout=20s --start-period=20s CMD ["llmsspider", "sources"]
ENTRYPOINT ["llmsspider"]
CMD ["--help"]
