"""The programs that are compared: every entry of RIVALS turns data into a call to be timed.

All use all available processors, and the data in their given type.
"""

from functools import partial
from importlib.util import find_spec

import numpy as np

from knnccv import KFold, Neighbors, complete_cv

from .problems import gaussian

DEPTH = 40
FEW = 5000  # samples of a first call, in which every rival compiles and loads its code
SHAPES = {
    f"{n_items} x {n_features}": (n_items, n_features)
    for n_items, n_features in [
        (2000, 8),
        (2000, 64),
        (20_000, 8),
        (20_000, 64),
        (20_000, 768),
        (60_000, 64),
        (100_000, 3),
    ]
}
PRECISIONS = ("float64", "float32")


def exact(X, y):
    """The mean over all 5-fold runs, including the search for neighbors."""
    return partial(complete_cv, X, y, "knn", KFold(5), n_neighbors=5)


def neighbors(X, _y):
    """The neighbor stage: a new object every time, since it stores its lists."""
    return lambda: Neighbors.from_data(X).kneighbors(DEPTH)


def kernels(X, y):
    """The kernel stage: the same mean, from neighbors found beforehand."""
    near = Neighbors.from_data(X)
    call = exact(near, y)
    call()
    return call


def one_run(X, y, n_neighbors=5):
    """One 5-fold run by scikit-learn."""
    from sklearn.neighbors import KNeighborsClassifier

    return _one_run(KNeighborsClassifier(n_neighbors, n_jobs=-1), X, y)


def one_run_intelex(X, y):
    """The same with the classifier of scikit-learn-intelex, without patching scikit-learn."""
    from sklearnex.neighbors import KNeighborsClassifier

    return _one_run(KNeighborsClassifier(5, n_jobs=-1), X, y)


def _one_run(classifier, X, y):
    from sklearn import model_selection

    folds = model_selection.KFold(5, shuffle=True, random_state=0)
    return partial(model_selection.cross_val_score, classifier, X, y, cv=folds)


def neighbors_scikit_learn(X, _y):
    from sklearn.neighbors import NearestNeighbors

    return lambda: NearestNeighbors(n_neighbors=DEPTH, n_jobs=-1).fit(X).kneighbors()


def neighbors_faiss(X, _y):
    """faiss supports float32 only, and lists every sample itself; the conversion is not timed."""
    import faiss

    single = np.ascontiguousarray(X, dtype=np.float32)

    def search():
        index = faiss.IndexFlatL2(single.shape[1])
        index.add(single)
        return index.search(single, DEPTH + 1)

    return search


RIVALS = {
    "complete_cv": exact,
    "neighbors": neighbors,
    "kernels": kernels,
    "cross_val_score, scikit-learn": one_run,
    "cross_val_score, scikit-learn-intelex": one_run_intelex,
    "NearestNeighbors, scikit-learn": neighbors_scikit_learn,
    "IndexFlatL2, faiss": neighbors_faiss,
}
_MODULES = {"scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex", "faiss": "faiss"}


def missing(name):
    """Return the distribution that this rival needs if it is not installed, otherwise None."""
    library = name.partition(", ")[2]
    return library if library and find_spec(_MODULES[library]) is None else None


def require_rival(name):
    """Skip a benchmark against a package that is not installed."""
    library = missing(name)
    if library is not None:
        msg = f"{library} is not installed"
        raise NotImplementedError(msg)


def ready(name, shape, precision="float64", n_classes=3):
    """Return the call of a rival on Gaussian clouds, after an untimed one on fewer samples."""
    X, y = gaussian(*SHAPES[shape], n_classes)
    X = np.ascontiguousarray(X, dtype=precision)
    RIVALS[name](X[:FEW], y[:FEW])()
    return RIVALS[name](X, y)
