# The image of the worker and of every other command: `docker run eddy-streams --help`. `make image` builds it.
#
# The same commit gives the same bytes: no file of it holds a time, a cache or a random number, and `make image` sets
# the times of all files to that of the commit. The base image is the one thing that moves: name it by its digest
# (`--build-arg BASE=python:3.11-slim@sha256:...`) if that matters to you.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
RUN python -m venv /opt/build && python -m venv --without-pip /opt/eddy
# The dependencies first: a change of the code then leaves this layer as it is.
COPY constraints constraints
COPY pyproject.toml ./
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*p['dependencies'], *p['optional-dependencies']['openid'], sep='\n')" \
    | grep -v '^eddy-client$' > requirements.txt \
 && /opt/build/bin/pip --python /opt/eddy install --no-compile -c constraints/openid.txt -r requirements.txt \
 && /opt/build/bin/pip install --no-compile -c constraints/image.txt cyclonedx-bom
COPY LICENSE README.md ./
COPY streams streams
COPY schemas schemas
COPY topics topics
COPY client client
# What `eddy --version` names: the version if a tag does, and the commit. There is no git here that could be asked.
ARG VERSION=
ARG COMMIT=
ENV SETUPTOOLS_SCM_PRETEND_VERSION_FOR_EDDY_STREAMS=$VERSION \
    SETUPTOOLS_SCM_PRETEND_VERSION_FOR_EDDY_CLIENT=$VERSION \
    SETUPTOOLS_SCM_PRETEND_METADATA_FOR_EDDY_STREAMS="{node = \"g$COMMIT\"}"
# The native core, if `make wheel-native` has built it: judging then takes half of the CPU.
COPY LICENSE dist/eddy_native-*.whl /native/
RUN for wheel in /native/*.whl; do \
      if [ -e "$wheel" ]; then /opt/build/bin/pip --python /opt/eddy install --no-compile --no-deps "$wheel"; fi; \
    done
# Compiled here, since the image is read-only where it runs; without times, so that each build gives the same bytes.
RUN /opt/build/bin/pip --python /opt/eddy install --no-compile --no-deps ./client . \
 && find /opt/eddy -name direct_url.json -delete \
 && /opt/eddy/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/eddy/lib \
 && /opt/build/bin/cyclonedx-py environment --output-reproducible --output-file /opt/eddy/sbom.cdx.json /opt/eddy/bin/python \
 && mkdir /var/lib/eddy

FROM ${BASE}
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="Eddy" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.description="Tells, from a stream of AI-agent events, which sessions are going in circles, and why." \
      org.opencontainers.image.licenses="Apache-2.0"
# What is in the image, as CycloneDX: /opt/eddy/sbom.cdx.json
COPY --from=build /opt/eddy /opt/eddy
# By number: the image knows no such user, and Kubernetes can see that it is not root.
COPY --from=build --chown=10001:10001 /var/lib/eddy /var/lib/eddy
ENV PATH=/opt/eddy/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    EDDY_DATA_DIR=/var/lib/eddy EDDY_WEB_HOST=0.0.0.0
USER 10001:10001
WORKDIR /var/lib/eddy
# One worker's own state. Losing it costs time, not data: the changelog topic restores it.
VOLUME /var/lib/eddy
# A worker, the bridge, the notifier, the console.
EXPOSE 8066 8067 8068 8070
# Alive, not ready: a worker that restores its state is well. It finds the port of whatever command runs here.
# Kubernetes ignores this and has probes of its own.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=3 \
  CMD ["python", "-m", "streams.observe.health_check"]
ENTRYPOINT ["eddy"]
CMD ["worker"]
