"""OpenAI's own client asks ptrain serve for texts, whole and streamed. Started by run.sh, which installs it; skipped where it
is not."""
import unittest

from test_serving_clients import needs
from test_serve_texts import Texts as ServedTexts


class Client(ServedTexts):
    def setUp(self):
        openai = needs("openai")
        super().setUp()
        self.openai = openai
        self.client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", max_retries=0, timeout=60)

    def test_it_reads_models_texts_and_errors(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["own"])
        expected = self.infer("the cat")
        request = {"model": "own", "prompt": "the cat", "max_tokens": 20, "temperature": 0}
        whole = self.client.completions.create(**request)
        self.assertEqual((whole.choices[0].text, whole.usage.completion_tokens), (expected["text"], 20))
        pieces = list(self.client.completions.create(stream=True, **request))
        self.assertEqual("".join(piece.choices[0].text for piece in pieces), expected["text"])
        with self.assertRaisesRegex(self.openai.BadRequestError, "model: expected own"):
            self.client.completions.create(**{**request, "model": "other"})

    def test_it_chats(self):
        request = {"model": "own", "messages": [{"role": "user", "content": "the cat"}], "max_tokens": 20, "temperature": 0}
        whole = self.client.chat.completions.create(**request)
        self.assertEqual((whole.choices[0].message.role, whole.choices[0].finish_reason), ("assistant", "length"))
        pieces = list(self.client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **request))
        self.assertEqual(pieces.pop().usage, whole.usage)
        self.assertEqual("".join(piece.choices[0].delta.content for piece in pieces), whole.choices[0].message.content)


# The cases that need no client run in tests/cli.
for name in [name for name in dir(ServedTexts) if name.startswith("test_")]:
    setattr(Client, name, None)
del ServedTexts

if __name__ == "__main__":
    unittest.main()
