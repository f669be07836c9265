# The engine on AMD's ROCm: the target `engine`. The MCP server needs no device: see cpu.Dockerfile.
#
# The engine computes on the processor in this image too: it does not choose a device yet. What is here is the
# runtime that such a choice needs: ONNX Runtime built for MIGraphX on ROCm 7. It has not been built yet.

FROM rocm/dev-ubuntu-24.04:7.1.1 AS base
# Ubuntu keeps only the newest build of a package, so none can be pinned.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends migraphx python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kb
ENV PATH=/opt/kb/bin:$PATH

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements.lock deploy/install.sh ./
# For Python 3.12, which Ubuntu 24.04 has, on x86-64.
RUN ./install.sh engine "onnxruntime-migraphx==1.27.1 \
    --hash=sha256:089c992442b6bff9f7786173ce6a31db111b104ae66be34d5467593951d905a4"
COPY README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --no-deps --build-constraint requirements.lock .
RUN XDG_CACHE_HOME=/opt/kb/cache kb model fetch && pip uninstall --yes pip

FROM base AS engine
COPY --from=build /opt/kb /opt/kb
ENV XDG_CACHE_HOME=/opt/kb/cache
RUN install --directory --owner=kb --group=kb /data
USER 10001:10001
EXPOSE 8000
CMD ["kb", "engine"]
