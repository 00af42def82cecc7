# A slim image that runs as nobody in particular, with its data in one volume.
#
#   docker build -t tidelog .
#   docker run -p 9092:9092 -v tidelog-data:/var/lib/tidelog tidelog
#
# That is a development broker that tells clients to come to localhost:9092. For a broker of your own settings, mount a
# server.properties and run `start` (docs/operations.md).

FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN python -m venv /opt/tidelog && /opt/tidelog/bin/pip install --no-cache-dir .

FROM python:3.12-slim
RUN useradd --system --uid 9092 --home-dir /var/lib/tidelog --shell /usr/sbin/nologin tidelog \
    && install -d -o tidelog -g tidelog /var/lib/tidelog
COPY --from=build /opt/tidelog /opt/tidelog
ENV PATH=/opt/tidelog/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER tidelog
WORKDIR /var/lib/tidelog
VOLUME /var/lib/tidelog
EXPOSE 9092 9404
# Not by a client: what clients are told (--advertise) need not be reachable from in here.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9404/readyz', timeout=4)"]
# tidelog is process 1 and ends in order at SIGTERM, which `docker stop` sends.
ENTRYPOINT ["tidelog"]
CMD ["dev", "--dir", "/var/lib/tidelog/data", "--host", "0.0.0.0", "--advertise", "localhost:9092", \
     "--metrics-port", "9404"]
