"""The sets of Wilson and Martinez (1999): downloads, manifests, data frames and pickles."""

from __future__ import annotations

import pickle
import re
import sys

import mirror as local
import numpy as np
import pytest
from uci_counts import EXPECTED, LEDS, texts_of

from knnccv import datasets
from knnccv.datasets import _download, _manifest, _uci, fetch_uci
from knnccv.datasets._manifest import Source

pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")


class TestDownloads:
    def test_every_file_has_the_recorded_hash(self, data_folder):
        lines = (data_folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
        recorded = {path.removeprefix("./"): sha256 for sha256, path in map(str.split, lines)}
        files = [file for known in _uci.load_sets().values() for file in known.files]
        assert len(files) == 37  # one for each of the 28 sets, another one, and eight more of Vehicle
        for file in files:
            assert file.sha256 == recorded[file.path], file.path

    @pytest.mark.parametrize("name", EXPECTED)
    def test_addresses_are_stable_ones(self, name):
        for file in _uci.load_sets()[name].files:
            assert file.sources
            for source in file.sources:
                assert re.match(
                    r"https://archive\.ics\.uci\.edu/(ml/machine-learning-databases|static/public/\d+)/\S+$"
                    r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/\S+$",
                    source.url,
                )
                assert (source.member is not None) == source.url.endswith(".zip")
                last = source.url.rpartition("/")[2] if source.member is None else source.member
                assert last == file.path.rpartition("/")[2] or file.path == "liver-disorders/bupa.data"

    def test_pima_is_not_asked_of_uci(self):
        (file,) = _uci.load_sets()["Pima Diabetes"].files
        assert not any("uci.edu" in source.url for source in file.sources)

    @pytest.mark.parametrize("name", LEDS)
    def test_nothing_is_downloaded_for_led(self, name, cache):
        assert _uci.load_sets()[name].files == ()
        fetch_uci(name)
        assert not cache.exists()

    @pytest.mark.parametrize("name", EXPECTED)
    def test_addresses_are_listed_when_all_fail(self, name, monkeypatch, cache):
        with local.serve(local.status(404)) as broken:
            public = {
                file.path: [
                    Source(f"{broken.url}/public/{i}", source.member)
                    for i, source in enumerate(file.sources)
                ]
                for file in _uci.load_sets()[name].files
            }
            monkeypatch.setattr(_download, "public_sources", lambda manifest: public[manifest.path])
            monkeypatch.setenv("KNNCCV_DATA_URL", f"{broken.url}/mirror")
            with pytest.raises(datasets.DatasetError, match="could not be fetched") as caught:
                fetch_uci(name)
        first = _uci.load_sets()[name].files[0]
        for address in (f"{broken.url}/mirror/{first.path}", *(s.url for s in public[first.path])):
            assert f"{address}\n    HTTP 404" in str(caught.value)
        assert str(cache / first.path) in str(caught.value)
        assert first.sha256 in str(caught.value)
        assert not cache.exists()

    def test_one_of_several_files_fails(self, data_folder, monkeypatch, cache):
        whole = local.folder(data_folder)

        def answer(handler):
            handler.send_error(404) if handler.path.endswith("xac.dat") else whole(handler)

        with local.serve(answer) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
            with pytest.raises(datasets.DatasetError, match=r"Vehicle could not .*\s.*vehicle/xac\.dat"):
                fetch_uci("Vehicle")
        assert sorted(path.name for path in cache.rglob("*.dat")) == ["xaa.dat", "xab.dat"]

    def test_a_damaged_file_is_fetched_again(self, mirrored, cache):
        fetch_uci("Zoo")
        (cache / "uci31" / "zoo" / "zoo.data").write_text("aardvark\n")
        asked = len(mirrored.requests)
        assert fetch_uci("Zoo").X.shape == (101, 16)
        assert fetch_uci("Zoo").X.shape == (101, 16)
        assert len(mirrored.requests) == asked + 1

    def test_a_file_is_shared_with_the_other_fetch_functions(self, mirrored):
        mirrored.requests.clear()
        data, known = fetch_uci("Breast Cancer (WI)"), datasets.fetch_breast_cancer(bare_nuclei="nan")
        assert len(mirrored.requests) == 1
        np.testing.assert_array_equal(data.X, known.X)
        np.testing.assert_array_equal(np.array([2, 4])[data.y], known.y)
        assert data.feature_names == known.feature_names
        liver = datasets.fetch_liver_disorders()
        np.testing.assert_array_equal(fetch_uci("Liver (Bupa)").X, liver.X)
        np.testing.assert_array_equal(fetch_uci("Wine").X, datasets.load_wine().X)
        assert fetch_uci("Wine").feature_names == datasets.load_wine().feature_names

    def test_the_list_of_data_sets_is_as_it_was(self):
        assert [info.name for info in datasets.list_datasets()] == _manifest.manifest_names()
        assert "sets" not in _manifest.manifest_names()


class TestManifest:
    @pytest.mark.parametrize("name", EXPECTED)
    def test_names_of_fields_agree(self, name):
        known = _uci.load_sets()[name]
        assert len(set(known.fields)) == len(known.fields)
        for field in (known.target, *known.omit, *known.numeric, *(known.keep or ())):
            assert field in known.fields
        assert known.target not in (*known.omit, *known.numeric)
        assert not set(known.omit) & set(known.numeric)
        assert known.notes
        assert all(note.endswith(".") for note in known.notes)

    def test_two_readings_do_not_share_their_state(self):
        first = _uci.load_sets()
        _uci.load_sets.cache_clear()
        assert _uci.load_sets() == first


class TestFrame:
    @pytest.fixture(autouse=True)
    def pandas(self):
        return pytest.importorskip("pandas")

    @pytest.mark.parametrize("name", [*EXPECTED, *LEDS])
    @pytest.mark.usefixtures("stored")
    def test_columns(self, name, pandas):
        data = fetch_uci(name)
        frame = data.to_frame()
        assert tuple(frame.columns) == data.feature_names
        assert len(frame) == len(data.X)
        for at, column in enumerate(frame):
            series = frame[column]
            np.testing.assert_array_equal(series.isna(), np.isnan(data.X[:, at]))
            if data.nominal[at]:
                assert isinstance(series.dtype, pandas.CategoricalDtype)
                assert not series.cat.ordered
                assert tuple(series.cat.categories) == data.categories[at]
                assert [None if pandas.isna(text) else text for text in series] == texts_of(data, at)
            else:
                assert series.dtype == np.float64
                np.testing.assert_array_equal(series, data.X[:, at])

    def test_of_numeric_data(self):
        for data in (datasets.load_wine(), datasets.load_diabetes()):
            frame = data.to_frame()
            assert tuple(frame.columns) == data.feature_names
            np.testing.assert_array_equal(frame.to_numpy(), data.X)
            assert (data.nominal, data.categories) == ((), ())

    @pytest.mark.usefixtures("stored")
    def test_of_many_columns(self):
        data = datasets.fetch_orl(size=(30, 20))
        np.testing.assert_array_equal(data.to_frame().to_numpy(), data.X)

    @pytest.mark.usefixtures("stored")
    def test_is_a_copy(self):
        for data, column in ((datasets.load_wine(), "hue"), (fetch_uci("Zoo"), "legs")):
            before = data.X.copy()
            frame = data.to_frame()
            frame.loc[:, column] = -1.0
            np.testing.assert_array_equal(data.X, before)

    def test_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"to_frame\(\) needs pandas: pip install 'knnccv\[pandas\]'"):
            datasets.load_wine().to_frame()


@pytest.mark.parametrize("name", ["Bridges", "Image Segmentation", "LED Creator+17"])
@pytest.mark.usefixtures("stored")
def test_survives_pickling(name):
    data = fetch_uci(name)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    for field in ("feature_names", "target_names", "nominal", "categories", "description", "citation"):
        assert getattr(again, field) == getattr(data, field)
