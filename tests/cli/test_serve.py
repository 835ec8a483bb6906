"""ptrain serve: KServe's protocol, what is refused, batches, a queue that is full, and its end."""
import base64
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import time
import unittest
import zlib

from program import BINARY, ProgramTest, run
from trained import TrainedModels, sentence


class Server:
    """A server on a port of its own."""

    def __init__(self, model, *arguments, pattern=r"\S+", url=r"\1", path=None):
        self.process = subprocess.Popen([BINARY, "serve", model, "--port", "0", *map(str, arguments)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        path = path or f"/v2/models/{url}/infer"
        found = re.fullmatch(rf"serving ({pattern}) at http://127\.0\.0\.1:(\d+){path}\n", line)
        if found is None:
            raise AssertionError(line + self.process.communicate()[1])
        self.name, self.port = found[1], int(found[2])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self):
        """Its exit code after SIGTERM, and what it printed on standard error."""
        self.process.send_signal(signal.SIGTERM)
        error = self.process.communicate(timeout=60)[1]
        return self.process.returncode, error

    def ask(self, method, path, body=None, **headers):
        """(status, JSON or text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        return answer.status, json.loads(text) if answer.getheader("Content-Type") == "application/json" else text

    def infer(self, inputs, **more):
        body = inputs if isinstance(inputs, (str, bytes)) else json.dumps({"inputs": inputs, **more})
        return self.ask("POST", f"/v2/models/{self.name}/infer", body)

    def metrics(self):
        status, text = self.ask("GET", "/metrics")
        assert status == 200
        return {name: float(value) for name, value in re.findall(r"^(ptrain_\S+) (\S+)$", text, re.M)}


def texts(*values):
    return [{"name": "text", "datatype": "BYTES", "shape": [len(values)], "data": list(values)}]


class Serving(TrainedModels, ProgramTest):
    def serve(self, model="texts", *arguments):
        server = Server(self.runs / model, *arguments)
        self.addCleanup(server.kill)
        return server

    def test_photos_are_requests(self):
        """As the body, as a form, and as texts of a tensor: what infer says of them."""
        server = self.serve("images")
        path = "/v2/models/images/infer"
        files = [self.data / f"images/val/{colour}/0.png" for colour in ("red", "blue", "green")]
        photos = [file.read_bytes() for file in files]
        lines = run("infer", self.runs / "images", *files, "--top", "5", "--format", "jsonl").stdout.splitlines()
        expected = [{key: value for key, value in json.loads(line).items() if key != "input"} for line in lines]
        status, answer = server.ask("POST", path, photos[0], **{"Content-Type": "image/png"})
        self.assertEqual((status, answer["predictions"]), (200, expected[:1]))
        self.assertEqual(answer["predictions"][0]["classes"][0]["name"], "red")
        form = b"".join(b'--edge\r\nContent-Disposition: form-data; name="p"; filename="p.png"\r\n'
                        b"Content-Type: image/png\r\n\r\n" + photo + b"\r\n" for photo in photos) + b"--edge--\r\n"
        status, answer = server.ask("POST", path, form, **{"Content-Type": "multipart/form-data; boundary=edge"})
        self.assertEqual((status, answer["predictions"]), (200, expected))
        tensor = {"name": "images", "datatype": "BYTES", "shape": [3]}
        status, answer = server.infer([{**tensor, "data": [base64.b64encode(photo).decode() for photo in photos]}])
        self.assertEqual(status, 200, answer)
        binary = b"".join(struct.pack("<I", len(photo)) + photo for photo in photos)
        head = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": len(binary)}}]}).encode()
        status, same = server.ask("POST", path, head + binary, **{"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual((status, same), (200, answer))
        logits = answer["outputs"][0]["data"]
        self.assertEqual([logits[3 * i:3 * i + 3].index(max(logits[3 * i:3 * i + 3])) for i in range(3)], [2, 0, 1])
        for body, kind, part in ((b"hello", "image/jpeg", "image 0"), (photos[0][:60], "image/png", "image 0"),
                                 (b"", "image/png", "image 0")):
            status, answer = server.ask("POST", path, body, **{"Content-Type": kind})
            self.assertEqual(status, 400, answer)
            self.assertIn(part, answer["error"])
        status, answer = self.serve().ask("POST", "/v2/models/texts/infer", photos[0], **{"Content-Type": "image/png"})
        self.assertEqual(status, 400)
        self.assertIn("no single images", answer["error"])

    def test_the_protocol(self):
        server = self.serve()
        self.assertEqual(server.ask("GET", "/v2")[1]["name"], "ptrain")
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/texts/ready"):
            self.assertEqual(server.ask("GET", path)[0], 200)
        status, about = server.ask("GET", "/v2/models/texts")
        self.assertEqual((status, about["name"], about["parameters"]["class_names"]), (200, "texts", ["0", "1"]))
        self.assertEqual([one["name"] for one in about["inputs"]],
                         ["text", "input_ids", "attention_mask", "token_type_ids"])
        self.assertEqual([one["shape"] for one in about["outputs"]], [[-1, 2], [-1, 2]])
        status, answer = server.infer(texts("the film is fine", "the story is dull"), id="seven",
                                      outputs=[{"name": "logits"}])
        self.assertEqual((status, answer["id"], answer["model_name"]), (200, "seven", "texts"))
        (output,) = answer["outputs"]
        self.assertEqual((output["name"], output["datatype"], output["shape"]), ("logits", "FP32", [2, 2]))
        for path in ("/v2/models/other", "/v2/models/other/ready", "/v3", "/"):
            status, answer = server.ask("GET", path)
            self.assertEqual(status, 404)
            self.assertIn("error", answer)
        self.assertEqual(server.ask("POST", "/v2/models/other/infer", "{}")[0], 404)
        self.assertEqual(server.end(), (0, ""))

    def test_answers_are_those_of_infer(self):
        for model in (self.runs / "texts", self.quantized("texts")):
            with self.subTest(model.name):
                self.assert_answers_are_those_of_infer(model)

    def assert_answers_are_those_of_infer(self, model):
        server = self.serve(model)
        for value in (sentence(0, "a"), sentence(1, "b"), "the film is fine\tthe story is dull"):
            outputs = {one["name"]: one["data"] for one in server.infer(texts(value))[1]["outputs"]}
            expected = run("infer", model, "-", "--format", "jsonl", "--progress", "none", input=value)
            classes = sorted(json.loads(expected.stdout)["classes"], key=lambda one: one["index"])
            self.assertEqual(outputs["probabilities"], [one["probability"] for one in classes])

    def test_images_are_answered_nested_or_flat(self):
        server = self.serve("images", "--name", "colours")
        self.assertEqual(server.name, "colours")
        image = [[[x * 16, y * 16, 99] for x in range(16)] for y in range(16)]
        flat = [value for row in image for pixel in row for value in pixel]
        answers = []
        for datatype, data in (("UINT8", [image]), ("UINT8", flat), ("FP32", [value / 255 for value in flat])):
            tensor = {"name": "images", "datatype": datatype, "shape": [1, 16, 16, 3], "data": data}
            status, answer = server.infer([tensor])
            self.assertEqual(status, 200, answer)
            answers.append(answer["outputs"])
        self.assertEqual(answers[1:], answers[:1] * 2)

    def test_bodies_that_are_wrong_are_named(self):
        server = self.serve("texts", "--batch", 4, "--max-body", 1)
        def ids(data, shape=(1, 2), datatype="INT64", **more):
            return [{"name": "input_ids", "datatype": datatype, "shape": list(shape), "data": data, **more}]
        for body, part in (
                ("", "complete JSON"), ("{", "complete JSON"), ("[" * 100000, "complete JSON"), (b"\xff\xfe", "complete JSON"),
                ("[]", "not a JSON object"), ("{}", "inputs"), ('{"inputs": []}', "inputs"), ('{"inputs": [7]}', "object"),
                ([{"name": "text"}], "shape"), (ids([2, 3], datatype="FP64"), "FP64"), (ids([2, 3, 4]), "expected 2"),
                (ids([[[[2, 3]]]]), "nested deeper"), (ids([2, "3"]), "not a number"), (ids([2, 1e300]), "not a number"),
                (ids([2, 2.5]), "not a number"), (ids([2, 10**19]), "not a number"), (ids([2, 10**7]), "value 10000000"),
                (ids([2, 3], (-1, 2)), "shape"), (ids([2, 3], (10**9, 10**9)), "shape"), (ids([], (0, 2)), "is empty"),
                (ids([2] * 131074, (65537, 2)), "at most 65536"), (ids([1] * 9, [1] * 9), "at most 8"),
                (texts(), "is empty"), (texts("a") + ids([2, 3]), "only input"),
                ([{"name": "text", "datatype": "BYTES", "shape": [1], "data": [7]}], "expected texts"),
                ([{"name": "x", "datatype": "INT64", "shape": [1], "data": [7]}], "text, input_ids"),
                ([{"name": "txt", "datatype": "BYTES", "shape": [1], "data": ["a"]}], "text, input_ids"),
                (ids([], parameters={"binary_data_size": 16}), "binary_data_size"),
                (json.dumps({"inputs": texts("a"), "outputs": [
                    {"name": "logits", "parameters": {"classification": "x"}}]}), "classification"),
                (ids([2, 3]) * 2, "twice"),
                (json.dumps({"inputs": texts("a"), "outputs": [{"name": "x"}]}), "logits")):
            with self.subTest(part=part, body=str(body)[:60]):
                status, answer = server.infer(body)
                self.assertEqual(status, 400, answer)
                self.assertIn(part, answer["error"])
        self.assertEqual(server.infer("x" * (2 << 20))[0], 413)
        self.assertEqual(server.infer(texts("the film is fine"))[0], 200)
        counted = server.metrics()
        self.assertEqual((counted['ptrain_requests_total{code="200"}'], counted['ptrain_requests_total{code="413"}']), (1, 1))
        self.assertEqual(server.end(), (0, ""))

    def test_more_inputs_than_the_largest_batch_are_computed_in_several(self):
        server = self.serve("texts", "--batch", 4)
        values = [sentence(i % 2, i) for i in range(11)]
        status, answer = server.infer(texts(*values), outputs=[{"name": "logits"}])
        (output,) = answer["outputs"]
        self.assertEqual((status, output["shape"]), (200, [11, 2]))
        for i, value in enumerate(values):
            (alone,) = server.infer(texts(value), outputs=[{"name": "logits"}])[1]["outputs"]
            for one, other in zip(output["data"][2 * i:2 * i + 2], alone["data"]):
                self.assertAlmostEqual(one, other, places=4)

    def test_tensors_in_binary_form(self):
        server = self.serve()
        path = "/v2/models/texts/infer"
        expected = {one["name"]: one["data"] for one in server.infer(texts("the film is fine"))[1]["outputs"]}
        text = b"the film is fine"
        data = struct.pack("<I", len(text)) + text
        tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": len(data)}}
        head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}, "outputs": [
            {"name": "logits", "parameters": {"classification": 1}}, {"name": "probabilities"}]}).encode()
        length = {"Inference-Header-Content-Length": str(len(head))}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request("POST", path, head + data, length)
            answer = connection.getresponse()
            body, split = answer.read(), int(answer.getheader("Inference-Header-Content-Length"))
        about = json.loads(body[:split])["outputs"]
        self.assertEqual([(one["datatype"], one["shape"]) for one in about], [("BYTES", [1, 1]), ("FP32", [1, 2])])
        best = max(range(2), key=lambda i: expected["logits"][i])
        ranked = body[split + 4:split + about[0]["parameters"]["binary_data_size"]].decode().split(":")
        self.assertEqual((float(ranked[0]), ranked[1:]), (round(expected["logits"][best], 6), [str(best)] * 2))
        values = struct.unpack("<2f", body[-8:])
        for one, other in zip(values, expected["probabilities"]):
            self.assertAlmostEqual(one, other, places=6)
        for body, bytes_, part in ((head + data[:-1], len(head), "binary_data_size"), (head + data + b"x", len(head), "no tensor"),
                                   (head + data, len(head) + 99999, "Inference-Header"), (head + data, -1, "Inference-Header"),
                                   (head + b"\xff" * len(data), len(head), "past the tensor")):
            with self.subTest(part):
                status, answer = server.ask("POST", path, body, **{"Inference-Header-Content-Length": str(bytes_)})
                self.assertEqual(status, 400)
                self.assertIn(part, answer["error"])
        self.assertIn("Inference-Header-Content-Length", server.infer(head + data)[1]["error"])

    def test_paths_versions_and_methods(self):
        server = Server(self.runs / "texts", "--name", "a b/\u00fc", pattern="a b/\u00fc", url="a%20b%2F%C3%BC")
        self.addCleanup(server.kill)
        path = "/v2/models/a%20b%2F%C3%BC"
        body = json.dumps({"inputs": texts("the film is fine")})
        for method, rest, content, status in (
                ("GET", "", None, 200), ("GET", "/", None, 200), ("GET", "/versions/1", None, 200), ("GET", "/versions/1/ready", None, 200),
                ("POST", "/versions/1/infer", body, 200), ("GET", "/versions/2", None, 404), ("GET", "/versions", None, 404),
                ("GET", "/infer/x", None, 404), ("GET", "/infer", None, 405), ("PUT", "/infer", body, 405),
                ("DELETE", "", None, 405), ("POST", "", body, 405), ("HEAD", "/ready", None, 200)):
            with self.subTest(method=method, rest=rest):
                with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
                    connection.request(method, path + rest, content)
                    answer = connection.getresponse()
                    answer.read()
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.getheader("Allow"), {"/infer": "POST", "": "GET"}[rest] if status == 405 else None)
        self.assertIn("version 1", server.ask("GET", path + "/versions/2")[1]["error"])

    def test_answers_are_compressed_as_clients_decode_them_and_errors_never(self):
        server = self.serve()
        for offered, encoding in (("gzip, deflate, br", "gzip"), ("br", None), ("gzip;q=0, br", None), ("x, gzip;q=0.5", "gzip"),
                                  ("identity", None)):
            for body, status in ((json.dumps({"inputs": texts("a film")}), 200), ("{}", 400)):
                with self.subTest(offered=offered, status=status):
                    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
                        connection.request("POST", "/v2/models/texts/infer", body, {"Accept-Encoding": offered})
                        answer = connection.getresponse()
                        answer.read()
                    self.assertEqual((answer.status, answer.getheader("Content-Encoding")),
                                     (status, encoding if status == 200 else None))

    def test_bodies_come_compressed_or_say_why_not(self):
        server = self.serve()
        body = json.dumps({"inputs": texts("a film")}).encode()
        expected = server.ask("POST", "/v2/models/texts/infer", body)[1]
        for encoding, compressed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
            self.assertEqual(server.ask("POST", "/v2/models/texts/infer", compressed, **{"Content-Encoding": encoding}),
                             (200, expected))
        for encoding in ("gzip", "br"):
            status, answer = server.ask("POST", "/v2/models/texts/infer", body, **{"Content-Encoding": encoding})
            self.assertIn(status, (400, 415))
            self.assertIn("Content-Encoding", answer["error"])

    def converse(self, server, sent, answers):
        """What is answered on one connection, as a list of (status, body), all at once sent."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            for part in sent if isinstance(sent, list) else [sent]:
                client.sendall(part)
                time.sleep(0.05)
            found, stream = [], client.makefile("rb")
            for _ in range(answers):
                status, length = int(stream.readline().split()[1]), 0
                while (line := stream.readline().strip().lower()):
                    length = int(line.split()[1]) if line.startswith(b"content-length:") else length
                found.append((status, stream.read(length)))
        return found

    def test_requests_sent_at_once_are_answered_in_order(self):
        server = self.serve()
        body = json.dumps({"inputs": texts("the film is fine")}).encode()
        head = b"POST /v2/models/texts/infer HTTP/1.1\r\nHost: x\r\n"
        whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        live = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
        expected = server.ask("POST", "/v2/models/texts/infer", body)[1]
        found = self.converse(server, live + whole + live + whole, 4)
        self.assertEqual([one[0] for one in found], [200] * 4)
        self.assertEqual([json.loads(found[i][1]) for i in (0, 2)], [{"live": True}] * 2)
        self.assertEqual([json.loads(found[i][1]) for i in (1, 3)], [expected] * 2)
        chunks = b"".join(b"%x;name=value\r\n%b\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
        chunked = head + b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + chunks + b"0\r\nX-Sum: 7\r\n\r\n"
        for sent in (chunked + live, [(chunked + live)[i:i + 60] for i in range(0, len(chunked + live), 60)]):
            found = self.converse(server, sent, 2)
            self.assertEqual([json.loads(one[1]) for one in found], [expected, {"live": True}])
        for uri in (b"http://x/v2/health/live", b"HTTPS://x:8000/v2/health/live?a=b"):
            self.assertEqual(self.converse(server, live.replace(b"/v2/health/live", uri), 1)[0][1], b'{"live":true}')
        self.assertEqual([self.converse(server, live.replace(b"/v2/health/live", uri), 1)[0][0]
                          for uri in (b"http://x", b"http://x?a", b"ftp://x/v2")], [404] * 3)
        for length in (2**64, 10**30):
            self.assertEqual(self.converse(server, head + b"Content-Length: %d\r\n\r\n{}" % length, 1)[0][0], 413)
        for bad in (head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", head + b"Content-Length: x\r\n\r\n",
                    head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"):
            self.assertEqual(self.converse(server, bad, 1)[0][0], 400)
        found = self.converse(server, [head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body), body], 2)
        self.assertEqual([one[0] for one in found], [100, 200])

    def test_health_and_metrics_are_answered_beside_clients_that_hold_back_their_bodies(self):
        server = self.serve()
        slow = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(200)]
        for client in slow:
            client.sendall(b"POST /v2/models/texts/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        began = time.monotonic()
        self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
        self.assertEqual(server.infer(texts("the film is fine"))[0], 200)
        self.assertIn("ptrain_queue_length", server.metrics())
        self.assertLess(time.monotonic() - began, 4)
        self.assertIn(b" 400 ", slow[0].recv(1000))  # once they have been silent for long enough
        for client in slow:
            client.close()
        self.assertEqual(server.end(), (0, ""))

    def test_a_body_that_nests_deep_is_refused(self):
        server = self.serve()
        deep = "[" * 300_000 + "]" * 300_000
        for data in (deep, '[{"a": ' + deep + "}]", '["' + "[" * 200):
            body = '{"inputs": [{"name": "text", "datatype": "UINT8", "shape": [1], "data": ' + data + "}]}"
            status, answer = server.infer(body)
            self.assertEqual((status, list(answer)), (400, ["error"]))
            self.assertIn("64 levels", answer["error"])
        self.assertEqual(server.infer(texts("the film [[[[ is fine"))[0], 200)

    def test_a_body_in_pieces_has_the_same_limit(self):
        server = self.serve("texts", "--max-body", 1)
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(b"POST /v2/models/texts/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            with contextlib.suppress(OSError):  # it need not read on
                for _ in range(32):
                    client.sendall(piece)
                client.sendall(b"0\r\n\r\n")
            with contextlib.suppress(OSError):
                self.assertIn(b" 413 ", client.recv(1000).split(b"\r\n")[0])
        self.assertEqual(server.metrics()['ptrain_requests_total{code="413"}'], 1)

    def test_slow_clients_and_those_that_go_away_hold_up_nobody(self):
        server = self.serve()
        head = b"POST /v2/models/texts/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
        slow = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(8)]
        for client in slow:
            client.sendall(head)
        body = json.dumps({"inputs": texts("the film is fine")}).encode()
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", server.port)) as gone:
                gone.sendall(head.replace(b"1000", str(len(body)).encode())[:-1] + body)
        self.assertEqual(server.infer(texts("the film is fine"))[0], 200)
        for client in slow:
            client.close()
        self.assertEqual(server.infer(texts("the film is fine"))[0], 200)
        self.assertEqual(server.end(), (0, ""))

    def test_many_connections_are_joined_into_batches(self):
        server = self.serve("texts", "--max-delay", 100, "--batch", 16, "--queue", 256)
        expected = {}
        values = [sentence(i % 2, i) for i in range(64)]
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            for value, (status, answer) in zip(values, pool.map(lambda value: server.infer(texts(value)), values)):
                self.assertEqual(status, 200, answer)
                (logits,) = [one["data"] for one in answer["outputs"] if one["name"] == "logits"]
                for one, other in zip(logits, expected.setdefault(value, logits)):
                    self.assertAlmostEqual(one, other, places=4)
        counted = server.metrics()
        self.assertEqual((counted["ptrain_batch_size_sum"], counted["ptrain_request_seconds_count"]), (64, 64))
        self.assertLess(counted["ptrain_batch_size_count"], 64)
        self.assertEqual(counted["ptrain_queue_length"], 0)

    def test_a_full_queue_is_answered_503_and_the_rest_when_the_server_ends(self):
        # A batch that two requests do not fill waits for a third for a minute, or for the end.
        server = self.serve("texts", "--max-delay", 60000, "--queue", 2)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(server.infer, texts("the film is fine")) for _ in range(2)]
            while server.metrics()["ptrain_queue_length"] < 2:
                time.sleep(0.01)
            status, answer = server.infer(texts("the film is fine"))
            self.assertEqual((status, "error" in answer), (503, True))
            self.assertEqual(server.end(), (0, ""))
            self.assertEqual([one.result()[0] for one in waiting], [200, 200])

    def test_sigterm_under_load_leaves_no_request_without_its_answer(self):
        server = self.serve("texts", "--max-delay", 5)
        answered, ended = [], []
        def ask_on():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            body = json.dumps({"inputs": texts("the film is fine")})
            with contextlib.closing(connection):
                ask_by(connection, body)
        def ask_by(connection, body):
            while True:
                try:
                    connection.request("POST", "/v2/models/texts/infer", body)
                except OSError:
                    return ended.append("refused")
                try:
                    answered.append(connection.getresponse().read())
                except (OSError, http.client.HTTPException):
                    return ended.append("closed")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in range(8):
                pool.submit(ask_on)
            while len(answered) < 50:
                time.sleep(0.01)
            self.assertEqual(server.end(), (0, ""))
        self.assertEqual(len(ended), 8)
        for answer in answered:
            self.assertEqual(len(json.loads(answer)["outputs"]), 2)

    def test_ports_and_hosts_that_cannot_be_had(self):
        server = self.serve()
        self.assert_one_line_error(run("serve", self.runs / "texts", "--port", server.port), 1, str(server.port))
        self.assert_one_line_error(run("serve", self.runs / "texts", "--host", "192.0.2.1", "--port", 0), 1, "192.0.2.1")
        self.assert_one_line_error(run("serve", self.folder), 1, "model.json")
        self.assert_one_line_error(run("serve", self.runs / "texts", "--queue", 0), 2, "--queue")


if __name__ == "__main__":
    unittest.main()
