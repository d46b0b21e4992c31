# Fumehood in a container. The engine needs options for the walls inside: deploy/image/README.md says which and why.
# Two Pythons' worth of packages, never mixed: /opt/fumehood is the service's, the runtime is what guests see.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/service.txt requirements/guest.txt requirements/
RUN python3 -m venv /opt/fumehood \
 && /opt/fumehood/bin/python -I -m pip install --no-cache-dir --only-binary :all: --require-hashes \
      -r requirements/service.txt
COPY deploy/setup/ deploy/setup/
RUN FUMEHOOD_RUNTIMES=/var/lib/fumehood/runtimes \
      python3 -E -s deploy/setup/runtime.py --lock requirements/guest.txt --pip /opt/fumehood/bin/python
COPY pyproject.toml README.md ./
COPY seccomp/ seccomp/
COPY sandbox/ sandbox/
COPY analyzers/ analyzers/
COPY fumehood/ fumehood/
# The wheel is built by the locked back end; then what only builds and installs goes.
RUN /opt/fumehood/bin/python -I -m pip install --no-cache-dir --no-deps --no-build-isolation . \
 && /opt/fumehood/bin/python -I -m pip uninstall --yes --quiet hatchling setuptools pip

FROM ${BASE} AS system
# A guest sees the image's /usr, so its commands are what is installed here: no compiler among them.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      bubblewrap ca-certificates python3 tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home --shell /usr/sbin/nologin fumehood \
 && install --directory --owner=1000 --group=1000 --mode=0700 /data

# What is in all of it, written down. The tool that does so stays in this stage.
FROM build AS sbom
COPY requirements/sbom.txt requirements/
RUN python3 -m venv /opt/sbom \
 && /opt/sbom/bin/python -I -m pip install --no-cache-dir --only-binary :all: --require-hashes -r requirements/sbom.txt
COPY --from=system /var/lib/dpkg/status /usr/lib/os-release /system/
COPY deploy/image/sbom.py ./
RUN /opt/sbom/bin/python -I sbom.py /sbom.cdx.json --service /opt/fumehood/bin/python \
      --guest /var/lib/fumehood/runtimes/python-*/bin/python3 --dpkg /system/status --os-release /system/os-release

FROM system
COPY --from=build /var/lib/fumehood /var/lib/fumehood
COPY --from=build /opt/fumehood /opt/fumehood
COPY --from=sbom /sbom.cdx.json /opt/fumehood/sbom.cdx.json
ENV PATH=/opt/fumehood/bin:/usr/bin:/bin PYTHONUNBUFFERED=1
# Keys and records: a volume, so that they outlive the container and the rest of it may be read-only.
ENV FUMEHOOD_DATA_DIR=/data
VOLUME /data
USER 1000:1000
WORKDIR /home/fumehood
EXPOSE 8080
# Alive is what this asks; whether every wall stands is /readyz, for whatever routes the traffic.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["/opt/fumehood/bin/python", "-I", "-c", \
  "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 8080, timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
# It answers beyond loopback, so it starts only with a key: FUMEHOOD_API_KEY.
ENTRYPOINT ["fumehood"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
