"""Triton's and KServe's own clients ask ptrain serve, in the form that they send by default and in the others. Started by
run.sh, which installs them; what is not installed is skipped by name."""
import asyncio
import importlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from test_serve import Server, texts  # noqa: E402
from trained import TrainedModels, picture  # noqa: E402

VALUES = ["the film is fine", "a story is dull", "the story is lovely"]
ROWS, SHAPE = [[value.encode()] for value in VALUES], [len(VALUES)]


def needs(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest(f"needs {name}: {error}")


class Clients(TrainedModels):
    def serve(self, model="texts"):
        server = Server(self.runs / model)
        self.addCleanup(server.kill)
        return server

    def setUp(self):
        self.server = self.serve()
        self.address = f"127.0.0.1:{self.server.port}"
        answer = self.server.infer(texts(*VALUES))[1]
        self.expected = {one["name"]: one["data"] for one in answer["outputs"]}

    def assert_expected(self, name, array):
        self.assertEqual(list(array.shape), [len(VALUES), 2])
        for one, other in zip(array.flatten().tolist(), self.expected[name]):
            self.assertAlmostEqual(one, other, places=5)

    def inputs(self, module, binary):
        import numpy
        tensor = module.InferInput("text", SHAPE, "BYTES")
        tensor.set_data_from_numpy(numpy.array([row[0] for row in ROWS], dtype=object), binary_data=binary)
        return [tensor]

    def forms(self, module):
        """(inputs, outputs, options) of each form that the client has."""
        for binary in (True, False):
            outputs = [module.InferRequestedOutput(name, binary_data=binary) for name in self.expected]
            for asked in (None, outputs):
                for options in ({}, {"model_version": "1"}, {"request_compression_algorithm": "gzip"},
                                {"response_compression_algorithm": "gzip"}, {"response_compression_algorithm": "deflate"},
                                {"request_compression_algorithm": "deflate", "response_compression_algorithm": "gzip"}):
                    yield self.inputs(module, binary), asked, options

    def test_tritons_client(self):
        module = needs("tritonclient.http")
        client = module.InferenceServerClient(self.address)
        self.addCleanup(client.close)
        self.assertTrue(client.is_server_live() and client.is_server_ready())
        self.assertTrue(client.is_model_ready("texts") and client.is_model_ready("texts", "1"))
        self.assertEqual(client.get_model_metadata("texts", "1")["versions"], ["1"])
        self.assertIn("binary_tensor_data", client.get_server_metadata()["extensions"])
        for inputs, outputs, options in self.forms(module):
            with self.subTest(outputs=outputs is not None, **options):
                answer = client.infer("texts", inputs, outputs=outputs, **options)
                for name in self.expected:
                    self.assert_expected(name, answer.as_numpy(name))
        pending = [client.async_infer("texts", self.inputs(module, True)) for _ in range(8)]
        for one in pending:
            self.assert_expected("logits", one.get_result().as_numpy("logits"))
        ranked = module.InferRequestedOutput("probabilities", class_count=2)
        answer = client.infer("texts", self.inputs(module, True), outputs=[ranked]).as_numpy("probabilities")
        self.assertEqual(answer.shape, (len(VALUES), 2))
        best = [row.index(max(row)) for row in zip(*[iter(self.expected["probabilities"])] * 2)]
        self.assertEqual([int(row[0].decode().split(":")[1]) for row in answer], best)
        with self.assertRaisesRegex(needs("tritonclient.utils").InferenceServerException, "text, input_ids"):
            client.infer("texts", [module.InferInput("txt", [1], "INT64").set_data_from_numpy(
                needs("numpy").array([1], dtype="int64"))])

    def test_tritons_asynchronous_client(self):
        module = needs("tritonclient.http.aio")

        async def ask():
            async with module.InferenceServerClient(self.address) as client:
                self.assertTrue(await client.is_server_live() and await client.is_model_ready("texts"))
                for inputs, outputs, options in self.forms(module):
                    with self.subTest(outputs=outputs is not None, **options):
                        answer = await client.infer("texts", inputs, outputs=outputs, **options)
                        for name in self.expected:
                            self.assert_expected(name, answer.as_numpy(name))
                with self.assertRaisesRegex(needs("tritonclient.utils").InferenceServerException, "no such model"):
                    await client.infer("other", self.inputs(module, True), headers={"Accept-Encoding": "gzip, deflate, br"})
        asyncio.run(ask())

    def test_tritons_client_sends_pixels(self):
        module, numpy = needs("tritonclient.http"), needs("numpy")
        server = self.serve("images")
        client = module.InferenceServerClient(f"127.0.0.1:{server.port}")
        self.addCleanup(client.close)
        pixels = numpy.array([picture("blue", 1), picture("red", 2)], dtype="uint8")
        found = []
        for binary in (True, False):
            for array, datatype in ((pixels, "UINT8"), (pixels.astype("float32") / 255, "FP32")):
                tensor = module.InferInput("images", list(array.shape), datatype)
                tensor.set_data_from_numpy(array, binary_data=binary)
                found.append(client.infer("images", [tensor]).as_numpy("probabilities").argmax(axis=1).tolist())
        self.assertEqual(found, [found[0]] * 4)
        self.assertNotEqual(found[0][0], found[0][1])

    def test_kserves_client(self):
        needs("kserve")
        from kserve import InferenceRESTClient, InferInput, InferOutput, InferRequest, RESTConfig
        import numpy

        async def ask():
            client = InferenceRESTClient(RESTConfig(protocol="v2", retries=0, timeout=30))
            url = f"http://{self.address}"
            self.assertTrue(await client.is_server_ready(url) and await client.is_server_live(url))
            self.assertTrue(await client.is_model_ready(url, "texts"))
            for binary in (True, False):
                with self.subTest(binary=binary):
                    tensor = InferInput("text", SHAPE, "BYTES")
                    tensor.set_data_from_numpy(numpy.array(VALUES, dtype=object), binary_data=binary)
                    request = InferRequest("texts", [tensor], parameters={"binary_data_output": binary})
                    answer = await client.infer(url, request, model_name="texts")
                    for name in self.expected:
                        (output,) = [one for one in answer.outputs if one.name == name]
                        self.assert_expected(name, output.as_numpy())
            await client.close()
        asyncio.run(ask())


if __name__ == "__main__":
    unittest.main(verbosity=2)
