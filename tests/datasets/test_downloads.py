"""The files of the data sets: cache folder, servers, addresses, archives; no wrong file is ever stored."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import random
import subprocess
import sys
from pathlib import Path

import mirror as local
import numpy as np
import pooch
import pytest
from mirror import files_in, pack_tar, pack_zip

from knnccv import datasets
from knnccv.datasets import _download

ROOT = Path(__file__).resolve().parents[2]
LIVER = "liver-disorders/bupa.data"
FETCHERS = {
    "abalone": datasets.fetch_abalone,
    "breast-cancer": datasets.fetch_breast_cancer,
    "liver-disorders": datasets.fetch_liver_disorders,
    "orl": datasets.fetch_orl,
}
BUNDLED = {"wine": datasets.load_wine, "diabetes": datasets.load_diabetes}
FUNCTIONS = FETCHERS | BUNDLED
pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


def listed():
    return {info.name: info for info in datasets.list_datasets()}


def in_cache():
    return {name for name, info in listed().items() if info.cached} - set(BUNDLED)


def flipped(blob, at):
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]


@pytest.fixture
def public(monkeypatch):
    """Set the public addresses of every file: pairs of URL and member of an archive."""
    return lambda *pairs: monkeypatch.setattr(
        _download, "public_sources", lambda _: [_download.Source(*pair) for pair in pairs]
    )


class TestCache:
    def test_a_file_is_asked_for_once_and_a_damaged_one_is_replaced(self, mirrored, cache):
        mirrored.requests.clear()
        assert not in_cache()
        assert not cache.exists()
        for number, (name, fetch) in enumerate(FETCHERS.items()):
            first, path = fetch(), listed()[name].path
            good = path.read_bytes()
            np.testing.assert_array_equal(fetch().X, first.X)
            path.write_bytes((flipped(good, len(good) // 2), good[: len(good) // 2], b"")[number % 3])
            assert name not in in_cache()
            fetch()
            assert path.read_bytes() == good
            assert name in in_cache()
            assert mirrored.requests == [f"/{path.relative_to(cache).as_posix()}"] * 2
            mirrored.requests.clear()
        assert files_in(cache) == sorted(str(listed()[name].path.relative_to(cache)) for name in FETCHERS)

    def test_damaged_file_without_a_server_is_reported_and_kept(self, cache, liver):
        path = cache / LIVER
        path.parent.mkdir(parents=True)
        path.write_bytes(liver[:-1])
        with pytest.raises(datasets.DatasetError) as caught:
            datasets.fetch_liver_disorders()
        assert f"{path}\n    the SHA-256 of its 7296 bytes is" in str(caught.value)
        assert path.read_bytes() == liver[:-1]

    @pytest.mark.usefixtures("stored")
    def test_a_folder_filled_by_hand_may_be_read_only(self, monkeypatch):
        monkeypatch.setattr(_download, "_require_writable", None)
        for fetch in FETCHERS.values():
            fetch()

    def test_the_folder_is_that_of_the_environment_or_of_the_user(self, monkeypatch, tmp_path):
        monkeypatch.setenv("KNNCCV_DATA_DIR", "")
        assert "knnccv" in listed()["orl"].path.parts
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        monkeypatch.setenv("KNNCCV_DATA_DIR", "~/data")
        assert listed()["orl"].path == tmp_path / "data" / "orl" / "att_faces.zip"

    def test_unwritable_folder(self, mirrored, monkeypatch, tmp_path):
        (tmp_path / "file").touch()
        monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "file" / "cache"))
        asked = len(mirrored.requests)
        with pytest.raises(datasets.DatasetError, match=r"cannot be stored at .*KNNCCV_DATA_DIR"):
            datasets.fetch_liver_disorders()
        assert len(mirrored.requests) == asked

    @pytest.mark.usefixtures("mirrored")
    def test_full_disk(self, monkeypatch, cache):
        def full(path, blob):
            with path.open("wb") as stream:
                stream.write(blob[:10])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(datasets.DatasetError, match=r"No space left.*KNNCCV_DATA_DIR"):
            datasets.fetch_liver_disorders()
        assert files_in(cache) == []

    @pytest.mark.parametrize("moment", ["_Sink.write", "os.replace"])
    @pytest.mark.usefixtures("mirrored")
    def test_interrupt_leaves_nothing(self, monkeypatch, cache, moment):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(f"knnccv.datasets._download.{moment}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            datasets.fetch_liver_disorders()
        assert files_in(cache) == []

    @pytest.mark.usefixtures("mirrored")
    @pytest.mark.slow
    def test_processes_which_import_little(self, cache):
        code = (
            "import sys\n"
            "from knnccv import datasets\n"
            "assert not {'pooch', 'requests', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
            "assert datasets.fetch_abalone().X.shape == (4177, 8)"
        )
        workers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
        assert [worker.wait(timeout=120) for worker in workers] == [0] * 2
        assert files_in(cache) == ["abalone/abalone.data"]


# What a server answers for a file, what is told of it, the number of requests, and bounds that are changed.
BROKEN = {
    "forbidden": (lambda _: local.status(403), "HTTP 403", 1, {}),
    "missing": (lambda _: local.status(404), "HTTP 404", 1, {}),
    "failing": (lambda _: local.status(500), "HTTP 500", 2, {}),
    "busy": (lambda _: local.status(503), "HTTP 503", 2, {}),
    "wrong": (lambda blob: local.content(flipped(blob, 9)), "SHA-256 of its 7297 bytes is", 1, {}),
    "short": (lambda blob: local.content(blob[:5000]), "SHA-256 of its 5000 bytes is", 1, {}),
    "dropped": (local.dropped, "IncompleteRead", 2, {}),
    "hangup": (lambda _: local.hangup, "RemoteDisconnected", 1, {}),
    "silent": (lambda _: local.silent, "no answer within", 1, {"READ_TIMEOUT": 0.1}),
    "stalled": (local.stalled, "no answer within", 1, {"READ_TIMEOUT": 0.1}),
    "large": (local.content, "larger than 3000 bytes", 1, {"MAX_BYTES": 3000}),
}


class TestBrokenServers:
    def fails(self, url, monkeypatch, cache, reason):
        monkeypatch.setenv("KNNCCV_DATA_URL", url)
        with pytest.raises(OSError, match="could not be fetched") as caught:
            datasets.fetch_liver_disorders()
        assert type(caught.value) is datasets.DatasetError
        message = str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == message
        for part in (f"{url}/{LIVER}", str(cache / LIVER), "KNNCCV_DATA_URL", reason):
            assert part in message
        assert files_in(cache) == []
        assert not in_cache()

    @pytest.mark.parametrize("name", BROKEN)
    def test_answers(self, name, monkeypatch, cache, liver):
        answer, reason, n_requests, bounds = BROKEN[name]
        for bound, value in bounds.items():
            monkeypatch.setattr(_download, bound, value)
        with local.serve(answer(liver)) as server:
            self.fails(server.url, monkeypatch, cache, reason)
            assert len(server.requests) == n_requests

    @pytest.mark.parametrize("last", ["\r\n", "X-Slow: "])
    def test_dripping(self, last, monkeypatch, cache):
        """A body, and a header; no timeout of reading ends them, and no part of a body is complete."""
        monkeypatch.setattr(_download, "DEADLINE", 0.1)
        with local.serve(local.dripping(f"HTTP/1.0 200 OK\r\nContent-Length: 2000\r\n{last}")) as server:
            server.dripped = 0
            self.fails(server.url, monkeypatch, cache, "not complete after 0.1 seconds")
            assert server.dripped < 1000

    def test_no_server_and_no_network(self, monkeypatch, cache):
        self.fails(local.unused_url(), monkeypatch, cache, "refused")
        self.fails("http://nowhere.invalid", monkeypatch, cache, "nowhere.invalid")

    def test_a_passing_failure_is_forgiven(self, monkeypatch, liver):
        answers = iter([local.dropped(liver), local.content(liver)])
        with local.serve(lambda handler: next(answers)(handler)) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url + "/")
            datasets.fetch_liver_disorders()
            assert server.requests == [f"/{LIVER}"] * 2


class TestAddresses:
    @pytest.mark.parametrize("url", ["/some/folder", "ftp://127.0.0.1", "http://", "mirror"])
    def test_a_mirror_has_an_address_of_the_web(self, monkeypatch, cache, url):
        monkeypatch.setenv("KNNCCV_DATA_URL", url)
        with pytest.raises(ValueError, match="KNNCCV_DATA_URL must begin with http"):
            datasets.fetch_liver_disorders()
        assert not cache.exists()

    def test_public_addresses_follow_the_mirror(self, monkeypatch, mirror, public, cache):
        with local.serve(local.status(404)) as broken:
            monkeypatch.setenv("KNNCCV_DATA_URL", f"{broken.url}/base")
            public((local.unused_url(),), (f"{mirror.url}/{LIVER}",))
            assert datasets.fetch_liver_disorders().X.shape == (345, 6)
            assert broken.requests == [f"/base/{LIVER}"]
        assert files_in(cache) == [LIVER]

    def test_every_address_is_listed_with_its_reason(self, public, cache, liver):
        with local.serve(local.status(404)) as missing, local.serve(local.content(liver[1:])) as wrong:
            public((f"{missing.url}/a",), (f"{wrong.url}/b",))
            with pytest.raises(datasets.DatasetError) as caught:
                datasets.fetch_liver_disorders()
        message = str(caught.value)
        assert f"{missing.url}/a\n    HTTP 404" in message
        assert f"{wrong.url}/b\n    the SHA-256 of its 7296 bytes is" in message
        assert files_in(cache) == []

    def test_members_of_zips(self, monkeypatch, public, cache, liver):
        monkeypatch.setattr(_download, "MAX_BYTES", 2**13)
        bad = [
            (b"<html>moved</html>", "not a usable zip"),
            (pack_zip({"other.data": b"1"}), "bupa.data"),
            (pack_zip({"bupa.data": b"1"}), "SHA-256 of its 1 bytes"),
            (pack_zip({"bupa.data": bytes(2**14)}), "larger than"),
        ]
        for archive, reason in bad:
            with local.serve(local.content(archive)) as server:
                public((server.url, "bupa.data"))
                with pytest.raises(datasets.DatasetError, match=reason):
                    datasets.fetch_liver_disorders()
            assert files_in(cache) == []
        with local.serve(local.content(pack_zip({"Index": b"", "bupa.data": liver}))) as server:
            public((server.url, "bupa.data"))
            datasets.fetch_liver_disorders()
        assert (cache / LIVER).read_bytes() == liver

    def test_only_downloads_are_logged(self, mirrored, monkeypatch, caplog):
        monkeypatch.setattr(pooch.get_logger(), "handlers", [caplog.handler])
        datasets.fetch_liver_disorders()
        datasets.fetch_liver_disorders()
        logged = [record.getMessage() for record in caplog.records if record.name == "pooch"]
        assert logged == [f"Downloading {mirrored.url}/{LIVER}"]


class TestFaceArchives:
    def fetch(self, archive, monkeypatch):
        with local.serve(local.content(archive)) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
            return datasets.fetch_orl(size=(2, 2))

    @pytest.mark.slow
    def test_forms(self, monkeypatch, mirror, cache, images):
        forms = [
            ("", pack_zip),
            ("att_faces/", lambda members: pack_tar(members, "w")),
            ("a/orl_faces/", lambda members: pack_tar(members, "w:gz")),
        ]
        monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
        original = datasets.fetch_orl((2, 2)).X
        for prefix, pack in forms:
            (cache / "orl" / "att_faces.zip").unlink()
            members = [(prefix + name, blob) for name, blob in images.items()]
            random.Random(0).shuffle(members)
            data = self.fetch(pack({"__MACOSX/att_faces/s1/._1.pgm": b"", **dict(members)}), monkeypatch)
            assert files_in(cache) == ["orl/att_faces.zip"]
            np.testing.assert_array_equal(data.X, original)
            np.testing.assert_array_equal(datasets.fetch_orl((2, 2)).X, original)  # from the cache

    def test_a_second_copy_may_be_the_right_one(self, monkeypatch, cache, images):
        self.fetch(pack_zip({"thumbnails/s1/1.pgm": b"P5", **images}), monkeypatch)
        (cache / "orl" / "att_faces.zip").unlink()
        self.fetch(pack_zip({**images, "thumbnails/s1/1.pgm": b"P5"}), monkeypatch)

    @pytest.mark.slow
    def test_bad_archives(self, monkeypatch, cache, images):
        monkeypatch.setattr(_download, "MAX_BYTES", 2**23)
        altered = {**images, "s17/4.pgm": flipped(images["s17/4.pgm"], -1)}
        fewer = {name: blob for name, blob in images.items() if not name.startswith("s40/")}
        for archive, reason in [
            (pack_zip(altered), r"s17/4\.pgm does not have .*\(1 of 400"),
            (pack_zip(fewer), r"s40/1\.pgm is missing \(10 of 400"),
            (b"", "usable|missing"),
            (b"<html>gone</html>" * 99, "not a usable zip, tar or tar.gz"),
            (pack_zip({"s1/1.pgm": bytes(2**23 + 1)}), "larger than"),
            (gzip.compress(bytes(2**23 + 1)), "larger than"),  # not unpacked to its end
            (gzip.compress(b"no tar" * 999), "not a usable zip, tar or tar.gz"),
            (pack_tar({"s1/1.pgm": bytes(10000)}, "w:gz")[:-20], "not a usable|missing"),
            (pack_zip({"s1/1.pgm": bytes(10000)})[:-20], "not a usable"),
            (pack_tar({"a/" * 150_000 + "1.pgm": b""}, "w:gz"), r"s1/1\.pgm is missing"),
        ]:
            with pytest.raises(datasets.DatasetError, match=reason):
                self.fetch(archive, monkeypatch)
            assert files_in(cache) == []

    def test_only_listed_members_are_unpacked(self, monkeypatch, images):
        # Unpacking the large one would exceed the bound.
        monkeypatch.setattr(_download, "MAX_BYTES", 2**23)
        self.fetch(pack_zip({"movie": bytes(2**24), **images}), monkeypatch)


# What is asked of real servers cannot be seen from the answers of the one on this machine.
class TestManifests:
    @pytest.mark.usefixtures("mirrored")
    def test_numbers_are_those_of_the_default(self):
        assert list(listed()) == sorted(FUNCTIONS)
        for name, function in FUNCTIONS.items():
            info, data = listed()[name], function()
            assert data.X.shape == (info.n_items, info.n_features)
            assert info.n_classes == (None if name == "diabetes" else len(np.unique(data.y)))
            assert info.citation
            assert info.licence
            assert info.address.startswith("https://")
            assert bool(_download.load_manifest(name).sources) == (name in FETCHERS)

    def test_bundled_files_are_the_recorded_ones(self):
        for name in BUNDLED:
            blob, manifest = listed()[name].path.read_bytes(), _download.load_manifest(name)
            assert hashlib.sha256(blob).hexdigest() == manifest.sha256
            assert blob.splitlines()[0].decode().split(",") == list(manifest.table.fields)

    def test_an_unknown_one_names_the_others(self):
        with pytest.raises(ValueError, match="there is no data set 'iris'; choose from: abalone"):
            _download.load_manifest("iris")

    def test_installed_manifests_are_preferred(self, monkeypatch, tmp_path):
        package = tmp_path / "site" / "knnccv" / "datasets"
        package.mkdir(parents=True)
        monkeypatch.setattr(_download, "_HERE", package)
        assert _download.manifest_folder() == tmp_path / "site" / "datasets"
        (package / "_manifests").mkdir()
        assert _download.manifest_folder() == package / "_manifests"
