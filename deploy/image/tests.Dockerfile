# The built image with the contract and attack suites in it, which are never part of what is shipped.
ARG BASE=docker.io/library/debian:bookworm-slim
ARG IMAGE=fumehood

# The same two steps as the image's own build stage begins with, so that their layers are there already.
FROM ${BASE} AS tools
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/suites.txt requirements/
RUN python3 -m venv /opt/tools \
 && /opt/tools/bin/python -I -m pip install --no-cache-dir --only-binary :all: --require-hashes --no-deps \
      --target /opt/suites -r requirements/suites.txt

FROM ${IMAGE}
USER root
COPY --from=tools /opt/suites /opt/suites
# Behind the service's own packages: these are the ones that are tested.
RUN echo /opt/suites >"$(/opt/fumehood/bin/python -I -c 'import site; print(site.getsitepackages()[0])')/suites.pth"
COPY pyproject.toml /suites/
COPY docs/ /suites/docs/
COPY deploy/setup/ /suites/deploy/setup/
COPY tests/ /suites/tests/
RUN chmod -R go+rX /suites
USER 1000:1000
WORKDIR /suites
# A shell is process 1, and so whose children orphans become. PYTHONPATH names the folder of "-p subset".
ENTRYPOINT ["/bin/sh", "-c", "/opt/fumehood/bin/python -s -P -m pytest -p no:cacheprovider \"$@\"; exit $?", "pytest"]
CMD []
