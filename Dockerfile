# Any Debian with python3 (3.11 to 3.14), its venv module and ca-certificates: docker build --build-arg BASE=…
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
# A build behind a proxy trusts what the base trusts, or a bundle that is mounted here.
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    UV_LINK_MODE=copy \
    UV_PYTHON_DOWNLOADS=never
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir 'uv>=0.13,<1'
WORKDIR /app
COPY pyproject.toml uv.lock ./
# The dependencies are a layer of their own: a change of the code does not install them again.
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-project --python "$(command -v python3)"
COPY tools tools
# What no process loads, and debug information: a quarter of the installed bytes.
RUN .venv/bin/python tools/trim_environment.py .venv \
    && .venv/bin/python -c 'import lancedb, numpy, onnxruntime, pyarrow.dataset, spacy, uvloop, wordllama, xberg'
COPY README.md ARCHITECTURE.md CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md SECURITY.md LICENSE mkdocs.yml ./
COPY recollect recollect
COPY schemas schemas
COPY pipeline pipeline
COPY api api
COPY connectors connectors
COPY app app
COPY docs docs
# There is no git in the build: docker build --build-arg VERSION="$(recollect --version | cut -d ' ' -f 2)".
ARG VERSION=0.1.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" /opt/uv/bin/uv build --wheel --out-dir dist \
    && /opt/uv/bin/uv pip install --python .venv/bin/python --no-deps dist/*.whl

FROM ${BASE}
RUN useradd --system --uid 10001 --create-home recollect \
    && install --directory --owner recollect --group recollect /data
COPY --from=build /app/.venv /app/.venv
# SSL_CERT_FILE: mount a bundle there, and every client of the service trusts it.
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    RECOLLECT_HOST=0.0.0.0 \
    RECOLLECT_PORT=8787 \
    RECOLLECT_DATA_DIR=/data
USER recollect
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['RECOLLECT_PORT'] + '/health', timeout=4)"]
ENTRYPOINT ["recollect"]
CMD ["serve"]
