# The engine on a graphics processor of NVIDIA: the target `engine`. The MCP server needs no device: see cpu.Dockerfile.
#
# torch brings the whole of the CUDA 13 runtime as packages, so the base is that of cpu.Dockerfile; the driver and its
# library come from the host (NVIDIA Container Toolkit). Every package is pinned and verified: what CPUs need by
# requirements.lock, the rest by deploy/gpu/. For x86-64. It has not been built yet.

FROM python:3.11-slim-bookworm AS base
# A fixed number: the files in a volume keep their owner from one image to the next.
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kb
ENV PATH=/opt/kb/bin:$PATH

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements.lock deploy/install.sh ./
RUN ./install.sh engine
COPY deploy/gpu gpu
# Each lock is whole, so nothing has to be looked for.
RUN pip install --no-cache-dir --no-deps --require-hashes \
    --requirement gpu/sentence-transformers.lock --requirement gpu/cuda.lock
COPY README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --no-deps --build-constraint requirements.lock .
# Also makes the graph that the engine runs where the device cannot be used.
RUN XDG_CACHE_HOME=/opt/kb/cache kb model fetch && pip uninstall --yes pip

FROM base AS engine
COPY --from=build /opt/kb /opt/kb
# What the toolkit is to put into the container.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENV XDG_CACHE_HOME=/opt/kb/cache
RUN install --directory --owner=kb --group=kb /data
USER 10001:10001
EXPOSE 8000
CMD ["kb", "engine"]
