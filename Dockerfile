# Image of ptrain with mpirun and sshd, so that ranks on several hosts can use it (scripts/launch/).
#   docker build -t ptrain .                                 CPU
#   docker build -t ptrain:cuda --build-arg CUDA=12.6.3 .    CUDA, on NVIDIA's images of that version
#   docker run --rm ptrain run configs/quick/bert_synthetic.yaml
ARG CUDA=
ARG BUILD_BASE=${CUDA:+nvidia/cuda:${CUDA}-cudnn-devel-ubuntu24.04}
ARG RUN_BASE=${CUDA:+nvidia/cuda:${CUDA}-cudnn-runtime-ubuntu24.04}

FROM ${BUILD_BASE:-debian:12-slim} AS build
ARG CUDA
WORKDIR /src
COPY scripts/install_deps.sh scripts/usage.sh scripts/
RUN scripts/install_deps.sh ${CUDA:+--cuda}
COPY . .
RUN scripts/package.sh tree ${CUDA:+--cuda} --out /out

FROM ${RUN_BASE:-debian:12-slim}
RUN apt-get update -q \
    && apt-get install -qy --no-install-recommends openmpi-bin openssh-client openssh-server \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* && mkdir -p /run/sshd
COPY scripts/launch/ssh_client.conf /etc/ssh/ssh_config.d/ptrain.conf
COPY scripts/launch/ssh_server.conf /etc/ssh/sshd_config.d/ptrain.conf
COPY --from=build /out/ptrain /opt/ptrain
RUN ln -s /opt/ptrain/bin/ptrain /usr/local/bin/ptrain && ptrain --version
ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
WORKDIR /ptrain
ENTRYPOINT ["ptrain"]
