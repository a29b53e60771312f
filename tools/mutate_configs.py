#!/usr/bin/env python3
"""Writes configs that a slip of the hand, a bad copy or malice could have made of those in the tree.

Each is one of inputs/, tests/regression/cases/ and tests/data/bad/, made small so that one that is
still valid runs in a moment, with one to three changes of its lines, words, numbers, keys, values or
bytes. The same seed and count give the same bytes. Needs Python's own library alone.
"""

import argparse
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("inputs", "tests/regression/cases", "tests/data/bad")
LARGEST_SOURCE = 20_000  # bytes; what is larger is itself a test of size

# --- what is put in -------------------------------------------------------------------------------

NUMBERS = [
    "0", "-0", "-1", "1", "2", "3", "0.5", "1e308", "-1e308", "1.8e308", "1e-308", "5e-324", "1e-400",
    "1e400", "9" * 400, "1" + "0" * 10_400, "0." + "0" * 400 + "1", "nan", ".nan", "inf", "-inf",
    ".inf", "1e18", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "2147483648", "4294967296", "1e9", "1e6", "1e-9", "1e-17", "1e3.5", "1_000", "1,000", "0x10",
    "0o17", "0b11", "010", "1:30", "1d3", "1.", ".5", ".", "-", "+5", "--1", "1e", "1e+", "1.2.3",
    "2026-01-01", "12:00:00", "٣", "½", "1/3", "1 / 0", "0/0",
]
UNITS = [
    "s", "m", "min", "h", "ms", "Ms", "mm", "Mm", "m^2/s", "m/s", "mm^2/s", "K", "degC", "%", "1/s",
    "kg*m^2", "furlong", "m^99", "m^-2", "m//s", "(m", "m)", "µm", "Ω", "1e3 m", "m m",
]
WORDS = [
    "", "~", "null", "true", "false", "yes", "no", "on", "off", "auto", "none", "NaN", "heat", "wave",
    "periodic", "outflow", "absorbing", "dirichlet", "float64", "cuda", "cuda:99", "gauss_kronrod",
    "[]", "{}", "[[]]", "[1, 2, 3, 4]", "[0]", "[a, b]", "{a: 1}", "{file: nowhere.h5, dataset: /u}",
    "{file: ., dataset: /}", "*x", "&x 1", "!!float 1", "!x", "<<", "|", ">-", "'", '"', "'1'", '"1"',
    "' '", '"\\x00"', '"\\u0000"', "../data/phantom_48.h5", "/dev/null", "/dev/zero", "/", ".", "?",
    "- 1", "---", "...", "%YAML 1.2", "@", "`", "#", "x", "u",
]
FORMULAS = [
    "x", "t", "1/x", "1/0", "log(-1)", "sqrt(x - 0.5)", "exp(1e9*x)", "exp(-1e9*x)", "1e308*(1 + x)",
    "1e-308*x", "5e-324", "sin(1/x)", "tan(pi*x/2)", "mod(x, 0)", "if(x < 0.5, 1, 1e300)", "x^x^x",
    "0*x", "step(t - 1)", "1/t", "1/(t - 0.01)", "z", "q", "sin(", "sin()", "sin(x, y)", "x and y",
    "x**2", "x = 1", "a < b < c", "((((((x))))))", "(" * 300 + "x" + ")" * 300, "+".join(["x"] * 400),
    "-" * 300 + "x", "e^e^e^e^e", "abs(x)^(-0.5)", "max()", "min(x)", "x y", "2x", "π", "x²",
]
CHARACTERS = [
    "\t", "\r", "\r\n", "\n", "\0", "\x07", "\x1b[2J", "\x7f", "\ufeff", "\u00a0", "\u2028", "\u200b",
    "é", "𝛼", "{", "}", "[", "]", ":", ": ", ",", "#", " #", "'", '"', "&", "*", "!", "|", ">", "%",
    "@", "\\", "-", "- ", "?", "? ", " ", "  ", "\udc80", "\udcff",
]

TOKEN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d[\d.]*(?:[eE][-+]?\d+)?|\s+|.", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
KEY = re.compile(r"(?:(?<=[{,\s])|^)([A-Za-z_][\w]*):(?=[ \n])", re.MULTILINE)


# --- where things stand ---------------------------------------------------------------------------

def end_of_value(text, start):
    """Where the value ends that begins at `start`, after a key and its colon."""
    while start < len(text) and text[start] == " ":
        start += 1
    if start >= len(text):
        return start
    if text[start] in "[{":
        depth, quote = 0, ""
        for i in range(start, len(text)):
            c = text[i]
            if quote:
                quote = "" if c == quote else quote
            elif c in "\"'":
                quote = c
            else:
                depth += (c in "[{") - (c in "]}")
                if depth == 0:
                    return i + 1
        return len(text)
    if text[start] in "\"'":
        closing = text.find(text[start], start + 1)
        return len(text) if closing < 0 else closing + 1
    if text[start] == "\n":  # a block: the lines that are indented further, or its list
        line_start = text.rfind("\n", 0, start) + 1
        key_indent = len(text[line_start:start]) - len(text[line_start:start].lstrip(" -"))
        end = start + 1
        for line in text[start + 1:].splitlines(keepends=True):
            indent = len(line) - len(line.lstrip(" "))
            if line.strip() and indent <= key_indent and not line.lstrip().startswith("- "):
                break
            end += len(line)
        return max(end - 1, start)
    end = re.compile(r"[,}\]\n]| #").search(text, start)
    return end.start() if end else len(text)


def entries(text):
    """(start of the key, end of the key, start of its value, end of it) for all keys."""
    found = []
    for key in KEY.finditer(text):
        start = key.end()
        while start < len(text) and text[start] == " ":
            start += 1
        found.append((key.start(1), key.end(1), start, end_of_value(text, key.end())))
    return found


# --- changes --------------------------------------------------------------------------------------
# Each takes the text, the random numbers and all sources, and returns the changed text.

def replace(text, start, end, new):
    return text[:start] + new + text[end:]


def pick_entry(text, rng):
    found = entries(text)
    return rng.choice(found) if found else (0, 0, 0, 0)


def some_value(text, rng, sources):
    """A value of some other type, or of some other key."""
    kind = rng.randrange(6)
    if kind < 4:
        return rng.choice((NUMBERS, WORDS, FORMULAS, NUMBERS)[kind])
    other = text if kind == 4 else rng.choice(sources)
    _, _, start, end = pick_entry(other, rng)
    return other[start:end]


def delete_line(text, rng, _):
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return "".join(lines)


def repeat_line(text, rng, _):
    lines = text.splitlines(keepends=True)
    if lines:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return "".join(lines)


def swap_lines(text, rng, _):
    lines = text.splitlines(keepends=True)
    if lines:
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return "".join(lines)


def foreign_line(text, rng, sources):
    lines = text.splitlines(keepends=True)
    others = rng.choice(sources).splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(others) if others else "\n")
    return "".join(lines)


def indent_line(text, rng, _):
    lines = text.splitlines(keepends=True)
    if lines:
        i = rng.randrange(len(lines))
        lines[i] = rng.choice((" ", "  ", "    ", "\t")) + lines[i] if rng.random() < 0.7 \
            else lines[i].lstrip()
    return "".join(lines)


def change_token(text, rng, _):
    tokens = TOKEN.findall(text)
    if not tokens:
        return text
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    kind = rng.randrange(3)
    if kind == 0:
        del tokens[i]
    elif kind == 1:
        tokens.insert(i, tokens[i])
    else:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def change_number(text, rng, _):
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    number = rng.choice(found)
    return replace(text, number.start(), number.end(), rng.choice(NUMBERS))


def scale_number(text, rng, _):
    """A number that stays one: what the reader takes and the numerics have to bear."""
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    number = rng.choice(found)
    scaled = float(number.group()) * rng.choice((0, -1, 2, 0.5, 10, 1e-3, 1e-12, 1e12, 1e-200, 1e200))
    new = str(int(scaled)) if abs(scaled) < 1e15 and scaled == int(scaled) else repr(scaled)
    return replace(text, number.start(), number.end(), new)


def add_unit(text, rng, _):
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    number = rng.choice(found)
    return replace(text, number.end(), number.end(), rng.choice(("", " ")) + rng.choice(UNITS))


def change_value(text, rng, sources):
    _, _, start, end = pick_entry(text, rng)
    return replace(text, start, end, some_value(text, rng, sources))


def change_formula(text, rng, _):
    quoted = list(re.finditer(r'"([^"\n]*)"', text))
    if not quoted:
        return text
    formula = rng.choice(quoted)
    body = formula.group(1)
    at = rng.randrange(len(body) + 1)
    part = rng.choice(FORMULAS + ["(", ")", "*", "^", "+", "<", ",", "1e", "x"])
    new = part if rng.random() < 0.5 else body[:at] + part + body[at + rng.randrange(3):]
    return replace(text, formula.start(1), formula.end(1), new)


def change_key(text, rng, sources):
    """A key misspelled, in other letters, or the name of another one."""
    start, end, _, _ = pick_entry(text, rng)
    key = text[start:end]
    kind = rng.randrange(4)
    if kind == 0 and key:
        at = rng.randrange(len(key))
        new = key[:at] + rng.choice(("", key[at] * 2, "x", "_", ".")) + key[at + 1:]
    elif kind == 1:
        new = rng.choice((key.upper(), key.title(), f"'{key}'", f'"{key}"', key + "s", "<<"))
    else:
        other = rng.choice(sources)
        first, last, _, _ = pick_entry(other, rng)
        new = other[first:last]
    return replace(text, start, end, new)


def delete_entry(text, rng, _):
    start, _, _, end = pick_entry(text, rng)
    if text[end:end + 2] == ", ":
        end += 2
    return replace(text, start, end, "")


def add_entry(text, rng, sources):
    """A key and its value of some config, before one of this."""
    start, _, _, _ = pick_entry(text, rng)
    other = rng.choice(sources)
    first, _, _, last = pick_entry(other, rng)
    line_start = text.rfind("\n", 0, start) + 1
    separator = "\n" + text[line_start:start] if not text[line_start:start].strip() else ", "
    return replace(text, start, start, other[first:last] + separator)


def swap_values(text, rng, _):
    found = entries(text)
    if len(found) < 2:
        return text
    a, b = sorted((rng.choice(found), rng.choice(found)))
    if a[3] > b[2]:
        return text  # one holds the other
    first, second = text[a[2]:a[3]], text[b[2]:b[3]]
    return replace(replace(text, b[2], b[3], first), a[2], a[3], second)


def nest_value(text, rng, _):
    _, _, start, end = pick_entry(text, rng)
    depth = rng.choice((1, 1, 2, 5, 31, 200))
    opening, closing = rng.choice((("[", "]"), ("{a: ", "}"), ("{file: ", "}"), ("{lower: ", "}")))
    return replace(text, start, end, opening * depth + text[start:end] + closing * depth)


def change_list(text, rng, _):
    """A list with an element more or less."""
    lists = list(re.finditer(r"\[([^\[\]\n]*)\]", text))
    if not lists:
        return text
    found = rng.choice(lists)
    items = found.group(1).split(",")
    if rng.random() < 0.5:
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
    else:
        del items[rng.randrange(len(items))]
    return replace(text, found.start(1), found.end(1), ",".join(items))


def change_simulation(text, rng, _):
    names = ("heat", "wave", "advection", "convolution", "integration", "linear_system",
             "poisson", "eigenvalues")
    return re.sub(r"^simulation: *\w+", f"simulation: {rng.choice(names)}", text, count=1,
                  flags=re.MULTILINE)


def insert_character(text, rng, _):
    at = rng.randrange(len(text) + 1)
    return replace(text, at, at + rng.choice((0, 0, 1)), rng.choice(CHARACTERS))


def cut(text, rng, _):
    return text[:rng.randrange(len(text) + 1)]


def other_line_ends(text, rng, _):
    return text.replace("\n", rng.choice(("\r\n", "\r", "\n\n")))


CHANGES = [
    delete_line, repeat_line, swap_lines, foreign_line, indent_line, change_token, change_token,
    change_number, change_number, change_number, add_unit, change_value, change_value,
    change_formula, change_formula, change_key, delete_entry, add_entry, add_entry, swap_values,
    nest_value, change_list, change_simulation, insert_character, cut, other_line_ends,
] + 20 * [scale_number]  # the others seldom leave a config that runs


# --- the set --------------------------------------------------------------------------------------

def shrink(text):
    """The same problem on a small grid, with few steps."""
    # Datasets and layers fit the sizes that are there.
    fixed = re.search("file:|absorbing|reference:", text) is not None

    def smaller(sizes):
        largest = 3 if sizes.group().startswith("count") else 48 if fixed else 14
        return re.sub(r"\d+", lambda size: str(min(int(size.group()), largest)), sizes.group())

    text = re.sub(r"\b(?:points|size|samples|bins|count): *(?:\d+|\[[\d, ]+\])", smaller, text)
    return re.sub(r"\bend: (?!-?0?\.0)[\d.]+\b(?! *[a-z^*])", "end: 0.02", text)


def sources():
    """The configs to start from, in a fixed order, without their comments of whole lines."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.yaml")):
            if not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
                continue
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
            found.append((folder, shrink("".join(lines))))
    return found


def mutated_configs(count, seed):
    """`count` configs as bytes."""
    rng = random.Random(seed)
    found = sources()
    texts = [text for _, text in found]
    # Those that are whole come more often: a change of theirs reaches further.
    whole = [text for folder, text in found if folder != "tests/data/bad"]
    for _ in range(count):
        text = rng.choice(whole if rng.random() < 0.9 else texts)
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
            text = rng.choice(CHANGES)(text, rng, texts)
        yield text.encode("utf-8", "surrogateescape")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other configs")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="the folder for them")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for i, config in enumerate(mutated_configs(arguments.count, arguments.seed)):
        (arguments.output / f"{i:06d}.yaml").write_bytes(config)


if __name__ == "__main__":
    main()
