FROM python:3.11-slim AS build
RUN python -m pip install --no-cache-dir 'uv>=0.13,<1'
WORKDIR /app
COPY pyproject.toml uv.lock ./
# The dependencies are a layer of their own: a change of the code does not install them again.
RUN uv sync --frozen --no-dev --no-install-project --python /usr/local/bin/python
COPY README.md LICENSE ./
COPY tools tools
COPY recollect recollect
COPY schemas schemas
COPY pipeline pipeline
COPY api api
COPY connectors connectors
COPY app app
COPY docs/asyncapi.json docs/
# There is no git in the build: docker build --build-arg VERSION="$(recollect --version | cut -d ' ' -f 2)".
ARG VERSION=0.1.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" uv build --wheel --out-dir dist \
    && uv pip install --python .venv/bin/python --no-deps dist/*.whl

FROM python:3.11-slim
RUN useradd --system --uid 10001 --create-home recollect \
    && install --directory --owner recollect --group recollect /data
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RECOLLECT_HOST=0.0.0.0 \
    RECOLLECT_DATA_DIR=/data
USER recollect
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8787/health', timeout=4)"]
ENTRYPOINT ["recollect"]
CMD ["serve"]
