"""Shared by the oracle scripts: the text form of values, and the way a script
takes its arguments (JSON on standard input) and answers (JSON on standard output).

Text form of a value: null; true/false; numbers in decimal; DECIMAL with all its
digits; BYTES as lower-case hex; DATE yyyy-MM-dd; TIME HH:mm:ss.SSS; TIMESTAMP
yyyy-MM-dd HH:mm:ss and p digits, TIMESTAMP_LTZ the same in UTC with a Z; ARRAY a
list; MAP a list of [key, value] in the order of the keys' JSON; ROW an object.
"""
import datetime as dt
import decimal
import json
import os
import sys
import traceback

import numpy as np
import pyarrow as pa

SECOND = 10**9
PER_UNIT = {"s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
INTEGERS = {"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"}
TEXTS = {"STRING", "CHAR", "VARCHAR"}
BYTES = {"BYTES", "BINARY", "VARBINARY"}
EXACT = decimal.Context(prec=60)


def run(main):
    """Runs main(arguments), prints its answer and ends the process; a failure prints
    {"error": …}."""
    try:
        answer = main(json.load(sys.stdin))
    except Exception as e:  # the caller needs the reason whatever it is
        traceback.print_exc()
        answer = {"error": f"{type(e).__name__}: {e}", "code": getattr(e, "error_code", 0)}
    json.dump(answer, sys.stdout, ensure_ascii=False)
    leave()


def leave():
    """Ends the process once everything is said. Threads of pyfluss 1.0.0 outlive the
    interpreter, and some of its ordinary exits end in an abort."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Types:
    """Reads a type from SQL text, both Paimon's and pyfluss's spelling, into a
    tuple: (name, numbers…), ("ARRAY", t), ("MAP", k, v), ("ROW", [(name, t)…])."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self, token):
        if self.text[self.at:self.at + len(token)].upper() == token:
            self.at += len(token)
            return True
        return False

    def word(self, stops):
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in stops:
            self.at += 1
        return self.text[start:self.at].strip()

    def parse(self):
        name = self.word("(<>, ").upper()
        numbers = []
        if name in ("ARRAY", "MULTISET", "MAP", "ROW"):
            assert self.skip("<"), self.text
            parts = []
            while not self.skip(">"):
                if name == "ROW":
                    column = self.word(": ").strip("`")
                    self.at += 1
                    self.spaces()
                    parts.append((column, self.parse()))
                else:
                    parts.append(self.parse())
                self.spaces()
                self.skip(",")
                self.spaces()
            tree = (name, parts) if name == "ROW" else (name, *parts)
        else:
            if self.skip("("):
                numbers = [int(n) for n in self.word(")").split(",")]
                self.at += 1
            if name == "TIMESTAMP" and self.skip(" WITH LOCAL TIME ZONE"):
                name = "TIMESTAMP_LTZ"
            if name in ("TIMESTAMP", "TIMESTAMP_LTZ") and not numbers:
                numbers = [6]
            if name == "DECIMAL":
                numbers = (numbers + [10, 0][len(numbers):])[:2]
            tree = (name, *numbers)
        self.spaces()
        self.skip("NOT NULL")
        return tree

    def spaces(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1


def paimon_tree(data):
    """The tuple of a type as Paimon's schema files give it."""
    if isinstance(data, str):
        return Types(data).parse()
    kind = data["type"].split()[0].upper()
    if kind == "MAP":
        return ("MAP", paimon_tree(data["key"]), paimon_tree(data["value"]))
    if kind == "ROW":
        return ("ROW", [(f["name"], paimon_tree(f["type"])) for f in data["fields"]])
    return (kind, paimon_tree(data["element"]))


def nanos(v):
    """Nanoseconds since 1970 of an Arrow timestamp or a datetime."""
    if isinstance(v, pa.Scalar):
        return v.value * PER_UNIT[v.type.unit]
    zone = dt.timezone.utc if v.tzinfo else None
    return (v - dt.datetime(1970, 1, 1, tzinfo=zone)) // dt.timedelta(microseconds=1) * 1000


def show(v, t):
    """A value, Python's or an Arrow scalar, in the text form of type t."""
    arrow = isinstance(v, pa.Scalar)
    if v is None or (arrow and not v.is_valid):
        return None
    name = t[0]
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        seconds, rest = divmod(nanos(v), SECOND)
        text = str(np.datetime64(seconds, "s")).replace("T", " ")
        digits = ("%09d" % rest)[:t[1]]
        return text + ("." + digits if digits else "") + ("Z" if name == "TIMESTAMP_LTZ" else "")
    if name == "DATE":
        return str(np.datetime64(v.value, "D")) if arrow else v.isoformat()
    if name == "TIME":
        if arrow:
            ms = v.value * PER_UNIT[v.type.unit] // 10**6
        else:
            ms = ((v.hour * 60 + v.minute) * 60 + v.second) * 1000 + v.microsecond // 1000
        return "%02d:%02d:%02d.%03d" % (ms // 3600000, ms // 60000 % 60, ms // 1000 % 60, ms % 1000)
    if name in ("ARRAY", "MULTISET"):
        return [show(x, t[1]) for x in (v.values if arrow else v)]
    if name == "MAP":
        items = [(x[0], x[1]) for x in v.values] if arrow else list(v.items() if isinstance(v, dict) else v)
        pairs = [[show(k, t[1]), show(x, t[2])] for k, x in items]
        return sorted(pairs, key=lambda p: json.dumps(p[0], ensure_ascii=False))
    if name == "ROW":
        return {n: show(v[n], f) for n, f in t[1]}
    if arrow:
        v = v.as_py()
    if name == "BOOLEAN":
        return "true" if v else "false"
    if name in INTEGERS:
        return str(v)
    if name in ("FLOAT", "DOUBLE"):
        if v != v or v in (float("inf"), float("-inf")):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(float(v))]
        return str(np.float32(v)) if name == "FLOAT" else repr(float(v))
    if name == "DECIMAL":
        return format(v.quantize(decimal.Decimal(1).scaleb(-t[2]), context=EXACT), "f")
    if name in TEXTS:
        return v
    if name in BYTES:
        return v.hex()
    raise ValueError(f"no text form for a value of type {name}")


def read(text, t, raw):
    """The value of a text form; raw gives times as numbers in the unit Arrow uses
    for the type, else as Python's date and time objects."""
    if text is None:
        return None
    name = t[0]
    if name in INTEGERS:
        return int(text)
    if name == "BOOLEAN":
        return text if isinstance(text, bool) else text == "true"
    if name in ("FLOAT", "DOUBLE"):
        return float(text)
    if name == "DECIMAL":
        return decimal.Decimal(text)
    if name in TEXTS:
        return text
    if name in BYTES:
        return bytes.fromhex(text)
    if name == "DATE":
        return dt.date.fromisoformat(text)
    if name == "TIME":
        return dt.time.fromisoformat(text)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        base, _, digits = text.rstrip("Z").partition(".")
        zone = dt.timezone.utc if name == "TIMESTAMP_LTZ" else None
        at = dt.datetime.fromisoformat(base).replace(tzinfo=zone)
        rest = int((digits + "000000000")[:9])
        if raw:
            unit = "s" if t[1] == 0 else "ms" if t[1] <= 3 else "us" if t[1] <= 6 else "ns"
            return (nanos(at) + rest) // PER_UNIT[unit]
        return at.replace(microsecond=rest // 1000)
    if name in ("ARRAY", "MULTISET"):
        return [read(x, t[1], raw) for x in text]
    if name == "MAP":
        return [(read(k, t[1], raw), read(x, t[2], raw)) for k, x in text]
    if name == "ROW":
        return {n: read(text.get(n), f, raw) for n, f in t[1]}
    raise ValueError(f"no value of type {name} from text")


def rows(table, trees):
    """The rows of an Arrow table as objects in text form; trees: (column, type)."""
    columns = {}
    for name, t in trees:
        columns[name] = [show(v, t) for chunk in table[name].chunks for v in chunk]
    return [{name: columns[name][i] for name, _ in trees} for i in range(table.num_rows)]


def digest(table, trees):
    """Row count, and for each column its nulls and, for integers and decimals,
    the exact sum: what a large table can be compared by without its rows."""
    columns = {}
    for name, t in trees:
        column = table[name]
        entry = {"nulls": column.null_count}
        if t[0] in INTEGERS or t[0] == "DECIMAL":
            total = sum((sum_of(chunk, t) for chunk in column.chunks), decimal.Decimal(0))
            entry["sum"] = format(total, "f")
        columns[name] = entry
    return {"count": table.num_rows, "columns": columns}


def sum_of(chunk, t):
    """The sum of one Arrow array, wide enough not to overflow."""
    import pyarrow.compute as pc
    scale = t[2] if t[0] == "DECIMAL" else 0
    total = pc.sum(chunk.cast(pa.decimal128(38, scale))).as_py()
    return total if total is not None else decimal.Decimal(0)
