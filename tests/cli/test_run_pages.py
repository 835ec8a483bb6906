"""ptrain serve of a folder of runs: pages that follow runs while they train, and what they do not show."""
import http.client
import json
import re
import shutil
import socket
import subprocess
import time
import unittest

import browser
from frozen import FROZEN
from program import BINARY, ProgramTest, run
from test_serve import Server


class Events:
    """Contents of a page as a server sends them."""

    def __init__(self, port, path):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        self.answer = self.connection.getresponse()

    def __iter__(self):
        name = None
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                name = line[len("event: "):].strip()
            elif line.startswith("data:"):
                yield name or json.loads(line[len("data: "):])

    def close(self):
        self.connection.close()


def find_step(content):
    """The step that a page says a run has come to."""
    found = re.search(r"<span>after step (\d+)", content)
    return int(found[1]) if found else None


class RunPages(ProgramTest):
    def start_run(self, name, steps=10000000):
        """A run in progress that has logged a step."""
        folder = self.folder / "runs" / name
        process = subprocess.Popen([BINARY, "run", self.config, "--out", folder, "-q", "-o", f"train.steps={steps}",
                                    "-o", "eval.every_epochs=0", "-o", "eval.every_steps=50"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while not (folder / "run_start.json").exists() or not (folder / "metrics.jsonl").read_text().count("\n"):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        return process

    def serve(self, folder=None):
        server = Server(folder or self.folder / "runs", path="/")
        self.addCleanup(server.kill)
        return server

    def test_a_run_is_followed_from_its_first_steps_to_its_report(self):
        process = self.start_run("long")
        server = self.serve()
        status, page = server.ask("GET", "/long/")
        self.assertEqual(status, 200)
        self.assertIn("<h1>long</h1>", page)
        self.assertIn('<script src="../live.js"></script>', page)
        self.assertIn("bert on synthetic", page)
        events = Events(server.port, "/long/events")
        self.addCleanup(events.close)
        steps = []
        for content in events:
            if content == "end":
                break
            if find_step(content) is None:  # the page of its report
                self.assertIn("interrupted after", content)
                continue
            steps.append(find_step(content))
            self.assertRegex(content, "after step \\d+ of 10000000, [^<]+ left<")
            self.assertIn("<h2>Loss</h2>", content)
            if len(steps) == 3:
                process.terminate()
        self.assertEqual(steps, sorted(set(steps)))
        self.assertGreaterEqual(len(steps), 3)
        self.assertIn("interrupted", server.ask("GET", "/long/index.html")[1])
        self.assertNotIn("<script", server.ask("GET", "/long/index.html")[1])
        self.assertEqual(server.ask("GET", "/long/report.json"), (200, self.report("runs/long")))
        self.assertEqual(server.end(), (0, ""))

    def test_the_list_shows_runs_that_come_and_go(self):
        self.assertEqual(self.train("runs/<b>&", "-o", "train.steps=20").returncode, 0)
        server = self.serve()
        stream = Events(server.port, "/events")
        self.addCleanup(stream.close)
        events = iter(stream)
        content = next(events)
        self.assertIn("1 run: 1 finished.", content)
        self.assertIn('<a href="%3Cb%3E%26/index.html">&lt;b&gt;&amp;</a>', content)
        self.assertNotIn("<b>&", content)
        process = self.start_run("deep/second")
        self.wait_for(events, "2 runs: 1 in training, 1 finished.", 'href="deep/second/index.html"', "running")
        process.kill()
        self.wait_for(events, "2 runs: 1 finished, 1 killed.")
        shutil.rmtree(self.folder / "runs/deep")
        self.wait_for(events, "1 run: 1 finished.")
        status, page = server.ask("GET", "/%3Cb%3E%26/")
        self.assertEqual(status, 200)
        self.assertIn("<h1>&lt;b&gt;&amp;</h1>", page)
        self.assertIn('<a href="../index.html">', page)

    def wait_for(self, events, *parts):
        for content in events:
            if all(part in content for part in parts):
                return
        self.fail(parts)

    def test_a_line_that_is_half_written_is_read_once_it_is_whole(self):
        folder = self.folder / "runs/own"
        folder.mkdir(parents=True)
        metrics = folder / "metrics.jsonl"
        line = {"step": 1, "epoch": 0, "loss": 2.5, "lr": 0.1, "step_ms": 5, "reader_ms": 0, "compute_ms": 5, "samples": 8,
                "steps_ms": [5]}
        metrics.write_text(json.dumps(line) + "\n" + '{"step": 2, "lo')
        server = self.serve()
        self.assertEqual(find_step(server.ask("GET", "/own/")[1]), 1)
        metrics.write_text(json.dumps(line) + "\nno line\n" + json.dumps({**line, "step": 3}) + "\n")
        time.sleep(0.6)
        self.assertEqual(find_step(server.ask("GET", "/own/")[1]), 3)
        metrics.unlink()
        metrics.write_text(json.dumps({**line, "step": 2}) + "\n")  # the run began anew
        time.sleep(0.6)
        self.assertEqual(find_step(server.ask("GET", "/own/")[1]), 2)

    def test_paths_that_are_none_end_no_server(self):
        self.assertEqual(self.train("runs/group/one", "-o", "train.steps=4").returncode, 0)
        (self.folder / "runs/group/one/report.json").rename(self.folder / "report.json")
        (self.folder / "runs/group/one/report.json").symlink_to(self.folder / "report.json")
        server = self.serve()
        for path in ("/group%2Fone/index.html", "/group%2Fone/report.json", "/group%2fone/events", "//report.json",
                     "/group/one/report.json", "/group/./one/index.html"):
            with self.subTest(path):
                self.assertEqual(server.ask("GET", path)[0], 404)
        self.assertEqual(server.ask("GET", "/group/one/metrics.jsonl")[0], 200)
        shutil.rmtree(self.folder / "runs/group/one")
        self.assertIn(server.ask("GET", "/group/one/index.html")[0], (200, 404))
        self.assertEqual(server.ask("GET", "/group/one/metrics.jsonl")[0], 404)
        self.assertEqual(server.ask("GET", "/index.html")[0], 200)

    def test_nothing_else_than_runs_is_shown(self):
        self.assertEqual(self.train("runs/own", "-o", "train.steps=4").returncode, 0)
        self.assertEqual(self.train("other", "-o", "train.steps=4").returncode, 0)
        (self.folder / "runs/link").symlink_to(self.folder / "other")
        server = self.serve()
        for path in ("/../other/", "/%2e%2e/other/", "/own/../../other/", "/..%2fother/", "/link/", "/link/report.json",
                     "/own/model.safetensors", "/own/run_start.json", "/own%00/", "//", "/own//", "/nowhere/", "/tiny.yaml"):
            self.assertEqual(server.ask("GET", path)[0], 404, path)
        self.assertEqual(server.ask("GET", "/own")[0], 301)
        self.assertEqual(server.ask("POST", "/own/", "x")[0], 404)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/own/")
        self.assertIn("script-src 'self'", connection.getresponse().getheader("Content-Security-Policy"))

    def test_many_clients_that_hold_their_streams_do_not_stop_others(self):
        self.assertEqual(self.train("runs/own", "-o", "train.steps=4").returncode, 0)
        server = self.serve()
        held = []
        for _ in range(70):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            self.addCleanup(client.close)
            client.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            held.append(client)
        answers = [client.recv(64) for client in held]
        self.assertEqual(sum(b" 200 " in answer for answer in answers), 64)
        self.assertEqual(sum(b" 503 " in answer for answer in answers), 6)
        self.assertEqual(server.ask("GET", "/own/")[0], 200)
        start = time.monotonic()
        self.assertEqual(server.end(), (0, ""))
        self.assertLess(time.monotonic() - start, 10)

    def test_a_sweep_and_its_runs(self):
        """Their pages lead to each other, as files and as they are served."""
        sweep = self.folder / "runs/sweep"
        suite = self.folder / "suite.yaml"
        suite.write_text(f"config: {self.config.name}\nset: {{train.steps: 20}}\naxes: {{amp.level: [O0, O1]}}\nrepeats: 2\n"
                         "steady: {required: false}\n")
        result = run("bench", suite, "--out", sweep)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = sweep / "index.html"
        self.assertEqual(run("table", sweep, "--format", "html", "--out", page, "--run-pages").returncode, 0)
        server = self.serve()
        served = server.ask("GET", "/sweep/")[1]
        for text in (page.read_text(), served):
            links = set(re.findall(r'<a href="(runs/[^"]+)">', text))
            self.assertEqual(len(links), 4, links)
            for link in links:
                back = re.search(r'<a href="([^"]+)">← The benchmark</a>', (sweep / link).read_text())[1]
                self.assertEqual(((sweep / link).parent / back).resolve(), page.resolve())
                status, one = server.ask("GET", f"/sweep/{link}")
                self.assertEqual(status, 200)
                self.assertIn(f'<a href="{back}">← The benchmark</a>', one)
                self.assertRegex(one, r"<h1>level=O[01], round [12]</h1>")
        self.assertIn('<a href="../index.html">← All runs</a>', served)
        self.assertIn('<a href="sweep/index.html">sweep</a>', server.ask("GET", "/")[1])
        for link in links:
            (sweep / link).write_text("mine")
        self.assert_one_line_error(run("table", sweep, "--format", "html", "--out", page, "--run-pages"), 2, "--run-pages")
        self.assertEqual({(sweep / link).read_text() for link in links}, {"mine"})

    def test_what_cannot_be_served_is_said(self):
        (self.folder / "empty").mkdir()
        self.assert_one_line_error(run("serve", self.folder / "empty"), 1, "empty", "model.json", "run")
        self.assert_one_line_error(run("serve", self.folder / "nowhere"), 1, "nowhere")
        self.assert_one_line_error(run("serve", self.config), 1)
        self.assert_one_line_error(run("serve", FROZEN, "--max-body", "3"), 2, "--max-body", "--port")
        self.assert_one_line_error(run("table", FROZEN, "--run-pages"), 2, "--run-pages", "--format html", "--out")

    @unittest.skipIf(browser.PROGRAM is None, "chromium is not installed")
    def test_a_browser_shows_curves_that_grow(self):
        self.start_run("long")
        server = self.serve()
        page = browser.Browser(f"http://127.0.0.1:{server.port}/long/index.html")
        self.addCleanup(page.end)
        curve = ("(() => { const line = document.querySelector('section svg polyline[style*=\"--s0\"]');"
                 " return line && [document.body.innerText.match(/after step (\\d+)/)[1], line.getAttribute('points')]; })()")
        seen = []
        for _ in range(300):
            now = page.evaluate(curve)
            if now and now not in seen:
                seen.append(now)
            if len(seen) == 3:
                break
            time.sleep(0.2)
        self.assertEqual(len(seen), 3, seen)
        self.assertEqual(sorted((int(step) for step, _ in seen)), [int(step) for step, _ in seen])


if __name__ == "__main__":
    unittest.main()
