"""What may be wrong with a line of an edge list, in words, and what to do about it."""

from __future__ import annotations

from blockmix.graph.reading import parser

# (problem, remedy) of every status of the parser but OK.
PROBLEMS = {
    parser.NOT_INTEGER: (
        "an entry of a Matrix Market file is not a pair of integers",
        "Correct the line, or remove the %%MatrixMarket banner and the size line to use text labels.",
    ),
    parser.ONE_COLUMN: (
        "a link needs two labels, and this line has one",
        "Separate two labels by a blank, a tab, a comma, a semicolon or a pipe, the same way in the whole file.",
    ),
    parser.OVERFLOW: (
        "this number does not fit into 64 bits",
        "Use labels below 2^63, or make the labels text, for instance by a letter in front of each.",
    ),
    parser.NUL: ("a NUL byte: this is not a text file", "Give a text edge list in UTF-8, plain or .gz."),
    parser.LONE_CR: (
        "a carriage return inside a line",
        "End lines with LF or CRLF, for instance with the tool mac2unix.",
    ),
    parser.EMPTY_FIELD: (
        "a label is empty",
        "Give two labels per line; remove titles above a table and sums below it, and write it without an index column "
        "(pandas: index=False).",
    ),
    parser.BAD_UTF8: (
        "a label is not UTF-8 text",
        "Convert the file, for instance: iconv -f LATIN1 -t UTF-8.",
    ),
    parser.OPEN_QUOTE: (
        "a quoted field is not closed on its line",
        'Close it with ", double a " inside it, and write fields without line breaks.',
    ),
    parser.NO_COLUMN: (
        "this line has fewer columns than the ones to read",
        "Complete the line, or choose other columns (--columns).",
    ),
    parser.BAD_WEIGHT: (
        "this weight is not a number",
        "Write decimals with a point and thousands without a mark, correct it, or leave the column of weights out.",
    ),
    parser.ZERO_WEIGHT: (
        "a weight must be above zero",
        "Remove links that are not there, or leave the column of weights out.",
    ),
    parser.HUGE_WEIGHT: (
        "this weight is beyond what a number can hold",
        "Divide all weights by one number, or leave the column of weights out.",
    ),
    parser.AFTER_QUOTE: ("text behind the closing quote of a label", 'Double a " that belongs to the label.'),
}
