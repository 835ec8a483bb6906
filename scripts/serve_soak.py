#!/usr/bin/env python3
"""Sends requests to a served model for ten minutes, aborts some of them, and reports whether memory or files grew.

  scripts/serve_soak.py MODEL [--minutes 10] [--clients 16] [--program build/release/bin/ptrain] [--out FILE.md]

Clients send one input or several per request; one request in twenty is only half sent, or its answer is not read. Memory
and open files of the server are sampled each second from the second minute on. Exit code 1 if they grew (memory by more
than 1 %), an answer was wrong, or the server did not shut down cleanly.
"""
import argparse
import contextlib
import http.client
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

from soak import ROOT, growth

SENTENCES = ("a gripping film", "two hours too long", "the story is dull", "one of the best of the year , and the funniest")


class Load:
    """Client threads that run until they are stopped."""

    def __init__(self, port, about, count):
        self.port, self.name = port, about["name"]
        self.image = next((one["shape"][1] for one in about["inputs"] if one["name"] == "images"), 0)
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.answers = self.refused = self.left = 0
        self.faults, self.seconds = [], []
        self.threads = [threading.Thread(target=self.ask_on, args=(random.Random(i),)) for i in range(count)]

    def warm_up(self):
        """A request of every size that the server has a plan for: later requests should need no more memory."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)) as connection:
            for rows in (1, 2, 4, 8, 16, 32):
                connection.request("POST", f"/v2/models/{self.name}/infer", self.body(random.Random(0), rows)[0])
                connection.getresponse().read()

    def body(self, rng, rows=0):
        rows = rows or rng.choice((1, 1, 1, 2, 5))
        if self.image:
            data = [rng.randrange(256)] * (rows * self.image * self.image * 3)
            inputs = [{"name": "images", "datatype": "UINT8", "shape": [rows, self.image, self.image, 3], "data": data}]
        else:
            inputs = [{"name": "text", "datatype": "BYTES", "shape": [rows], "data": rng.choices(SENTENCES, k=rows)}]
        return json.dumps({"inputs": inputs}), rows

    def ask_on(self, rng):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.stop.is_set():
            try:
                if rng.random() < 0.05:
                    self.leave(rng)
                else:
                    self.ask(connection, rng)
            except OSError as error:
                self.note(f"{type(error).__name__}: {error}")
                connection.close()
        connection.close()

    def ask(self, connection, rng):
        body, rows = self.body(rng)
        begin = time.monotonic()
        connection.request("POST", f"/v2/models/{self.name}/infer", body)
        answer = connection.getresponse()
        text = answer.read()
        with self.lock:
            self.seconds.append(time.monotonic() - begin)
            self.answers += answer.status == 200
            self.refused += answer.status == 503
        if answer.status == 200 and json.loads(text)["outputs"][0]["shape"][0] != rows:
            self.note(f"{rows} rows asked about: {text[:200]}")
        if answer.status not in (200, 503):
            self.note(f"status {answer.status}: {text[:200]}")

    def leave(self, rng):
        """A request that is half sent, or whose answer is not read."""
        body, _ = self.body(rng)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.putrequest("POST", f"/v2/models/{self.name}/infer")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            connection.send(body[: len(body) // 2 if rng.random() < 0.5 else len(body)].encode())
        with self.lock:
            self.left += 1

    def note(self, fault):
        with self.lock:
            self.faults.append(fault)


def get_state(process):
    """(resident memory in KiB, open files)."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    resident = next(int(line.split()[1]) for line in (folder / "status").read_text().splitlines() if line.startswith("VmRSS"))
    return resident, len(list((folder / "fd").iterdir()))


def watch(server, load, seconds):
    """Its samples, after the first tenth of the time, in which it still compiles plans for new numbers of rows."""
    begin, samples = time.monotonic(), []
    while time.monotonic() - begin < seconds and server.poll() is None:
        time.sleep(1)
        if time.monotonic() - begin > seconds / 10:
            samples.append(get_state(server))
        if len(load.faults) > 20:
            break
    return samples or [(0, 0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--out", type=pathlib.Path, help="a file for the table")
    options = parser.parse_args()
    server = subprocess.Popen([options.program, "serve", options.model, "--port", "0"], stdout=subprocess.PIPE, text=True)
    found = re.search(r"http://127\.0\.0\.1:(\d+)/v2/models/(\S+)/infer", server.stdout.readline())
    if found is None:
        sys.exit("the server does not start")
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)) as connection:
        connection.request("GET", f"/v2/models/{found[2]}")
        load = Load(int(found[1]), json.loads(connection.getresponse().read()), options.clients)
    load.warm_up()
    for thread in load.threads:
        thread.start()
    samples = watch(server, load, options.minutes * 60)
    load.stop.set()
    for thread in load.threads:
        thread.join()
    server.send_signal(signal.SIGTERM)
    if server.wait(timeout=60) != 0:
        load.faults.append(f"the server ended with {server.returncode}")
    memory, files = growth(samples)
    if memory[1] > 1.01 * memory[0]:
        load.faults.append("memory grew")
    if files[1] > files[0] + options.clients:
        load.faults.append("open files grew")
    median = sorted(load.seconds)[len(load.seconds) // 2] * 1e3 if load.seconds else 0
    table = ("| minutes | clients | answers | refused, queue full | broken off | median, ms | memory, first and last tenth | largest | open files "
             "| faults |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
             f"| {options.minutes:g} | {options.clients} | {load.answers} | {load.refused} | {load.left} | {median:.1f} "
             f"| {memory[0]:.1f} and {memory[1]:.1f} MiB | {memory[2]:.1f} MiB | {files[0]:.1f} and {files[1]:.1f} | {len(load.faults)} |\n")
    print(table + "\n".join(load.faults[:20]))
    if options.out:
        options.out.write_text(table, encoding="utf-8")
    return 1 if load.faults else 0


if __name__ == "__main__":
    sys.exit(main())
