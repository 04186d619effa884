"""Scores: predictions of held-out pairs, and covers compared with ground truth."""

from blockmix.evaluate.cover_files import CoverFile, read_cover_file, read_covers, write_covers
from blockmix.evaluate.covers import (
    BestMatch,
    CoverScores,
    best_match,
    best_match_f1,
    compare_covers,
    omega,
    onmi,
    restrict,
    unique_communities,
)
from blockmix.evaluate.degree_classes import DegreeCalibration, calibration_by_degree
from blockmix.evaluate.pairs import Scores, auc, average_precision, log_loss, perplexity, score
from blockmix.evaluate.reliability import CalibrationTable, calibration
from blockmix.evaluate.weights import WeightScores, score_weights

__all__ = [
    "BestMatch",
    "CalibrationTable",
    "CoverFile",
    "CoverScores",
    "DegreeCalibration",
    "Scores",
    "WeightScores",
    "auc",
    "average_precision",
    "best_match",
    "best_match_f1",
    "calibration",
    "calibration_by_degree",
    "compare_covers",
    "log_loss",
    "omega",
    "onmi",
    "perplexity",
    "read_cover_file",
    "read_covers",
    "restrict",
    "score",
    "score_weights",
    "unique_communities",
    "write_covers",
]
