"""The printed numbers of Table 1 of Wilson and Martinez (1999)."""

from __future__ import annotations

COLUMNS = ("static", "lcv", "cvc")
EXACT = "cvc_exact"
"""The column of CVC with statistics that leave the tested sample out; not in the paper."""

NAMES = {"static": "static", "lcv": "LCV", "cvc": "CVC", EXACT: "CVC'"}
N_FOLDS = 10
MAX_DIFFERENCE = 0.5
"""Points by which the mean of a column may differ: folds and kinds of attributes are not printed."""

TITLE = "Table 1 of Wilson & Martinez: generalization accuracy in %"
SOURCE = (
    "D. R. Wilson & T. R. Martinez, Combining Cross-Validation and Confidence to Measure Fitness, "
    "IJCNN'99, section 5"
)

PAPER: dict[str, tuple[float, float, float]] = {
    "Anneal": (93.11, 94.49, 94.62),
    "Australian": (84.78, 85.08, 85.36),
    "Breast Cancer (WI)": (96.28, 96.71, 96.42),
    "Bridges": (66.09, 65.09, 65.09),
    "Crx": (83.62, 84.78, 85.07),
    "Echocardiogram": (94.82, 96.07, 96.07),
    "Flag": (61.34, 62.39, 63.37),
    "Glass": (73.83, 67.81, 69.20),
    "Heart": (81.48, 81.85, 83.34),
    "Heart (Cleveland)": (81.19, 81.48, 83.15),
    "Heart (Hungarian)": (79.55, 80.60, 80.93),
    "Heart (Long Beach)": (70.00, 73.50, 73.00),
    "Heart (More)": (73.78, 77.03, 78.52),
    "Heart (Swiss)": (92.69, 92.63, 92.63),
    "Hepatitis": (80.62, 83.00, 81.79),
    "Horse Colic": (57.84, 59.51, 65.15),
    "Image Segmentation": (93.10, 91.67, 91.91),
    "Ionosphere": (84.62, 86.91, 86.62),
    "Iris": (94.00, 95.33, 95.33),
    "LED Creator+17": (67.10, 71.80, 71.90),
    "LED Creator": (73.40, 72.30, 72.90),
    "Liver (Bupa)": (65.57, 61.77, 61.41),
    "Pima Diabetes": (73.56, 73.58, 75.26),
    "Promoters": (93.45, 94.09, 93.09),
    "Sonar": (87.55, 83.57, 84.10),
    "Soybean (Large)": (88.59, 90.54, 90.86),
    "Vehicle": (71.76, 72.13, 71.54),
    "Voting": (95.64, 95.85, 95.85),
    "Vowel": (96.57, 98.29, 98.29),
    "Wine": (94.93, 96.01, 97.71),
    "Zoo": (94.44, 94.44, 97.78),
}
"""Generalization accuracy in %: static, LCV and CVC."""

LEFT_OUT = {"Heart (More)": "its definition is unknown"}
