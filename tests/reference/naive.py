"""Complete cross-validation by enumeration: the ground truth that the library is tested against.

Everything here is slow, exact (``fractions.Fraction``) and literal: every admissible training set
T is written down, the nearest-neighbor rule is run on every x outside T, and the scores are
averaged. No binomial coefficient or other closed form is used. Practical up to about nine samples.

Papers: ICML = Mullin & Sukthankar 2000; TR = their technical report.

=======================  ==============================================================
function                 source
=======================  ==============================================================
``neighbor_order``       ICML section 2, TR section 2.1: the list x_1 ... x_{N-1} of x
``score_nn``             correct(x, T) of ICML eq. 1; L(x, x_i) of ICML eq. 6
``score_knn``            ICML section 2.4 (eq. 9-10), votes; any number of classes
``score_rank``           ICML section 2.6 (eq. 11), TR section 2.3 (eq. 6)
``score_one``            correct(x, T) of ICML eq. 1, for the named rule
``expected_over_ties``   footnote 4 of both papers, "any reasonable tie-breaking"
``subsample``            ICML section 2.1 (eq. 4), TR section 2.2 (eq. 3): all |T| = alpha
``stratified``           ICML section 2.3 (eq. 8), TR section 2.4 (eq. 7): alpha_c per class
``leave_out``            ``subsample`` written from the test sets: all |S \\ T| = p
``kfold``                ICML section 2, CV(P); fold sizes of scikit-learn's KFold
``stratified_kfold``     the same, fold contents of scikit-learn's StratifiedKFold
``leave_groups_out``     all test sets of p whole groups: LeavePGroupsOut
``one_more``             ``stratified``, with one more sample of some classes, chosen at random
``scores``               correct(x, T) for all pairs of ICML eq. 3
``per_item``             A_x of ICML eq. 3, TR eq. 2, as a share of the sets without x
``item_weights``         the weight of A_x in the score: #{T : x not in T} in eq. 3
``complete``             A / sum_T |S \\ T|: ICML eq. 1, TR eq. 1; E[CV(P)] for k-fold
``training_sets``        the number of elements of the papers' calligraphic T
``confusion``            what is predicted for each class, as a share of the same weight
``run_scores``           the score of every outcome: one training set, or a whole partition
``tied_items``           how many samples have different labels at one distance, where it matters
``extremes``             the lowest and the highest A_x over the orders of tied samples
``hvdm_squared``         Wilson & Martinez 1999, eqs. 4 to 6, two rows of a table
=======================  ==============================================================

Conventions: samples are 0 ... N-1; ``D[x][j]`` is the dissimilarity of sample j to the tested sample x
(it need not be symmetric and the diagonal is ignored); two samples tie when these are equal; classes
are numbered in sorted label order; a rule is "nn", "knn", "rank", "confidence" or "regression", its
parameters are ``loss``, ``n_neighbors`` (K) and ``rank`` (R). A rule may also be a plain function
``decide(near, distances, y, x)`` of the nearest samples of T and their distances, with ``n_nearest``.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, groupby, permutations, product


@dataclass(frozen=True)
class Design:
    """Equally likely outcomes of the splitting; an outcome is a tuple of training sets.

    One training set per outcome in subsampling (all of one size, unless groups are left out); k per
    outcome in k-fold.
    """

    n_items: int
    outcomes: tuple[tuple[frozenset[int], ...], ...]

    @property
    def is_kfold(self):
        """Return True if an outcome holds the k training sets of a k-fold split."""
        return len(self.outcomes[0]) > 1


def neighbor_order(distances_row, x):
    """Return the other samples by (distance, index), and the same cut into groups of equals."""
    order = sorted((j for j in range(len(distances_row)) if j != x), key=lambda j: (distances_row[j], j))
    groups = [list(group) for _, group in groupby(order, key=lambda j: distances_row[j])]
    return order, groups


def outcome_of(predicted, y, x, loss):
    """Return the loss of predicting this label for x; without a loss, 1 if it is right else 0."""
    if loss is None:
        return int(predicted == y[x])
    classes = sorted(set(y))
    return Fraction(loss[classes.index(y[x])][classes.index(predicted)])


def predict_nn(order_in_T, y):
    """Return the label of the nearest training sample, as a list."""
    return [y[order_in_T[0]]]


def predict_knn(order_in_T, y, n_neighbors, vote_ties="smallest"):
    """Return the most frequent labels of the K nearest, each alike; or only the smallest of them."""
    votes = Counter(y[j] for j in order_in_T[:n_neighbors])
    most = max(votes.values())
    winners = sorted(label for label, count in votes.items() if count == most)
    return winners[:1] if vote_ties == "smallest" else winners


def score_nn(order_in_T, y, x, loss=None):
    """Score the label of the nearest training sample."""
    return mean([outcome_of(label, y, x, loss) for label in predict_nn(order_in_T, y)])


def score_knn(order_in_T, y, x, n_neighbors, loss=None, vote_ties="smallest"):
    """Score the label that the K nearest vote for; a tied vote: the smallest label, or each alike."""
    winners = predict_knn(order_in_T, y, n_neighbors, vote_ties)
    return mean([outcome_of(label, y, x, loss) for label in winners])


def score_rank(order_in_T, y, x, rank):
    """Return 1 if one of the R nearest training samples (all, if fewer) has x's class."""
    return int(any(y[j] == y[x] for j in order_in_T[:rank]))


def score_confidence(order_in_T, y, x, n_neighbors, score="share"):
    """Score the shares of the votes: that of x's class, the Brier score, or scikit-learn's log loss."""
    shares = {c: Fraction(sum(y[j] == c for j in order_in_T[:n_neighbors]), n_neighbors) for c in set(y)}
    if score == "share":
        return shares[y[x]]
    if score == "log_loss":
        least = 2.0**-52
        return Fraction(-math.log(min(max(float(shares[y[x]]), least), 1 - least)))
    return sum((share - (c == y[x])) ** 2 for c, share in shares.items())


def score_regression(order_in_T, y, x, n_neighbors):
    """Return the squared error of the mean target of the K nearest, summed over the outputs."""
    predicted = predict_regression(order_in_T, y, n_neighbors)
    return sum((p - t) ** 2 for p, t in zip(predicted, as_outputs(y[x]), strict=True))


def predict_regression(order_in_T, y, n_neighbors):
    """Return the mean targets of the K nearest, one for every output."""
    near = [as_outputs(y[j]) for j in order_in_T[:n_neighbors]]
    return [mean(column) for column in zip(*near, strict=True)]


def as_outputs(target):
    """Return one target or several as a list of Fractions."""
    return [Fraction(t) for t in (target if isinstance(target, list) else [target])]


SCORES = {
    "nn": score_nn,
    "knn": score_knn,
    "rank": score_rank,
    "confidence": score_confidence,
    "regression": score_regression,
}
PREDICTIONS = {"nn": predict_nn, "knn": predict_knn}
PLACES = {
    "nn": None,
    "knn": "n_neighbors",
    "rank": "rank",
    "confidence": "n_neighbors",
    "regression": "n_neighbors",
}


def places(variant, params):
    """Return how many of the nearest training samples the rule looks at: 1, K or R."""
    if callable(variant):
        return params["n_nearest"]
    return params[PLACES[variant]] if PLACES[variant] else 1


def score_one(variant, order_in_T, y, x, params):
    """Score x, classified from T, whose samples are given from the nearest to the farthest."""
    needed = 1 if variant == "rank" or callable(variant) else places(variant, params)
    if len(order_in_T) < needed:
        raise ValueError(f"{variant} needs {needed} training samples, T has {len(order_in_T)}")
    return SCORES.get(variant, variant)(order_in_T, y, x, **params)


def random_beginnings(groups_in_T, length):
    """List the equally likely first samples when every tied group is shuffled uniformly.

    The first r samples of a shuffled group are a uniformly random ordered choice of r of its samples,
    so what comes after the last place that the rule looks at need not be written down.
    """
    choices, left = [], length
    for group in groups_in_T:
        taken = min(len(group), left)
        choices.append(list(permutations(group, taken)))
        left -= taken
    return [list(chain.from_iterable(parts)) for parts in product(*choices)]


def expected_over_ties(variant, groups_in_T, y, x, params, ties="random"):
    """Return the score of x by index order, or its mean over shuffles of the tied groups of T."""
    orders = equally_likely_orders(groups_in_T, places(variant, params), ties)
    return mean([score_one(variant, order, y, x, params) for order in orders])


def equally_likely_orders(groups_in_T, length, ties):
    """List the order by index, or the beginnings of all orders that shuffle the tied groups."""
    if ties == "index":
        return [list(chain.from_iterable(groups_in_T))]
    if ties == "random":
        return random_beginnings(groups_in_T, length)
    raise ValueError(f"ties must be 'index' or 'random', got {ties!r}")


def subsample(N, alpha):
    """Return all training sets of alpha samples."""
    check_between("alpha", alpha, 1, N - 1)
    return Design(N, tuple((frozenset(T),) for T in combinations(range(N), alpha)))


def leave_out(N, p):
    """Return all training sets that leave p samples to test."""
    check_between("p", p, 1, N - 1)
    S = frozenset(range(N))
    return Design(N, tuple((S.difference(test),) for test in combinations(range(N), p)))


def leave_groups_out(groups, p):
    """Return all training sets that leave p of the groups to test, whole."""
    groups = plain(groups)
    names = list(dict.fromkeys(groups))
    check_between("p", p, 1, len(names) - 1)
    tests = combinations(names, p)
    N = len(groups)
    return Design(N, tuple((frozenset(x for x in range(N) if groups[x] not in test),) for test in tests))


def stratified(y, alpha):
    """Return all training sets with alpha[c] samples of every class c."""
    y = plain(y)
    members = {c: [x for x in range(len(y)) if y[x] == c] for c in sorted(set(y))}
    if set(alpha) != set(members):
        raise ValueError(f"alpha must name the classes {list(members)}, got {list(alpha)}")
    for c in members:
        check_between(f"alpha[{c!r}]", alpha[c], 0, len(members[c]))
    check_between("the sum of alpha", sum(alpha.values()), 1, len(y) - 1)
    parts = product(*(combinations(members[c], alpha[c]) for c in members))
    return Design(len(y), tuple((frozenset(chain.from_iterable(part)),) for part in parts))


def one_more(y, alpha, some, extra):
    """Return training sets as in `stratified`, with one more sample of `extra` of the classes `some`.

    Every choice of classes is equally likely: each is listed as often as any other.
    """
    choices = [
        stratified(y, {c: n + (c in more) for c, n in alpha.items()}).outcomes
        for more in combinations(some, extra)
    ]
    times = math.lcm(*map(len, choices))
    return Design(len(plain(y)), tuple(chain(*(each * (times // len(each)) for each in choices))))


def kfold_sizes(N, k):
    """Return the fold sizes of scikit-learn's KFold: the first N % k folds get one sample more."""
    return [N // k + (i < N % k) for i in range(k)]


def stratified_allocation(y, k):
    """Return rows i, columns c: how many samples of class c scikit-learn tests in fold i.

    Columns are in the order in which the classes first appear in y, as in its StratifiedKFold.
    """
    y = plain(y)
    classes = list(dict.fromkeys(y))
    y_order = sorted(classes.index(label) for label in y)
    return [[y_order[i::k].count(c) for c in range(len(classes))] for i in range(k)]


def deal(pools, rows):
    """List the ways to deal the pools out to test folds: fold i gets rows[i][c] of pools[c].

    Folds with equal rows must follow one another; as nothing depends on which of them is which,
    they are dealt in increasing order, so that every partition of the samples is listed once. Each
    stands for the same number of shuffles.
    """

    def extend(folds, pools):
        i = len(folds)
        if i == len(rows):
            yield tuple(folds)
            return
        for parts in product(*(combinations(pool, n) for pool, n in zip(pools, rows[i], strict=True))):
            fold = frozenset(chain.from_iterable(parts))
            if i > 0 and rows[i] == rows[i - 1] and min(fold) < min(folds[-1]):
                continue
            rest = [[x for x in pool if x not in fold] for pool in pools]
            yield from extend([*folds, fold], rest)

    return list(extend([], pools))


def kfold(N, k):
    """Return all k-fold partitions with scikit-learn's KFold sizes, as k training sets each."""
    check_between("k", k, 2, N)
    rows = [[size] for size in kfold_sizes(N, k)]
    return from_test_folds(N, deal([list(range(N))], rows))


def stratified_kfold(y, k):
    """Return all k-fold partitions with scikit-learn's StratifiedKFold counts per class."""
    y = plain(y)
    check_between("k", k, 2, max(Counter(y).values()))
    pools = [[x for x in range(len(y)) if y[x] == c] for c in dict.fromkeys(y)]
    return from_test_folds(len(y), deal(pools, sorted(stratified_allocation(y, k))))


def from_test_folds(N, partitions):
    """Return the design whose training sets are the complements of these test folds."""
    S = frozenset(range(N))
    return Design(N, tuple(tuple(S - fold for fold in folds) for folds in partitions))


def training_sets(design):
    """Return the number of distinct admissible training sets."""
    return len(set(chain.from_iterable(design.outcomes)))


def scores(D, y, variant, design, ties="random", **params):
    """Return {(T, x): score of x from T} for all admissible T and all x outside T."""
    D, y = plain(D), plain(y)
    if not len(D) == len(y) == design.n_items:
        raise ValueError(f"{len(D)} rows, {len(y)} labels, but a design for {design.n_items} items")
    if params.get("loss") is not None:
        params["loss"] = plain(params["loss"])
    if callable(variant):
        variant = of_function(variant, D)
    found, known = {}, {}
    for T, x, groups_in_T in tests(D, design):
        seen = x, nearest_groups(groups_in_T, places(variant, params))
        if seen not in known:
            known[seen] = expected_over_ties(variant, groups_in_T, y, x, params, ties)
        found[T, x] = known[seen]
    return found


def of_function(decide, D):
    """Return a rule that asks ``decide(near, distances, y, x)``."""

    def rule(order_in_T, y, x, n_nearest):
        near = order_in_T[:n_nearest]
        return Fraction(decide(near, [D[x][j] for j in near], y, x))

    return rule


def nearest_groups(groups_in_T, length):
    """Return the first groups, whole, of `length` samples or more; a rule sees nothing of the others."""
    taken, left = [], length
    for group in groups_in_T:
        if left <= 0:
            break
        taken.append(tuple(group))
        left -= len(group)
    return tuple(taken)


def tests(D, design):
    """List (T, x, the training samples by similarity in groups of equals), for all T and all x outside."""
    groups = [neighbor_order(row, x)[1] for x, row in enumerate(D)]
    found = []
    for T in set(chain.from_iterable(design.outcomes)):
        for x in set(range(len(D))) - T:
            groups_in_T = [[j for j in group if j in T] for group in groups[x]]
            found.append((T, x, [group for group in groups_in_T if group]))
    return found


def confusion(D, y, variant, design, average="pooled", ties="random", **params):
    """Return the expected confusion matrix, rows true and columns predicted, all entries summing to one.

    Classes are in sorted order. Every classification of x counts as in the score with this average.
    """
    D, y = plain(D), plain(y)
    params = {name: value for name, value in params.items() if name != "loss"}
    classes = sorted(set(y))
    chosen = {}
    for T, x, groups_in_T in tests(D, design):
        orders = equally_likely_orders(groups_in_T, places(variant, params), ties)
        chosen[T, x] = [PREDICTIONS[variant](order, y, **params) for order in orders]
    weights = item_weights(y, design, average)
    listed = [(T, x, w if average == "pooled" else 1) for T, x, w in classifications(design)]
    matrix = [[Fraction(0)] * len(classes) for _ in classes]
    for x, weight in enumerate(weights):
        own = [(T, w) for T, z, w in listed if z == x]
        total = sum((w for _, w in own), Fraction(0))
        for T, w in own:
            for labels in chosen[T, x]:
                for label in labels:
                    share = weight * w / total / len(chosen[T, x]) / len(labels)
                    matrix[classes.index(y[x])][classes.index(label)] += share
    return matrix


def classifications(design):
    """List (T, x, weight) for every test of every outcome; the weights sum to one.

    In k-fold an outcome weighs as much as any other, a fold as much as any other of its outcome, a sample
    as much as any other of its fold: the weights of the mean of cross_val_score. Else all tests weigh
    alike (ICML eq. 1), also where test sets differ in size.
    """
    if not design.is_kfold:
        listed = [(T, x) for (T,) in design.outcomes for x in range(design.n_items) if x not in T]
        return [(T, x, Fraction(1, len(listed))) for T, x in listed]
    return [
        (T, x, Fraction(1, len(design.outcomes) * len(outcome) * (design.n_items - len(T))))
        for outcome in design.outcomes
        for T in outcome
        for x in range(design.n_items)
        if x not in T
    ]


def per_item(D, y, variant, design, ties="random", average="item", **params):
    """Return the list of A_x, the mean score of x when tested, None if x is never tested."""
    return item_means(scores(D, y, variant, design, ties, **params), design, average)


def item_means(found, design, average="item"):
    """Return the list of A_x from all scores, None if x is never tested.

    In k-fold this is the expected out-of-fold score. Only there, and only with folds of unequal
    sizes, average="pooled" differs: a test in a smaller fold then weighs more, as in the mean of
    the folds' accuracies.
    """
    parts, weights = [[] for _ in range(design.n_items)], [[] for _ in range(design.n_items)]
    for T, x, w in classifications(design):
        w = w if average == "pooled" else 1
        parts[x].append(w * found[T, x])
        weights[x].append(w)
    return [add(p) / add(w) if w else None for p, w in zip(parts, weights, strict=True)]


def item_weights(y, design, average="pooled"):
    """Return the weights, summing to one, with which per_item(..., average) gives the score."""
    y = plain(y)
    weights = [[] for _ in range(design.n_items)]
    for _, x, w in classifications(design):
        weights[x].append(w)
    pooled = [add(own) for own in weights]
    if average == "pooled":
        return pooled
    tested = [x for x in range(design.n_items) if pooled[x]]
    if average == "item":
        return [Fraction(x in tested, len(tested)) for x in range(design.n_items)]
    count = Counter(y[x] for x in tested)
    shares = {c: Fraction(1, len(count)) for c in count} if average == "class" else average
    if not set(shares) <= set(count):
        raise ValueError(f"average must be a word or shares of the tested classes, got {average!r}")
    return [shares[y[x]] / count[y[x]] if x in tested else Fraction(0) for x in range(design.n_items)]


def complete(D, y, variant, design, average="pooled", ties="random", **params):
    """Return the complete cross-validation score."""
    return total(scores(D, y, variant, design, ties, **params), y, design, average)


def total(found, y, design, average="pooled"):
    """Return the complete cross-validation score from all scores.

    "pooled": the share of all classifications that are right, A / sum_T |S \\ T| (ICML eq. 1);
    for k-fold the expected mean of the folds' accuracies, E[CV(P)]. "item": the mean of A_x over
    the tested samples. "class": the mean over the classes of the mean of A_x in the class, classes
    without a tested sample left out. Shares of the classes: the same with these weights.
    """
    y, S = plain(y), frozenset(range(design.n_items))
    if average == "pooled" and design.is_kfold:
        return mean(
            [mean([mean([found[T, x] for x in S - T]) for T in outcome]) for outcome in design.outcomes]
        )
    if average == "pooled":
        return mean([found[T, x] for (T,) in design.outcomes for x in S - T])
    A = item_means(found, design)
    return sum(w * A[x] for x, w in enumerate(item_weights(y, design, average)) if w)


def run_scores(found, y, design, average="pooled"):
    """Return the score of every outcome from all scores, a list of Fractions.

    For "pooled" the tests have the weights of `classifications`. For the other averages every test of x
    has the same weight, such that the mean over all runs is the complete score.
    """
    S, n_runs = frozenset(range(design.n_items)), len(design.outcomes)
    if average == "pooled":
        weights = {(x, len(T)): w * n_runs for T, x, w in classifications(design)}
    else:
        tests_of = Counter(x for _, x, _ in classifications(design))
        sizes = {len(T) for T in chain(*design.outcomes)}
        of_item = item_weights(y, design, average)
        weights = {(x, n): of_item[x] * n_runs / tests_of[x] for x in tests_of for n in sizes}
    return [
        sum((weights[x, len(T)] * found[T, x] for T in outcome for x in S - T), Fraction(0))
        for outcome in design.outcomes
    ]


def variance(values):
    """Return the mean squared deviation from the mean."""
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


def tied_items(D, y, design, length, depth):
    """Count the samples with a tied group of different labels that the rule sees in some training set.

    It looks at `length` training samples; of each list only the first `depth` others are known.
    """
    D, y = plain(D), plain(y)
    sets = set(chain.from_iterable(design.outcomes))
    count = 0
    for x, row in enumerate(D):
        order, groups = neighbor_order(row, x)
        seen = [[j for j in group if order.index(j) < depth] for group in groups]
        starts = [set(order[: order.index(g[0])]) for g in seen if len({str(y[j]) for j in g}) > 1]
        own = [T for T in sets if x not in T]
        count += any(len(start & T) < min(length, len(T)) for start in starts for T in own)
    return count


def extremes(D, y, variant, design, **params):
    """Return the lowest and the highest A_x over all orders of tied samples, each the same for all T.

    None if x is never tested; all training sets are of one size, or groups are left out.
    """
    found = []
    for x, row in enumerate(plain(D)):
        own = [T for (T,) in design.outcomes if x not in T]
        means = []
        for parts in product(*map(permutations, neighbor_order(row, x)[1])) if own else []:
            order = list(chain.from_iterable(parts))
            each = [score_one(variant, [j for j in order if j in T], y, x, params) for T in own]
            means.append(mean(each))
        found.append((min(means), max(means)) if own else (None, None))
    return [low for low, _ in found], [high for _, high in found]


def mean(values):
    """Return the exact mean."""
    return Fraction(values[0]) if len(values) == 1 else add(values, len(values))


def add(values, divisor=1):
    """Return the exact sum, divided, as a Fraction: by one common denominator, which is quicker."""
    common = math.lcm(*(value.denominator for value in values))
    total = sum(value.numerator * (common // value.denominator) for value in values)
    return Fraction(total, common * divisor)


def plain(values):
    """Return an array as nested lists of Python numbers, anything else as a list."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def check_between(name, value, low, high):
    """Raise a ValueError unless low <= value <= high."""
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}, got {value}")


def hvdm_squared(table, labels, nominal, x, y):
    """The squared distance of rows x and y, whose statistics come from the rows of `table`; None is
    unknown.

    Values that the table does not hold have no share in any class; the difference in a column of which the
    table knows fewer than two different numbers is 0.
    """
    total = 0
    for a, (one, other) in enumerate(zip(x, y, strict=True)):
        if one is None or other is None:
            total += 1
        elif one == other:
            total += 0
        elif nominal[a]:
            for label in set(labels):
                shares = []
                for value in (one, other):
                    having = [c for row, c in zip(table, labels, strict=True) if row[a] == value]
                    shares.append(Fraction(having.count(label), len(having)) if having else 0)
                total += (shares[0] - shares[1]) ** 2
        else:
            known = [Fraction(row[a]) for row in table if row[a] is not None]
            if len(set(known)) > 1:
                mean = sum(known) / len(known)
                variance = sum((value - mean) ** 2 for value in known) / (len(known) - 1)
                total += (Fraction(one) - Fraction(other)) ** 2 / (16 * variance)
    return total
