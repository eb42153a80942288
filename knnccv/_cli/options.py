"""The commands and their options, as the texts that ``--help`` shows, and the values that options take.

A line of such a text is an option, two spaces and its help; an indented line goes on with the help, and
``[words]`` begins a group. Of an option: ``NAME`` is the metavar, ``{a,b}`` are the choices, ``:size`` is a
function below, ``=5`` is the default, ``?0.95`` is the value of the option alone, ``*`` says that it may be
repeated, ``+`` and ``+2`` that it takes several or two values. Without any of these it is a switch.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from typing import Any, NamedTuple, NoReturn

LONGEST_RANGE = 10_000
"""More numbers than any table needs; a range is checked before it is made."""

TABLE = """\
[the table]
file FILE ?  delimited text, parquet or Excel (.xlsx), one sample per row, possibly compressed (gz, bz2,
  xz, zip); - reads standard input
--target COLUMN  column of the labels, or of the numbers of regression: name, or number from 0 (-1: the
  last)
--drop COLUMN *  leave a column out (repeatable)
--delimiter CHAR  a character, or comma, semicolon, tab, space (default: found)
--decimal CHAR  decimal mark of numbers in text and sheets (default: a point)
--thousands CHAR  mark between their thousands (default: none)
--sheet NAME  sheet of an Excel file (default: the first)
--[no-]header  the first row names the columns (default: it does if it holds no number)
"""
COLUMNS = """\
--categorical COLUMN *  with --metric heom or hvdm: a column whose numbers are names of categories
  (repeatable)
--[no-]standardize  scale every feature to zero mean and unit standard deviation over all samples;
  constant ones are 0 (default: only the bundled data)
"""
RULE = """\
[the rule]
--variant NAME  nn, knn, rank, confidence, regression, or a registered one (default: knn, and regression
  if the target holds numbers that are not whole, or more than 50 different numbers)
--parameter NAME=VALUE *  another parameter of the variant, as Python writes it: loss=[[0,1],[5,0]]
  (repeatable)
--metric NAME =euclidean  distance (default: euclidean). heom and hvdm measure tables with categorical
  columns and missing values; heom does not look at the labels, hvdm does, and its scores can be
  optimistic
--p P :float  of --metric minkowski (default: 2)
--ties {random,index}  tied samples: the mean over all their orders (the default if the variant offers
  it), or in the order of the rows
"""
AVERAGE = """\
--average {pooled,item,class} =pooled  what has equal weight: the classifications of a split (default),
  the samples, the classes
"""
ENDING = """\
--jobs N :int  threads (default: all processors)
--[no-]progress  a progress bar over all stages (default: on a terminal, after two seconds, if tqdm is
  installed)
"""
JSON = "--json  print one JSON object instead\n"
INTERVAL = "--interval LEVEL :level ?0.95  "

DESIGNS = """\
designs (give one; the answer is the mean over all splits that the design admits):
  --cv K                       k-fold, stratified unless --no-stratify (never for regression, which has no
                               classes); the default, with K = 5
  --train-size 100             all training sets of 100 samples
  --train-size 0.5             all training sets of half of the samples
  --train-size 0.5 --stratify  ... of half of every class
  --per-class 3                ... of 3 samples of every class
  --per-class a=3,b=5          ... of 3 samples of class a and 5 of class b
  --leave-out P                all test sets of P samples
  --leave-out 1 --stratify     ... of one sample of every class
  --groups patient             all test sets of one patient's samples: leave one group out
  --groups patient --leave-out P
                               ... of P patients
"""
"""What ``--help`` says of the designs."""


class Command(NamedTuple):
    """What ``--help`` says of a command: in a few words, in a paragraph, on its options, and below them."""

    words: str
    description: str
    options: str
    epilog: str = ""


SCORE = Command(
    "exact score of a rule on a table, beside a few random runs",
    """\
Exact mean score of a nearest-neighbor rule over all splits of a table, beside a few random runs of the
same experiment. Without a file: the bundled wine data, standardized.""",
    f"""{TABLE}{COLUMNS}{RULE}\
--n-neighbors K :int  of knn, confidence and regression (default: 5)
--rank R :int  of rank (default: 5)
[the design (see below)]
--cv K :int  k-fold cross-validation (default: 5)
--train-size SIZE :size  samples, or a fraction of them
--per-class N  training samples of every class
--leave-out P :int  leave P samples out, or P groups with --groups
--groups COLUMN  leave whole groups out: samples with the same text or number in this column, which is
  then no feature, are tested together or train together
--[no-]stratify  the same share of every class (default: with --cv, if there are classes)
{AVERAGE}\
--priors LABEL=SHARE,...  in place of --average: the score where the classes have these shares (sum 1)
[how far to trust the score]
{INTERVAL}also print a confidence interval for the population (the luck of the data) and the standard
  deviation of one run (the luck of the split); LEVEL is 0.95 by default
--compare RULE  also compare with another rule on the same samples: nn, knn:n_neighbors=15, or several
  parameters, knn:n_neighbors=15,vote_ties=random
--rope WIDTH :width  for --compare: the largest difference of scores that does not matter (default: 0.01;
  none for losses and regression, and so no probabilities)
[the computation]
--exact  compute with rational numbers: slow, for small tables
--repeats N :natural =10  random runs; 0: none (default: 10)
--seed SEED :natural =0  of the random runs and halves (default: 0)
{ENDING}\
--confusion  also print how often each class is given to the samples of each class, on average (nn, knn)
--per-item FILE  also write a CSV file with the number (from 0), label, score and weight of every sample;
  samples that are never tested have no score
{JSON}""",
    f"""{DESIGNS}
examples:
  knnccv score
  knnccv score --variant rank --rank 3 --per-class 5
  knnccv score iris.csv --target species --n-neighbors 3 --cv 10
  knnccv score - --target -1 --no-header --variant nn --ties index --train-size 0.5 < iris.data
  knnccv score iris.csv --target species --standardize --confusion --per-item items.csv
  knnccv score patients.xlsx --target outcome --metric heom --categorical ward
  knnccv score scans.csv --target diagnosis --groups patient --variant nn
  knnccv score homes.csv --target price --variant regression --n-neighbors 7 --train-size 0.8
  knnccv score iris.csv --target species --n-neighbors 3 --interval --compare knn:n_neighbors=15

n_train_sets in JSON is a number up to 2**53, and a string such as "3.2e+6018" beyond; log10_n_train_sets is
its decimal logarithm. exact (with --exact) is a string "numerator/denominator". confusion has the classes,
and a matrix whose rows, the true classes, sum to 1. baseline is the accuracy of always giving the same
answer, the best one, under the same design. Values that are not defined (the deviation of a single
run) or were not requested are null. std_error is the luck of the draws of a score that is estimated from
drawn training sets, whose error_bound is null. standard_error and interval are the luck of the data,
split_std is the luck of the split (all three with --interval).""",
)

CURVE = Command(
    "exact learning curves and validation curves of a table",
    """\
Exact learning curves (score against the size of the training set) and validation curves (score against
the number of neighbors) of a nearest-neighbor rule, as a plot on the terminal and a table of the
numbers. Without a file: the bundled wine data, standardized.""",
    f"""{TABLE}{COLUMNS}\
[the curves]
--kind {{learning,validation}} =learning  learning: score against training size, a line for every K
  (default); validation: score against K, a line for every training size
--n-neighbors K :counts  1,3,5 or ranges such as 1-30; R of rank (default: 1,5,15 for learning, and 1-30
  for validation, as far as they fit)
--train-sizes SIZES :sizes  numbers of samples, or fractions of them: 0.1,0.5,100 (default:
  0.1,0.2,...,0.9 for learning, as far as they differ, 0.8 for validation)
{INTERVAL}also confidence intervals for the population (the luck of the data), and which K are not
  significantly worse than the best; LEVEL is 0.95 by default
{RULE}{AVERAGE}\
[the answer]
--out FILE  write a picture (FILE.png, FILE.svg) or the numbers (FILE.csv) in place of the plot on the
  terminal; a file that is there is replaced. Pictures need: pip install 'knnccv[plot]'
--seed SEED :natural =0  of the halves of --interval (default: 0)
{ENDING}{JSON}""",
    """\
examples:
  knnccv curve
  knnccv curve --kind validation --train-sizes 0.2,0.8
  knnccv curve iris.csv --target species --n-neighbors 1,3,5 --train-sizes 0.1,0.5,100
  knnccv curve iris.csv --target species --kind validation --n-neighbors 1-30 --interval
  knnccv curve homes.csv --target price --variant regression --out curves.svg
  knnccv curve patients.csv --target outcome --drop patient --metric heom --json

Every point is the mean over all training sets of its size, as knnccv.surface computes it; no split is
drawn. In JSON, scores and error_bound have a row for each of n_neighbors and a column for each of
train_sizes.""",
)

REPORT = Command(
    "one page about a table: score, setting, more data, samples to look at",
    """\
Write one page (HTML) about how well nearest neighbors predict a table: the exact score, which setting
is best, whether more data would help, which samples are trouble, and how far to trust all this. Without
a file: the bundled wine data. Needs: pip install 'knnccv[report]'""",
    f"""{TABLE}\
--categorical COLUMN *  a column whose numbers are names of categories (repeatable)
[the question]
--task {{classification,regression}}  default: regression if the target holds numbers that are not whole,
  or more than 50 different numbers; otherwise classification
--train-size SIZE :size =0.8  training samples of the score, or their fraction (default: 0.8)
--n-neighbors K :counts  the K to compare: 1,3,5 or ranges such as 1-30 (default: 1 to 15, and 21 and 31
  where they are at most a tenth of the training samples)
--average {{pooled,item,class}}  what has equal weight in the score that chooses: the samples (pooled and
  item, accuracy) or the classes (class, balanced accuracy); default: the classes if the largest has more
  than twice as many samples as the others on average
--max-items N :natural =100000  of more samples a random subsample of N is reported on, which the page
  says (default: 100000)
[the answer]
--out FILE  the page (.html), or its numbers (.json); a file that is there is replaced (default:
  report.html in the current folder; with --json none)
--open  open the page in the browser
--json  print all numbers of the page as one JSON object instead
--seed SEED :natural =0  of subsamples and of the halves of intervals (default: 0)
{ENDING}""",
    """\
examples:
  knnccv report
  knnccv report iris.csv --target species
  knnccv report patients.xlsx --target outcome --drop patient --out patients.html --open
  knnccv report homes.csv --target price --train-size 0.5 --json

The page is one file that needs no network. Tables with categories (columns without any number) or missing
values are measured by HEOM and HVDM, and the page says so: the command chooses the distance itself.
The page of the guide, docs/guide/report.md, explains every section.""",
)

RETRIEVAL = Command(
    "CMC and mean average precision over all random galleries",
    """\
Exact retrieval scores over all random galleries, such as CMC and mean average precision. Without a
file: the ORL faces, downloaded if they are not on this disk; the first five photographs of each of the
40 people are queries, the others are the gallery.""",
    f"""\
[the data]
file FILE.npz ?  distances or features, and identities
--data {{orl}}  a data set in place of a file (default without a file: orl)
--distances D.npy  one matrix (n_queries, n_gallery), read block by block
--ids FILE +  with --distances: an .npz file, or two text files with one identity per line, of the queries
  and of the gallery
--cams FILE +2  with --distances: two text files with one camera per line
--distmat NAME =distmat  array of the distances (default: distmat)
--query-features NAME =query_features  array of the queries' features (default: query_features)
--gallery-features NAME =gallery_features  array of the gallery's features (default: gallery_features)
--query-ids NAME =q_pids  array of the queries' identities (default: q_pids)
--gallery-ids NAME =g_pids  array of the gallery's identities (default: g_pids)
--query-cams NAME =q_camids  array of the queries' cameras (default: q_camids)
--gallery-cams NAME =g_camids  array of the gallery's cameras (default: g_camids)
--metric NAME  of features (default: euclidean)
[what is scored]
--protocol {{market1501,cuhk03,sysu-all,sysu-indoor}}  sets mask, draw, --rank and --ap
--per-identity K :int  draw K items of every identity, anew for every query (default: the whole gallery)
--shots K :int  draw K items of every identity, one gallery for all queries; of every identity and camera
  with --per-camera and in SYSU protocols (default there: 1)
--per-camera  see --shots
--short {{refuse,all}}  identities with fewer items than are drawn: refuse (default), or take all
--exclude {{same-identity-camera,same-camera,self}}  gallery items that a query never finds: those of its
  identity and camera, those of its camera, or itself (queries and gallery are then the same items)
--always ID *  all items of this identity, such as distractors under the identity 0, are in every gallery,
  and the jackknife does not leave them out; may be given several times
--rank {{image,identity}}  what CMC counts (default: image)
--ap {{rectangle,trapezoid}}  average precision (default: rectangle)
--scores NAMES =cmc,ap,rr,inp  cmc, ap, rr, inp, r_precision, map@r, precision@K, recall@K, ndcg@K, rbp@P
  (default: cmc,ap,rr,inp)
--max-rank N :int =50  length of the CMC curve (default: 50)
--ties {{index,random}} =index  items at equal distances: in the order of the gallery (default), or the
  mean over all orders
--average {{query,identity}} =query  mean over queries (default), or over the means of their identities
--tol E :width =1e-12  relative error (default: 1e-12)
[the answer]
--repeats N :natural  also N random galleries, to show their scatter
--seed SEED :natural =0  of the random galleries (default: 0)
--jackknife  also standard errors over identities, by leaving out each of them
--compare FILE  the same queries and gallery under another model (.npz, or .npy of distances): the paired
  difference, FILE subtracted
{ENDING}{JSON}""",
    """\
FILE.npz holds distances (distmat) or features (query_features, gallery_features), the identities (q_pids,
g_pids), and the cameras (q_camids, g_camids) if the protocol or the mask needs them, as
numpy.savez("FILE.npz", distmat=distmat, q_pids=q_pids, ...) writes them. A large matrix of distances is
better in a file of its own, D.npy, which is read block by block.

examples:
  knnccv retrieval
  knnccv retrieval test.npz --protocol market1501
  knnccv retrieval test.npz --protocol sysu-all --shots 10 --repeats 200
  knnccv retrieval test.npz --per-identity 1 --exclude same-identity-camera --jackknife
  knnccv retrieval --distances D.npy --ids queries.txt gallery.txt --scores cmc,ap,ndcg@10 --json
  knnccv retrieval ours.npz --per-identity 1 --jackknife --compare theirs.npz

The scores are exact means over all galleries that may be drawn from these items. --repeats draws galleries
as well, to show what one of them, and the mean of ten, scatters. --jackknife estimates the luck of the
identities. In JSON, n_galleries is a number up to 2**53, and a string such as "3.2e+618" beyond; what is
not defined or was not requested is null.""",
)

EPISODES = Command(
    "few-shot accuracy over all episodes, without sampling",
    """\
Exact mean accuracy of the nearest support over all few-shot episodes of the classes and samples in a
file. Without a file: the ORL faces, downloaded if they are not on this disk.""",
    f"""\
file FILE.npz ?  embedded samples and their labels
--features NAME =X  array of the samples (default: X)
--labels NAME =y  array of the labels (default: y)
--n-way N :counts =5  classes: 5, 2-10 or 5,10,20 (default: 5)
--n-shot K :counts =1  supports of a class (default: 1)
--n-neighbors K :int =1  nearest supports that vote (default: 1); slow for many samples
--metric NAME =euclidean  default: euclidean
--ties {{random,index}} =random  equally distant samples: the mean over all orders (default), or in the
  order of the rows
--jackknife  also the standard error over classes, by leaving out each
--head {{nearest,prototype}} =nearest  nearest: exact (default); prototype: sampled, for several supports
--repeats N :natural  also N random episodes, to show their scatter; 0: none (default: none; 600 for
  prototypes)
--n-query M :natural =15  queries of a class in random episodes (default: 15)
--seed SEED :natural =0  of the random episodes (default: 0)
{ENDING}{JSON}""",
    """\
The file holds the arrays X (n_items, n_features) and y (n_items,), as numpy.savez("FILE.npz", X=X, y=y)
writes them. With --metric precomputed X is the square matrix of distances.

examples:
  knnccv episodes features.npz
  knnccv episodes features.npz --n-way 5 --n-shot 5 --jackknife
  knnccv episodes features.npz --n-way 2-10 --n-shot 1,5 --metric cosine --json
  knnccv episodes features.npz --n-shot 5 --head prototype --repeats 10000

The score of --head nearest is exact: there is no ± from drawing episodes. Prototypes of several supports
are sampled, and corrected by the exact score of the nearest support in the same episodes. In JSON `score`
is always that of the nearest support; `sampled` has the random episodes, of the head that it names.""",
)

DATASETS = Command(
    "the data sets of knnccv.datasets",
    """\
List the data sets of knnccv.datasets: their size, license and address, and whether they are on this
disk; then the names of the sets of fetch_uci. KNNCCV_DATA_DIR names the folder, KNNCCV_DATA_URL a
mirror.""",
    "--json  print a JSON list, with full licenses, citations and paths",
)

REPRODUCE = Command(
    "recompute a table of the literature, beside the printed one",
    """\
Recompute a table of the literature and show it beside the printed one. The data are downloaded if they
are not on this disk (see 'knnccv datasets').""",
    f"""\
name TABLE  see below
--quick  fewer random runs
--out FOLDER  also write NAME.md, NAME.csv and pictures there; for all also report.html
--fresh  compute again even if the report is cached
{ENDING.splitlines()[1]}
""",
)

WARM = Command(
    "compile all kernels ahead of the first use",
    """\
Compile the kernels of all built-in variants and engines. It takes minutes the first time, and later
first calls need no compilation. The kernels are kept in the user's cache folder, or in NUMBA_CACHE_DIR,
for processors of the same type.""",
    ENDING.splitlines()[1],
)


def add_options(parser: Any, text: str) -> None:
    """Add the options that a text describes."""
    group = parser
    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        if line.startswith("["):
            group = parser.add_argument_group(line[1:-1])
            continue
        given, _, words = line.partition("  ")
        name, *parts = given.split()
        how: dict[str, Any] = {"help": words}
        if "[no-]" in name:
            name, how["action"] = name.replace("[no-]", ""), argparse.BooleanOptionalAction
        elif not parts:
            how["action"] = "store_true"
        for part in parts:
            mark, rest = part[0], part[1:]
            if mark == "{":
                how["choices"] = rest[:-1].split(",")
            elif mark == ":":
                how["type"] = TYPES[rest]
            elif mark == "=":
                how["default"] = rest  # argparse gives it to the type
            elif mark == "?":
                how |= {"nargs": "?", "const": float(rest) if rest else None}
            elif mark == "*":
                how |= {"action": "append", "default": []}
            elif mark == "+":
                how["nargs"] = int(rest) if rest else "+"
            else:
                how["metavar"] = part
        group.add_argument(name, **how)


def pairs(option: str, text: str, convert: Any) -> dict[str, Any]:
    """The values in LABEL=VALUE,..., by labels that are still text; every label once.

    Raises
    ------
    ValueError
        If it is something else.
    """
    found: dict[str, Any] = {}
    for pair in text.split(","):
        label, equals, value = (part.strip() for part in pair.rpartition("="))
        try:
            if not equals or label in found:
                raise ValueError
            found[label] = convert(value)
        except ValueError:
            msg = f"{option} must be LABEL={convert.__name__.upper()},..., every label once, got {text!r}"
            raise ValueError(msg) from None
    return found


def parameters(args: argparse.Namespace) -> dict[str, tuple[str, Any]]:
    """The parameters of the variant: for each name the option that gave it, and its value."""
    given: dict[str, tuple[str, Any]] = {}
    for name in ("n_neighbors", "rank"):
        if getattr(args, name, None) is not None:
            given[name] = ("--" + name.replace("_", "-"), getattr(args, name))
    for pair in args.parameter:
        name, value = assigned("--parameter must be NAME=VALUE", pair, pair)
        if name in given:
            msg = f"the parameter {name} is given twice, by {given[name][0]} and by --parameter {pair}"
            raise ValueError(msg)
        given[name] = (f"--parameter {name}", value)
    return given


def other_rule(text: str) -> tuple[str, dict[str, tuple[str, Any]]]:
    """The name in NAME or NAME:PARAMETER=VALUE,..., and the parameters as those of `parameters`.

    Raises
    ------
    ValueError
        If it is neither.
    """
    variant, colon, listed = text.partition(":")
    given: dict[str, tuple[str, Any]] = {}
    for pair in re.split(r",(?=\s*[^\W\d]\w*\s*=)", listed) if colon else []:
        name, value = assigned("--compare must be NAME or NAME:PARAMETER=VALUE,...", pair, text)
        if name in given:
            msg = f"--compare gives the parameter {name} twice: {text!r}"
            raise ValueError(msg)
        given[name] = (f"--compare {variant}:{name}", value)
    return variant, given


def assigned(must: str, pair: str, text: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, as Python reads it or as text; ValueError if it is not that."""
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name.isidentifier():
        msg = f"{must}, got {text!r}"
        raise ValueError(msg)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def size(text: str) -> int | float:
    """A training size: a number of samples, or a fraction."""
    if math.isnan(value := _number(text)):
        _refuse("a number of samples or a fraction in (0, 1)", text)
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else value


def sizes(text: str) -> list[int | float]:
    """The training sizes of ``0.1,0.5,100``."""
    return [size(part.strip()) for part in text.split(",")]


def counts(text: str) -> list[int]:
    """The numbers of ``1,3,5``, ``1-30`` or both, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not 1 <= first <= last or last - first >= LONGEST_RANGE:
            most = f"ranges of at most {LONGEST_RANGE:,} numbers"
            _refuse(f"numbers of at least 1, such as 5, 2-10 or 1,3,5, and {most}", text)
        found.update(range(first, last + 1))
    return sorted(found)


def natural(text: str) -> int:
    """An integer of at least 0."""
    if not (text.isascii() and text.isdigit()):
        _refuse("an integer of at least 0", text)
    return int(text)


def level(text: str) -> float:
    """A confidence level in (0, 1)."""
    if not 0 < (value := _number(text)) < 1:
        hint = "; a file goes before --interval" * (math.isnan(value) and text != "nan")
        _refuse("a level in (0, 1), such as 0.95", text, hint)
    return value


def width(text: str) -> float:
    """A finite number of at least 0."""
    if not 0 <= (value := _number(text)) < math.inf:
        _refuse("a finite number of at least 0, such as 0.01", text)
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refuse(what: str, text: str, hint: str = "") -> NoReturn:
    msg = f"must be {what}, got {text!r}{hint}"
    raise argparse.ArgumentTypeError(msg)


TYPES = {one.__name__: one for one in (int, float, size, sizes, counts, natural, level, width)}
"""Functions of the types in the texts."""
