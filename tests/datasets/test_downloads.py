"""Broken servers, addresses and archives: no wrong download gets into the cache."""

from __future__ import annotations

import gzip
import pickle
import random

import mirror as local
import numpy as np
import pooch
import pytest
from mirror import files_in, pack_tar, pack_zip

from knnccv import datasets
from knnccv.datasets import _download, _manifest
from knnccv.datasets._manifest import Source

LIVER = "liver-disorders/bupa.data"
pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


class TestBrokenServers:
    def fails(self, url, monkeypatch, cache, *reasons):
        monkeypatch.setenv("KNNCCV_DATA_URL", url)
        with pytest.raises(datasets.DatasetError) as caught:
            datasets.fetch_liver_disorders()
        message = str(caught.value)
        for part in (f"{url}/{LIVER}", str(cache / LIVER), "KNNCCV_DATA_URL", *reasons):
            assert part in message
        assert files_in(cache) == []
        assert not _download.is_cached(_manifest.load_manifest("liver-disorders"))

    @pytest.mark.parametrize("code", [403, 404, 500, 503])
    def test_status(self, monkeypatch, cache, code):
        with local.serve(local.status(code)) as server:
            self.fails(server.url, monkeypatch, cache, f"HTTP {code}")
            assert len(server.requests) == (_download.ATTEMPTS if code >= 500 else 1)

    def test_wrong_content(self, monkeypatch, cache, liver):
        with local.serve(local.content(liver.replace(b"92", b"93", 1))) as server:
            self.fails(server.url, monkeypatch, cache, "SHA-256 of its 7297 bytes is")
            assert len(server.requests) == 1

    def test_truncated_with_a_matching_length(self, monkeypatch, cache, liver):
        with local.serve(local.content(liver[:5000])) as server:
            self.fails(server.url, monkeypatch, cache, "SHA-256 of its 5000 bytes is")

    def test_dropped_in_the_body(self, monkeypatch, cache, liver):
        with local.serve(local.dropped(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "IncompleteRead")
            assert len(server.requests) == _download.ATTEMPTS

    def test_hangup(self, monkeypatch, cache):
        with local.serve(local.hangup) as server:
            self.fails(server.url, monkeypatch, cache, "RemoteDisconnected")

    def test_refused(self, monkeypatch, cache):
        self.fails(local.unused_url(), monkeypatch, cache, "refused")

    def test_no_network(self, monkeypatch, cache):
        self.fails("http://nowhere.invalid", monkeypatch, cache, "nowhere.invalid")

    @pytest.mark.parametrize("half", [False, True])
    def test_timeout(self, monkeypatch, cache, liver, half):
        monkeypatch.setattr(_download, "READ_TIMEOUT", 0.1)
        with local.serve(local.stalled(liver) if half else local.silent) as server:
            self.fails(server.url, monkeypatch, cache, "no answer within", "0.1 s")
            assert len(server.requests) == 1

    def test_dripping(self, monkeypatch, cache, liver):
        monkeypatch.setattr(_download, "DEADLINE", -1.0)
        with local.serve(local.content(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "not complete after")

    def test_too_large(self, monkeypatch, cache, liver):
        monkeypatch.setattr(_download, "MAX_BYTES", 3000)
        with local.serve(local.content(liver)) as server:
            self.fails(server.url, monkeypatch, cache, "larger than 3000 bytes")

    def test_a_passing_failure_is_forgiven(self, monkeypatch, liver):
        answers = iter([local.dropped(liver), local.content(liver)])
        with local.serve(lambda handler: next(answers)(handler)) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url + "/")
            datasets.fetch_liver_disorders()
            assert server.requests == [f"/{LIVER}"] * 2

    def test_error_is_an_os_error_and_survives_pickling(self, monkeypatch):
        monkeypatch.setenv("KNNCCV_DATA_URL", local.unused_url())
        with pytest.raises(OSError, match="could not be fetched") as caught:
            datasets.fetch_liver_disorders()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class TestAddresses:
    def test_public_addresses_follow_the_mirror(self, monkeypatch, mirror, cache):
        with local.serve(local.status(404)) as broken:
            monkeypatch.setenv("KNNCCV_DATA_URL", f"{broken.url}/base")
            public = [Source(local.unused_url()), Source(f"{mirror.url}/{LIVER}")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            assert datasets.fetch_liver_disorders().X.shape == (345, 6)
            assert broken.requests == [f"/base/{LIVER}"]
        assert files_in(cache) == [LIVER]

    def test_every_address_is_listed_with_its_reason(self, monkeypatch, cache, liver):
        with (
            local.serve(local.status(404)) as missing,
            local.serve(local.content(liver[1:])) as wrong,
        ):
            public = [Source(f"{missing.url}/a"), Source(f"{wrong.url}/b")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            with pytest.raises(datasets.DatasetError) as caught:
                datasets.fetch_liver_disorders()
        message = str(caught.value)
        assert f"{missing.url}/a\n    HTTP 404" in message
        assert f"{wrong.url}/b\n    the SHA-256 of its 7296 bytes is" in message
        assert files_in(cache) == []

    def test_member_of_a_zip(self, monkeypatch, cache, liver):
        archive = pack_zip({"Index": b"", "bupa.data": liver})
        with local.serve(local.content(archive)) as server:
            public = [Source(server.url, "bupa.data")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            datasets.fetch_liver_disorders()
        assert (cache / LIVER).read_bytes() == liver

    @pytest.mark.parametrize(
        ("archive", "reason"),
        [
            (b"<html>moved</html>", "not a usable zip"),
            (pack_zip({"other.data": b"1"}), "bupa.data"),
            (pack_zip({"bupa.data": b"1"}), "SHA-256 of its 1 bytes"),
            (pack_zip({"bupa.data": bytes(65 * 2**20)}), "larger than"),
        ],
        ids=["page", "missing", "wrong", "bomb"],
    )
    def test_bad_zip(self, monkeypatch, cache, archive, reason):
        with local.serve(local.content(archive)) as server:
            public = [Source(server.url, "bupa.data")]
            monkeypatch.setattr(_download, "public_sources", lambda _: public)
            with pytest.raises(datasets.DatasetError, match=reason):
                datasets.fetch_liver_disorders()
        assert files_in(cache) == []

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

    @pytest.mark.parametrize("prefix", ["", "att_faces/", "a/orl_faces/"])
    @pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
    def test_forms(self, monkeypatch, mirror, cache, images, prefix, form):
        members = [(prefix + name, blob) for name, blob in images.items()]
        random.Random(0).shuffle(members)
        members = {"__MACOSX/att_faces/s1/._1.pgm": b"", **dict(members)}
        archive = {
            "zip": lambda: pack_zip(members),
            "tar": lambda: pack_tar(members, "w"),
            "tar.gz": lambda: pack_tar(members, "w:gz"),
        }[form]()
        data = self.fetch(archive, monkeypatch)
        assert files_in(cache) == ["orl/att_faces.zip"]
        # The same once more, from the cache, and from the original.
        np.testing.assert_array_equal(datasets.fetch_orl((2, 2)).X, data.X)
        (cache / "orl" / "att_faces.zip").unlink()
        monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
        np.testing.assert_array_equal(datasets.fetch_orl((2, 2)).X, data.X)

    def test_one_altered_image(self, monkeypatch, cache, images):
        blob = images["s17/4.pgm"]
        images["s17/4.pgm"] = blob[:-1] + bytes([blob[-1] ^ 1])
        with pytest.raises(datasets.DatasetError, match=r"s17/4\.pgm does not have .*\(1 of 400"):
            self.fetch(pack_zip(images), monkeypatch)
        assert files_in(cache) == []

    def test_a_second_copy_may_be_the_right_one(self, monkeypatch, images):
        self.fetch(pack_zip({"thumbnails/s1/1.pgm": b"P5", **images}), monkeypatch)
        self.fetch(pack_zip({**images, "thumbnails/s1/1.pgm": b"P5"}), monkeypatch)

    def test_missing_images(self, monkeypatch, cache, images):
        members = {name: blob for name, blob in images.items() if not name.startswith("s40/")}
        with pytest.raises(datasets.DatasetError, match=r"s40/1\.pgm is missing \(10 of 400"):
            self.fetch(pack_zip(members), monkeypatch)
        assert files_in(cache) == []

    @pytest.mark.parametrize(
        ("archive", "reason"),
        [
            (b"", "usable|missing"),
            (b"<html>gone</html>" * 99, "not a usable zip, tar or tar.gz"),
            (pack_zip({"s1/1.pgm": bytes(65 * 2**20)}), "larger than"),
            (pack_tar({"s1/1.pgm": bytes(65 * 2**20)}, "w:gz"), "larger than"),
            (gzip.compress(b"no tar" * 999), "not a usable zip, tar or tar.gz"),
            (pack_tar({"s1/1.pgm": bytes(10000)}, "w:gz")[:-20], "not a usable|missing"),
            (pack_zip({"s1/1.pgm": bytes(10000)})[:-20], "not a usable"),
            (pack_tar({"a/" * 150_000 + "1.pgm": b""}, "w:gz"), r"s1/1\.pgm is missing"),
        ],
        ids=["empty", "page", "zip-bomb", "gzip-bomb", "no-tar", "cut-tar", "cut-zip", "deep-name"],
    )
    def test_bad_archives(self, monkeypatch, cache, archive, reason):
        with pytest.raises(datasets.DatasetError, match=reason):
            self.fetch(archive, monkeypatch)
        assert files_in(cache) == []

    def test_only_listed_members_are_unpacked(self, monkeypatch, images):
        # Unpacking the large one would exceed the bound.
        monkeypatch.setattr(_download, "MAX_BYTES", 2**23)
        self.fetch(pack_zip({"movie": bytes(2**24), **images}), monkeypatch)
