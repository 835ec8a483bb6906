"""ptrain init: from data of one's own to a configuration that trains."""
import os
import subprocess
import unittest

from data_files import write_cifar, write_idx, write_tar
from program import BINARY, ROOT, ProgramTest, run
from trained import COLOURS, WORDS, draw_images, picture, png, sentence


class Init(ProgramTest):
    def init(self, *arguments):
        return subprocess.run([BINARY, "init", *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)

    def run_config(self, name, *overrides):
        """Trains three steps by the configuration; the report."""
        changed = [part for key in ("train.epochs=1", "train.steps=3", "eval.max_samples=8", *overrides) for part in ("-o", key)]
        result = subprocess.run([BINARY, "run", f"{name}.yaml", "--out", "out", "--fresh", "--progress", "none", *changed],
                                capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report("out")

    def test_photos_without_val(self):
        for colour in COLOURS:
            for i in range(12):
                path = self.folder / "photos/train" / colour / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(picture(colour, i)))
        result = self.init("photos/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("33 training samples of 3 classes", result.stdout)
        report = self.run_config("photos")
        self.assertEqual((report["model"]["name"], report["config"]["data"]["image_size"], report["evaluation"]["eval_samples"]),
                         ("resnet18", 16, 3))
        before = (self.folder / "photos.yaml").read_text()
        self.assert_one_line_error(self.init("photos"), 2, "photos.yaml: already exists")
        self.assertEqual((self.folder / "photos.yaml").read_text(), before)

    def test_photos_in_classes_alone_with_a_broken_one(self):
        for colour in COLOURS:
            for i in range(12):
                path = self.folder / "photos" / colour / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(picture(colour, i)))
        (self.folder / "photos/blue/broken.png").write_bytes(b"no image")
        result = self.init("photos/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("34 training samples of 3 classes", result.stdout)
        report = self.run_config("photos", "data.batch_size=4")
        self.assertEqual((report["config"]["data"]["max_bad_share"], report["evaluation"]["eval_samples"]), (0.1, 3))
        (self.folder / "photos/masks").mkdir()  # of segmentation: pictures of all classes in one folder
        self.assert_one_line_error(self.init("photos/", "--out", "other.yaml"), 2, "expected images in <class>/ or train/<class>/")

    def test_few_photos_are_said_to_need_weights(self):
        draw_images(self.folder / "photos", side=96)
        result = self.init("photos/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("note: 36 images are few to learn from without pretrained weights. scripts/fetch_weights.sh resnet18",
                      result.stdout)
        text = (self.folder / "photos.yaml").read_text()
        self.assertIn("name: resnet18", text)
        self.assertIn("epochs: 45", text)  # 400 steps of 4 photographs

    def test_photos_with_val_keep_it(self):
        draw_images(self.folder / "photos")
        self.assertEqual(self.init("photos", "--out", "mine.yaml").returncode, 0)
        self.assertNotIn("split", (self.folder / "mine.yaml").read_text())
        self.assertEqual(self.run_config("mine")["evaluation"]["eval_samples"], 8)

    def test_a_table_with_columns_of_its_own(self):
        rows = "".join(f'{i},"{sentence(i % 2, i)}",{("bad", "good")[i % 2]}\n' for i in range(60))
        (self.folder / "reviews.csv").write_text("id,comment,verdict\n" + rows)
        self.assert_one_line_error(self.init("reviews.csv"), 1, "reviews.csv:1", "seems to be a header", "verdict")
        self.assertFalse((self.folder / "reviews.yaml").exists())
        result = self.init("reviews.csv", "--text", "comment", "--label", "verdict")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("60 training samples of 2 classes", result.stdout)
        (self.folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        report = self.run_config("reviews", "model.weights=", "model.size=tiny", "data.vocab=vocab.txt", "data.max_length=12",
                                 "data.batch_size=4")
        self.assertEqual(report["evaluation"]["eval_samples"], 6)

    def test_files_of_known_forms(self):
        write_idx(self.folder / "digits")
        write_cifar(self.folder / "small")
        for name, source in (("digits", "idx"), ("small", "cifar")):
            self.assertEqual(self.init(name).returncode, 0)
            self.assertEqual(self.run_config(name, "data.batch_size=4")["config"]["data"]["source"], source)

    def test_shards(self):
        images = {colour: png(picture(colour, 1)) for colour in COLOURS}
        members = [(f"{colour}{i}.{end}", content) for colour, image in images.items() for i in range(10)
                   for end, content in (("png", image), ("cls", colour.encode()))]
        write_tar(self.folder / "tars/train-000.tar", members)
        self.assertEqual(self.init("tars").returncode, 0)
        self.assertIn("source: webdataset", (self.folder / "tars.yaml").read_text())
        self.assertEqual(self.run_config("tars", "data.image_size=16", "data.batch_size=4")["evaluation"]["eval_samples"], 3)

    def test_the_folder_that_one_is_in(self):
        photos = self.folder / "photos"
        for colour in COLOURS:
            for i in range(12):
                path = photos / "train" / colour / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(picture(colour, i)))
        made = run("init", ".", cwd=photos)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn('output: {dir: "runs/photos",', (photos / "photos.yaml").read_text())

    def test_names_that_are_no_text(self):
        for split in ("train", "val"):
            folder = os.fsencode(self.folder) + b"/odd/" + split.encode() + b"/ca\xff"
            os.makedirs(folder)
            for i in range(2):
                with open(folder + b"/%d.png" % i, "wb") as file:
                    file.write(png(picture("red", i)))
        config = self.folder / "odd_run.yaml"
        config.write_text(f"model: {{name: resnet18}}\ndata: {{source: image_folder, path: {self.folder}/odd, image_size: 8, batch_size: 2}}\n"
                          "train: {steps: 1}\n")
        self.assert_one_line_error(self.train("odd_run", config=config), 1, "the name of the class", "is no UTF-8")

    def test_what_is_no_data(self):
        (self.folder / "empty").mkdir()
        self.assert_one_line_error(self.init("empty"), 2, "empty: expected images in <class>/ or train/<class>/")
        self.assert_one_line_error(self.init("nowhere"), 2, "nowhere: no such file or folder")
        (self.folder / "notes.doc").write_text("x")
        self.assert_one_line_error(self.init("notes.doc"), 2, "notes.doc: expected a folder, or a table")
        (self.folder / "broken/train/a").mkdir(parents=True)
        (self.folder / "broken/train/a/1.png").write_bytes(b"no image")
        self.assert_one_line_error(self.init("broken"), 1, "1.png")
        self.assertEqual(list(self.folder.glob("[!t]*.yaml")), [])


class Schema(unittest.TestCase):
    def test_shipped_configurations_name_their_schema_for_editors(self):
        schema = ROOT / "configs/config.schema.json"
        self.assertEqual(schema.read_text(), run("schema", "config").stdout, "ptrain schema config >configs/config.schema.json")
        for config in [*ROOT.glob("configs/*.yaml"), *ROOT.glob("configs/[qrz]*/*.yaml")]:
            first = config.read_text().splitlines()[0]
            self.assertTrue(first.startswith("# yaml-language-server: $schema="), config)
            self.assertEqual((config.parent / first.partition("=")[2]).resolve(), schema, config)


if __name__ == "__main__":
    unittest.main()
