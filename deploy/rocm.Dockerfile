# The engine on a graphics processor of AMD: the target `engine`. The MCP server needs no device: see cpu.Dockerfile.
#
# torch's build for ROCm is not in the package index. Whoever builds this names the index that has it, as torch's own
# instructions for ROCm do: --build-arg TORCH_INDEX=... From there come torch and its compiler, pinned by version and
# not by digest; all else is pinned and verified. For x86-64. It has not been built yet.

FROM rocm/dev-ubuntu-24.04:7.1.1 AS base
# Ubuntu keeps only the newest build of a package, so none can be pinned.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kb
ENV PATH=/opt/kb/bin:$PATH

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements.lock deploy/install.sh ./
RUN ./install.sh engine
COPY deploy/gpu gpu
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement gpu/sentence-transformers.lock
ARG TORCH_INDEX
# Of what torch needs, only its compiler is not there yet.
RUN test -n "$TORCH_INDEX" && pip install --no-cache-dir --index-url "$TORCH_INDEX" torch==2.13.0
COPY README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --no-deps --build-constraint requirements.lock .
# Also makes the graph that the engine runs where the device cannot be used.
RUN XDG_CACHE_HOME=/opt/kb/cache kb model fetch && pip uninstall --yes pip

FROM base AS engine
COPY --from=build /opt/kb /opt/kb
ENV XDG_CACHE_HOME=/opt/kb/cache
RUN install --directory --owner=kb --group=kb /data
USER 10001:10001
EXPOSE 8000
CMD ["kb", "engine"]
