# The engine on NVIDIA's CUDA runtime: the target `engine`. The MCP server needs no device: see cpu.Dockerfile.
#
# The engine computes on the processor in this image too: it does not choose a device yet. What is here is the
# runtime that such a choice needs: ONNX Runtime built for CUDA 13 and cuDNN 9. It has not been built yet.

FROM nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04 AS base
# Ubuntu keeps only the newest build of a package, so none can be pinned.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kb
ENV PATH=/opt/kb/bin:$PATH

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements.lock deploy/install.sh ./
# For Python 3.12, which Ubuntu 24.04 has, on x86-64.
RUN ./install.sh engine "onnxruntime-gpu==1.28.0 \
    --hash=sha256:3b3a63cecd239d72432cd44569d047de8f4d69e471cd5f60f7ac7fc8769be5ec"
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
