"""Set the plain formulas of the pages as mathematics, when the site is built.

Derivations are read in editors and terminals beside the code, and docstrings quote them: they are written in plain
text, such as pi_ak, sum_k d_k pi_bk or e^(-cx). For the site this becomes MathML, which every current browser draws by
itself: no script and no font is loaded, from here or from anywhere else. Symbols are set one after another and none is
left out or moved, so that a formula that is not understood is at worst set plainly.

`typeset` sets one formula. `typeset_page` finds them on a page: indented blocks, and in the prose whatever has a Greek
letter, a subscript or a power, with what is joined to it by operators.
"""

from __future__ import annotations

import html
import re

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η",
    "theta": "θ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
LARGE = {"sum": "∑", "prod": "∏", "integral": "∫"}
FUNCTIONS = {"log", "exp", "min", "max", "mean", "sqrt", "odds", "grad", "diag", "const", "degree"}
LAWS = {"Gamma", "Beta", "Dirichlet", "Poisson", "Bernoulli"}
DIFFERENTIALS = {"dt", "dW", "dx", "ds", "dT", "dphi"}
SIGNS = {
    "<=": "≤", ">=": "≥", "<-": "←", "->": "→", "+-": "±", "!=": "≠", "-": "−", "*": "·", "~": "∼", "...": "…",
    "'": "′",
}  # fmt: skip
TOKEN = re.compile(
    r"<=|>=|<-|->|\+-|!=|\.\.\.|[A-Za-z]+[0-9]*|\d[\d,]*\d(?:\.\d+)?|\d+(?:\.\d+)?|\s+|.", re.DOTALL
)
CLOSING = {"(": ")", "{": "}", "[": "]"}
# Short words that are words and not products of letters.
WORDS = {"if", "is", "of", "in", "or", "to", "at", "by", "as", "an", "on", "it", "no", "so", "be"}
CODE_OR_LINK = re.compile(
    r"(^ *```.*?^ *```|^#.*?$|`[^`\n]+`|!?\[[^\]]*\]\([^)]*\)|\*\*\([A-Z]+\d+\)[^*]*\*\*|\([A-Z]+\d+\))",
    re.DOTALL | re.MULTILINE,
)
BLOCK = re.compile(r"(?<=\n\n)((?: {4}[^\n]*\n)+)")
OPERATORS = set("=+-*/<>~∝|") | {"<=", ">=", "<-", "->", "+-", "!=", "=:", ":="}


def typeset(formula: str) -> str:
    """Return a formula in plain text as MathML.

    >>> typeset("pi_ak^2")
    '<math><mrow><msubsup><mi>π</mi><mrow><mi>a</mi><mi>k</mi></mrow><mn>2</mn></msubsup></mrow></math>'
    """
    return f"<math><mrow>{_row(TOKEN.findall(formula))}</mrow></math>"


def _row(tokens: list[str]) -> str:
    parts, at = [], 0
    while at < len(tokens):
        part, at = _with_scripts(tokens, at)
        parts.append(part)
    return "".join(parts)


def _with_scripts(tokens: list[str], at: int) -> tuple[str, int]:
    """Return the symbol at a place with its subscript and power, and where the next one begins."""
    word = tokens[at]
    if word == "sqrt" and at + 1 < len(tokens) and tokens[at + 1] == "(":
        end = _matching(tokens, at + 1)
        return f"<msqrt><mrow>{_row(tokens[at + 2 : end])}</mrow></msqrt>", end + 1
    base, at = _symbol(word, tokens, at), at + 1
    scripts = {"_": "", "^": ""}
    while at < len(tokens) and tokens[at] in ("_", "^", "'"):
        if tokens[at] == "'" and not any(scripts.values()):
            base, at = f"<msup>{base}<mo>′</mo></msup>", at + 1
            continue
        if scripts.get(tokens[at], "'") or at + 1 >= len(tokens):
            break
        kind = tokens[at]
        scripts[kind], at = _script(tokens, at + 1, kind)
    below, above = scripts["_"], scripts["^"]
    under = "munder" if word in LARGE else "msub"
    if below and above:
        return f"<msubsup>{base}{below}{above}</msubsup>", at
    if below:
        return f"<{under}>{base}{below}</{under}>", at
    return (f"<msup>{base}{above}</msup>" if above else base), at


def _script(tokens: list[str], at: int, kind: str) -> tuple[str, int]:
    """Return a subscript or power that begins at a place, and where the next symbol begins."""
    word = tokens[at]
    if word in "({":
        end = _matching(tokens, at)
        inside = tokens[at + 1 : end]
        # A single sign in parentheses is a label, as in p^(0), and keeps them.
        whole = word == "(" and len(inside) == 1 and len(inside[0]) == 1
        return f"<mrow>{_row(tokens[at : end + 1] if whole else inside)}</mrow>", end + 1
    if word in "-+" and at + 1 < len(tokens):
        return f"<mrow>{_symbol(word, tokens, at)}{_symbol(tokens[at + 1], tokens, at + 1)}</mrow>", at + 2
    if kind == "^" and word[0].isalpha():
        # A power has subscripts of its own: x^n_k is x to the n_k.
        part, at = _with_scripts(tokens, at)
        return f"<mrow>{part}</mrow>", at
    if kind == "_" and word.isalnum() and word not in GREEK and len(word) <= 4:
        letters = "".join(f"<mn>{c}</mn>" if c.isdigit() else f"<mi>{c}</mi>" for c in word)
        return (f"<mrow>{letters}</mrow>" if len(word) > 1 else letters), at + 1
    return _symbol(word, tokens, at), at + 1


def _matching(tokens: list[str], at: int) -> int:
    """Return the place of the parenthesis that closes the one at a place, or the last place."""
    depth, opening = 0, tokens[at]
    for place in range(at, len(tokens)):
        depth += (tokens[place] == opening) - (tokens[place] == CLOSING[opening])
        if depth == 0:
            return place
    return len(tokens) - 1


def _symbol(word: str, tokens: list[str], at: int) -> str:
    """Return one symbol."""
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    if word.isspace():
        return '<mspace width="1.5em"/>' if len(word) > 1 and "\n" not in word else ""
    if word in GREEK:
        return f"<mi>{GREEK[word]}</mi>"
    if word in LARGE and (following == "_" or (word != "integral" and not _over(tokens, at))):
        return f"<mo>{LARGE[word]}</mo>"
    if word in FUNCTIONS or word in LAWS:
        return f"<mi>{word}</mi>" + ("" if following == "(" else '<mspace width="0.2em"/>')
    if word in DIFFERENTIALS:
        return f"<mrow><mi>d</mi>{_symbol(word[1:], tokens, len(tokens))}</mrow>"
    if word[0].isalpha():
        return _word(word)
    if word[0].isdigit():
        return f"<mn>{word}</mn>"
    fixed = ' stretchy="false"' if word in "()[]{}|" else ""
    return f"<mo{fixed}>{html.escape(SIGNS.get(word, word))}</mo>"


def _over(tokens: list[str], at: int) -> bool:
    """Return whether a sum is told in words: "sum over links of"."""
    return "".join(tokens[at + 1 : at + 3]).strip().startswith("over")


def _word(word: str) -> str:
    letters, digits = re.fullmatch(r"([^\W\d]+)(\d*)", word).groups()  # type: ignore[union-attr]
    if len(letters) > 2 or letters in WORDS:
        return f'<mspace width="0.3em"/><mtext>{word}</mtext><mspace width="0.3em"/>'
    found = "".join(f"<mi>{letter}</mi>" for letter in letters)
    return f"<mrow>{found}<mn>{digits}</mn></mrow>" if digits else found


def typeset_page(markdown: str) -> tuple[str, dict[str, str]]:
    """Return a page with marks in the place of its formulas, and the formula that belongs in the place of each."""
    found: dict[str, str] = {}

    def marked(formula: str, block: bool = False) -> str:
        mark = f"⟦{len(found)}⟧"
        if block:
            mark = f'<div class="formula" id="formula-{len(found)}"></div>'
        found[mark] = _block(formula) if block else typeset(formula)
        return mark

    def display(match: re.Match[str]) -> str:
        formula = match[1]
        if not re.search(r"[_^=~∝]", formula):
            return match[0]
        return marked(formula, block=True) + "\n"

    parts = CODE_OR_LINK.split(BLOCK.sub(display, markdown))
    for i in range(0, len(parts), 2):
        # An indented block that is no formula is code.
        lines = re.split(r"((?<=\n\n)(?: {4}[^\n]*\n)+)", parts[i])
        parts[i] = "".join(part if j % 2 else _prose(part, marked) for j, part in enumerate(lines))
    return "".join(parts), found


def _block(text: str) -> str:
    """Return an indented block, a formula a line, as a table."""
    lines = [line[4:] for line in text.rstrip("\n").split("\n")]
    rows = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        space = f'<mspace width="{0.5 * indent:.1f}em"/>' if indent else ""
        rows.append(f"<mtr><mtd>{space}{_row(TOKEN.findall(line.strip()))}</mtd></mtr>")
    table = f'<mtable displaystyle="true">{"".join(rows)}</mtable>'
    return f'<div class="formula"><math display="block">{table}</math></div>'


def _prose(text: str, marked: object) -> str:
    """Return prose with its formulas marked: runs of words that are mathematics, one of them for certain."""
    words = re.split(r"(\s+)", text)
    out: list[str] = []
    run: list[str] = []

    def close() -> None:
        out.append(_marked_run("".join(run), marked))
        run.clear()

    for word in words:
        if word.isspace():
            (run if run else out).append(word)
            continue
        open_depth = _depth("".join(run) + word) > 0
        so_far = "".join(run)
        if word and (
            _mathematical(word, bool(run)) or (word == "in" and so_far.count("{") > so_far.count("}"))
        ):
            run.append(word)
            if word[-1] in ".,;:" and not open_depth:
                close()
        else:
            close()
            out.append(word)
    close()
    return "".join(out)


def _depth(text: str) -> int:
    return text.count("(") - text.count(")") + text.count("{") - text.count("}")


def _balanced(text: str) -> bool:
    """Return whether every parenthesis is closed, and none before it was opened."""
    return _depth(text) == 0 and all(_depth(text[:i]) >= 0 for i in range(len(text)))


def _mathematical(word: str, joined: bool) -> bool:
    """Return whether a word of the prose can be part of a formula."""
    bare = word.rstrip(".,;:")
    if bare in OPERATORS or bare in ("...", "(", ")"):
        return joined
    if bare in ("a", "I", "A", "-") and not joined:
        return False
    tokens = TOKEN.findall(bare)
    scripted = [i for i, t in enumerate(tokens) if i and tokens[i - 1] == "_"]
    for i, token in enumerate(tokens):
        if not token[0].isalpha() or i in scripted or token in GREEK or token in LARGE or token in FUNCTIONS:
            continue
        if token in LAWS or token in DIFFERENTIALS or re.fullmatch(r"[A-Za-z]\d?", token):
            continue
        return False
    return any(c.isalnum() for c in bare)


def _certain(text: str) -> bool:
    """Return whether a run is mathematics for certain: it has a Greek letter, a subscript or a power."""
    tokens = TOKEN.findall(text)
    named = any(token in GREEK for token in tokens)
    return named or bool(re.search(r"[A-Za-z0-9')\]|][_^]\S", text))


def _marked_run(run: str, marked: object) -> str:
    """Mark the formula in a run, without operators and parentheses at its ends that belong to the sentence."""
    if not _certain(run):
        return run
    before, inside, after = "", run, ""
    while True:
        stripped = re.match(
            r"\s*(?:(?:[,;:.*\"]|->|<-|(?:a|mean|degree)(?=\s)|[=+/<>~∝|](?=\s))\s*)?", inside
        )
        first = stripped.end() if stripped else 0
        if inside.startswith("(") and (_depth(inside) > 0 or _wrapped(inside)):
            first = 1
        if not first:
            break
        before, inside = before + inside[:first], inside[first:]
    while True:
        last = re.search(r"(?:\s+(?:[=+*/<>~∝(|-]|<=|>=|->|<-|a|sum|prod|mean|degree)|[\s.,;:\"*])$", inside)
        cut = len(inside) - last.start() if last else 0
        if inside.endswith(")") and _depth(inside) < 0:
            cut = 1
        if not cut:
            break
        inside, after = inside[:-cut], inside[-cut:] + after
    if not inside or not _balanced(inside) or not _certain(inside):
        return run
    return before + marked(inside) + after  # type: ignore[operator]


def _wrapped(text: str) -> bool:
    """Return whether one pair of parentheses holds all of a run that ends a remark of the sentence."""
    return text.endswith(")") and _matching(list(text), 0) == len(text) - 1 and " " not in text
