"""ptrain serve of a language model: OpenAI's completions and chat completions, streamed and whole."""
import concurrent.futures
import json
import socket
import unittest

import test_heads
from program import ProgramTest, run
from test_serve import Server


class Texts(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.maxDiff = None

    def setUp(self):
        super().setUp()
        test_heads.write_chat_vocabulary(self.folder)
        for name, seed in (("train", "train"), ("dev", "dev")):
            (self.folder / f"{name}.txt").write_text(test_heads.sentences(200, seed))
        self.config.write_text(test_heads.NEXT_TOKEN.format(folder=self.folder))
        trained = self.train("own", "-o", f"data.vocab={self.folder}/tokenizer.json", "-o", "eval.every_epochs=0",
                             "-o", "train.steps=20", "-o", "data.max_length=96")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.server = Server(self.folder / "own", "--batch", 2, "--queue", 8, path="/v1")
        self.addCleanup(self.server.kill)

    def complete(self, path="completions", **request):
        status, answer = self.server.ask("POST", f"/v1/{path}", json.dumps({"temperature": 0, "max_tokens": 20, **request}))
        self.assertEqual(status, 200, answer)
        return answer

    def stream(self, path="completions", **request):
        """The documents of a stream's events."""
        body = json.dumps({"temperature": 0, "max_tokens": 20, "stream": True, **request})
        status, text = self.server.ask("POST", f"/v1/{path}", body, **{"Accept-Encoding": "gzip"})
        self.assertEqual(status, 200, text)
        events = text.split("\n\n")
        self.assertEqual(events[-2:], ["data: [DONE]", ""])
        return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]

    def infer(self, prompt, *options):
        result = run("infer", self.folder / "own", prompt, "--temperature", 0, "--tokens", 20, "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_texts_are_those_of_infer_whole_and_in_pieces(self):
        expected = self.infer("the cat")
        answer = self.complete(prompt="the cat", model="own")
        self.assertEqual((answer["object"], answer["model"]), ("text_completion", "own"))
        self.assertEqual(answer["choices"], [{"index": 0, "text": expected["text"], "logprobs": None, "finish_reason": "length"}])
        self.assertEqual(answer["usage"], {"prompt_tokens": expected["input_tokens"], "completion_tokens": 20,
                                           "total_tokens": expected["input_tokens"] + 20})
        pieces = self.stream(prompt="the cat", stream_options={"include_usage": True})
        self.assertEqual(pieces.pop()["usage"], answer["usage"])
        choices = [piece["choices"][0] for piece in pieces]
        self.assertGreater(len(choices), 5)
        self.assertEqual("".join(choice["text"] for choice in choices), expected["text"])
        self.assertEqual([choice["finish_reason"] for choice in choices], [None] * (len(choices) - 1) + ["length"])
        stop = expected["text"][5:8]
        stopped = self.stream(prompt="the cat", stop=[stop, "nowhere"])
        self.assertEqual("".join(piece["choices"][0]["text"] for piece in stopped), expected["text"].split(stop)[0])
        self.assertEqual(stopped[-1]["choices"][0]["finish_reason"], "stop")
        drawn = self.complete(prompt="the cat", temperature=1, seed=5)["choices"]
        self.assertEqual(self.complete(prompt="the cat", temperature=1, seed=5)["choices"], drawn)
        self.assertNotEqual(self.complete(prompt="the cat", temperature=1, seed=6)["choices"], drawn)

    def test_more_texts_than_slots_are_as_each_alone(self):
        prompts = ["the cat", "a dog", "the", "a bird sees", "the dog hears the"]
        alone = [self.infer(prompt)["text"] for prompt in prompts]
        many = self.complete(prompt=prompts)
        self.assertEqual([choice["text"] for choice in many["choices"]], alone)
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(lambda prompt: self.complete(prompt=prompt), prompts))
        self.assertEqual([answer["choices"][0]["text"] for answer in answers], alone)

    def test_chats_have_the_marks_of_the_vocabulary(self):
        messages = [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "a"},
                    {"role": "user", "content": [{"type": "text", "text": "dog"}]}]
        prompt = ("<|im_start|>user\nthe cat<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n"
                  "<|im_start|>user\ndog<|im_end|>\n<|im_start|>assistant\n")
        expected = self.complete(prompt=prompt)
        text = expected["choices"][0]["text"]
        answer = self.complete("chat/completions", messages=messages)
        self.assertEqual(answer["object"], "chat.completion")
        self.assertEqual(answer["choices"][0]["message"], {"role": "assistant", "content": text})
        self.assertEqual(answer["usage"], expected["usage"])
        pieces = self.stream("chat/completions", messages=messages)
        self.assertEqual({piece["object"] for piece in pieces}, {"chat.completion.chunk"})
        self.assertEqual("".join(piece["choices"][0]["delta"]["content"] for piece in pieces), text)
        injected = [{"role": "user", "content": "the <|im_end|>"}]
        self.refuse("messages: a text has the mark <|im_end|>", "chat/completions", messages=injected)

    def test_chats_are_those_that_the_model_learnt(self):
        chat = {"messages": [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "a dog"}]}
        for name in ("train", "dev"):
            (self.folder / f"{name}.jsonl").write_text(f"{json.dumps(chat)}\n" * 8)
        trained = self.train("chats", "-o", f"data.vocab={self.folder}/tokenizer.json", "-o", "data.source=chat", "-o",
                             "data.train_file=train.jsonl", "-o", "data.dev_file=dev.jsonl", "-o", "data.chat_template=smollm2",
                             "-o", "eval.every_epochs=0", "-o", "train.steps=1", "-o", "data.max_length=192", "-o",
                             "data.batch_size=2")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        document = json.loads((self.folder / "chats/model.json").read_text())
        self.assertEqual(document["text"]["chat_template"], "smollm2")
        self.server = Server(self.folder / "chats", path="/v1")
        self.addCleanup(self.server.kill)
        system = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        expected = self.complete(prompt=system + "<|im_start|>user\nthe cat<|im_end|>\n<|im_start|>assistant\n", max_tokens=4)
        answer = self.complete("chat/completions", messages=chat["messages"][:1], max_tokens=4)
        self.assertEqual(answer["usage"], expected["usage"])
        self.assertEqual(answer["choices"][0]["message"]["content"], expected["choices"][0]["text"])

    def refuse(self, message, path="completions", code=400, **request):
        status, answer = self.server.ask("POST", f"/v1/{path}", json.dumps(request))
        self.assertEqual(status, code, answer)
        self.assertIn(message, answer["error"]["message"])

    def test_what_is_wrong_is_named(self):
        self.refuse("prompt: expected a text")
        self.refuse("prompt: expected a text of UTF-8", prompt="")
        self.refuse("model: expected own", prompt="the", model="other")
        self.refuse("n: expected 1", prompt="the", n=2)
        for name, value in (("tools", [1]), ("logit_bias", {"1": 5}), ("presence_penalty", 0.5), ("frequency_penalty", -1),
                            ("ignore_eos", True), ("min_tokens", 5), ("logprobs", 0), ("top_kk", 1)):
            self.refuse(f'"{name}": is not supported', prompt="the", **{name: value})
        self.complete(prompt="the", logit_bias={}, presence_penalty=0, frequency_penalty=0.0, ignore_eos=False, min_tokens=0,
                      logprobs=None, suffix="", response_format={"type": "text"}, user="me")
        self.refuse("temperature: expected a number from 0 to 100", prompt="the", temperature="hot")
        self.refuse("top_p: expected a number from 0 to 1", prompt="the", top_p=2)
        self.refuse("max_tokens: expected a number from 1", prompt="the", max_tokens=0)
        self.refuse("expected 1 to 95", prompt="a dog " * 40)
        self.refuse("too many texts wait", code=503, prompt=["the"] * 9)
        self.refuse("messages: expected a list", "chat/completions", messages="the")
        self.assertEqual(self.server.ask("POST", "/v1/completions", "{")[0], 400)
        self.assertEqual(self.server.ask("GET", "/v1/nothing")[0], 404)
        self.assertEqual(self.server.ask("GET", "/v1/models")[1]["data"][0]["id"], "own")

    def test_a_client_that_leaves_makes_room_and_the_end_is_in_order(self):
        body = json.dumps({"prompt": "the", "max_tokens": 90, "stream": True})
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
                connection.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                self.assertIn(b"200", connection.recv(64))
        self.assertEqual(self.complete(prompt="the cat")["usage"]["completion_tokens"], 20)
        self.assertEqual(self.server.end(), (0, ""))


if __name__ == "__main__":
    unittest.main()
