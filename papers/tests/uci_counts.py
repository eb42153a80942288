"""Sizes and classes of the sets of Wilson and Martinez (1999), counted in their files."""

import numpy as np

# Samples, features, categorical ones, missing values among them, and the classes: counted in the files, and
# as their descriptions (.names) have them.
HEARTS = ("Cleveland", "Hungarian", "Long Beach", "Swiss")
EXPECTED = {
    "Anneal": (798, 38, 32, 19692, {"1": 8, "2": 88, "3": 608, "5": 60, "U": 34}),
    "Australian": (690, 14, 8, 0, {"0": 383, "1": 307}),
    "Breast Cancer (WI)": (699, 9, 0, 16, {"2": 458, "4": 241}),
    "Bridges": (
        105,
        11,
        7,
        61,
        {"ARCH": 13, "CANTILEV": 11, "CONT-T": 10, "SIMPLE-T": 44, "SUSPEN": 11, "WOOD": 16},
    ),
    "Crx": (690, 15, 9, 67, {"+": 307, "-": 383}),
    "Echocardiogram": (74, 10, 2, 23, {"0": 50, "1": 24}),
    "Flag": (194, 28, 18, 0, {"0": 40, "1": 60, "2": 36, "3": 8, "4": 4, "5": 27, "6": 15, "7": 4}),
    "Glass": (214, 9, 0, 0, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "Heart": (270, 13, 6, 0, {"1": 150, "2": 120}),
    "Heart (Cleveland)": (303, 13, 6, 6, {"0": 164, "1 to 4": 55 + 36 + 35 + 13}),
    "Heart (Hungarian)": (294, 13, 6, 782, {"0": 188, "1 to 4": 106}),
    "Heart (Long Beach)": (200, 13, 6, 698, {"0": 51, "1 to 4": 56 + 41 + 42 + 10}),
    "Heart (Swiss)": (123, 13, 6, 273, {"0": 8, "1 to 4": 48 + 32 + 30 + 5}),
    "Hepatitis": (155, 19, 13, 167, {"1": 32, "2": 123}),
    "Horse Colic": (299, 21, 14, 1602, {"1": 178, "2": 77, "3": 44}),
    "Image Segmentation": (
        420,
        19,
        0,
        0,
        dict.fromkeys(["BRICKFACE", "CEMENT", "FOLIAGE", "GRASS", "PATH", "SKY", "WINDOW"], 60),
    ),
    "Ionosphere": (351, 34, 0, 0, {"b": 126, "g": 225}),
    "Iris": (150, 4, 0, 0, dict.fromkeys(["Iris-setosa", "Iris-versicolor", "Iris-virginica"], 50)),
    "Liver (Bupa)": (345, 6, 0, 0, {"1": 145, "2": 200}),
    "Pima Diabetes": (768, 8, 0, 0, {"0": 500, "1": 268}),
    "Promoters": (106, 57, 57, 0, {"+": 53, "-": 53}),
    "Sonar": (208, 60, 0, 0, {"M": 111, "R": 97}),
    "Soybean (Large)": (
        307,
        35,
        35,
        712,
        {
            **dict.fromkeys(["2-4-d-injury"], 1),
            **dict.fromkeys(["alternarialeaf-spot", "brown-spot", "frog-eye-leaf-spot"], 40),
            **dict.fromkeys(["anthracnose", "brown-stem-rot"], 20),
            **dict.fromkeys(["bacterial-blight", "bacterial-pustule", "charcoal-rot", "downy-mildew"], 10),
            **dict.fromkeys(["diaporthe-stem-canker", "phyllosticta-leaf-spot", "powdery-mildew"], 10),
            **dict.fromkeys(["purple-seed-stain", "rhizoctonia-root-rot"], 10),
            **dict.fromkeys(["cyst-nematode", "diaporthe-pod-&-stem-blight"], 6),
            "herbicide-injury": 4,
            "phytophthora-rot": 40,
        },
    ),
    "Vehicle": (846, 18, 0, 0, {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
    "Voting": (435, 16, 16, 392, {"democrat": 267, "republican": 168}),
    "Vowel": (528, 10, 0, 0, {str(k): 48 for k in range(11)}),
    "Wine": (178, 13, 0, 0, {"1": 59, "2": 71, "3": 48}),
    "Zoo": (101, 16, 15, 0, {"1": 41, "2": 20, "3": 5, "4": 13, "5": 4, "6": 8, "7": 10}),
}
LEDS = ("LED Creator", "LED Creator+17")


def texts_of(data, column):
    """The texts that the codes of a categorical column stand for."""
    codes, names = data.X[:, column], data.categories[column]
    return [None if np.isnan(code) else names[int(code)] for code in codes]
