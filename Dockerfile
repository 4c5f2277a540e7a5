# The image of the worker and of every other command: `docker run eddy --help`.
# Written where no container engine was at hand: tests/test_compose.py checks what can be checked without one.

FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/eddy
# The dependencies first: a change of the code then leaves this layer as it is.
COPY constraints/run.txt constraints/run.txt
COPY pyproject.toml ./
RUN python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > requirements.txt \
 && /opt/eddy/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints/run.txt -r requirements.txt
COPY LICENSE README.md ./
COPY streams streams
COPY schemas schemas
COPY topics topics
RUN /opt/eddy/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps .

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin eddy \
 && install --directory --owner eddy --group eddy /var/lib/eddy
COPY --from=build /opt/eddy /opt/eddy
ENV PATH=/opt/eddy/bin:$PATH PYTHONUNBUFFERED=1 EDDY_DATA_DIR=/var/lib/eddy EDDY_WEB_HOST=0.0.0.0
# A number, so that Kubernetes can see that it is not root.
USER 10001
WORKDIR /home/eddy
# One worker's own state. Losing it costs time, not data: the changelog topic restores it.
VOLUME /var/lib/eddy
EXPOSE 8066
ENTRYPOINT ["eddy"]
CMD ["worker"]
