# The engine and the MCP server, for any processor: the targets `engine` and `mcp`.
# Packages are verified by requirements.lock, the model by its own digests; nothing is fetched at run time.

FROM python:3.11-slim-bookworm AS base
# A fixed number: the files in a volume keep their owner from one image to the next.
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kb
ENV PATH=/opt/kb/bin:$PATH

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements.lock deploy/install.sh ./

FROM build AS build-engine
RUN ./install.sh engine
COPY README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --no-deps --build-constraint requirements.lock .
# Also makes the graph that the engine runs: there is no place to write it to later.
RUN XDG_CACHE_HOME=/opt/kb/cache kb model fetch && pip uninstall --yes pip setuptools

FROM build AS build-mcp
RUN ./install.sh mcp
COPY README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --no-deps --build-constraint requirements.lock . && pip uninstall --yes pip setuptools

FROM base AS engine
COPY --from=build-engine /opt/kb /opt/kb
ENV XDG_CACHE_HOME=/opt/kb/cache
# A new volume takes over the owner of the folder it covers.
RUN install --directory --owner=kb --group=kb /data
USER 10001:10001
EXPOSE 8000
CMD ["kb", "engine"]

FROM base AS mcp
COPY --from=build-mcp /opt/kb /opt/kb
USER 10001:10001
EXPOSE 3000
CMD ["kb", "mcp"]
