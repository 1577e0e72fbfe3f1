# An image of coind: docker build --tag coind . (docs/deploy.md)
# Pin the digest of the base image for what others rely on: docker build --build-arg PYTHON=python:3.13-slim@sha256:...
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS build
# Extras besides the node itself, as [data] or [data,nats].
ARG EXTRAS=
COPY . /source
WORKDIR /source
# pip checks the hashes of everything that it installs.
RUN sed -n '/^[A-Za-z]/s/ \\$//p' bin/lock/test.txt > /build.txt \
    && python3 -m venv /opt/coind \
    && for lock in run $(echo "${EXTRAS}" | tr '[],' '   '); do \
        /opt/coind/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes --requirement "bin/lock/${lock}.txt" || exit; \
    done \
    && PIP_BUILD_CONSTRAINT=/build.txt /opt/coind/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps /source \
    && /opt/coind/bin/pip uninstall --yes --quiet pip

FROM ${PYTHON}
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data coind \
    && install --directory --owner coind --group coind /data
COPY --from=build /opt/coind /opt/coind
# Options of the command line count more. Debug methods stay off on this address unless --allow-debug is given.
ENV PATH=/opt/coind/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    COIND_HTTP=0.0.0.0:8090 \
    COIND_DATA=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8090
# A node ends in order at SIGTERM, also as the first process of a container.
STOPSIGNAL SIGTERM
# Inside, the port stays as it is: another one outside is for --publish. Until a long replay is done, failures don't count.
HEALTHCHECK --interval=10s --timeout=5s --start-period=15m --retries=3 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8090/health', timeout=4)"]
ENTRYPOINT ["coind"]
CMD ["run"]
