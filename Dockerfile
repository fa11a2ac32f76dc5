# SPDX-License-Identifier: Apache-2.0
#
# The README's two commands in a container:
#
#     docker build -t halyard .       # make demo, on a bare Debian 12
#     docker run --rm halyard         # make test
#
# Another release has a name of its own: docker build --build-arg BASE=debian:13 -t halyard .
# Golden cases (`make goldens`), where there are any, are mounted: -v FOLDER:/shared/conformance:ro
ARG BASE=debian:12
FROM ${BASE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /halyard
COPY . .
RUN make demo
CMD ["make", "test"]
