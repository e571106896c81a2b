# expressions.py - random expressions and their values by NumPy
# SPDX-License-Identifier: MIT
#
# python3 expressions.py SEED COUNT OUT - writes OUT.lua, a list of forms of
# expressions, and OUT.bin, the elements of their operands and results, for
# tests/arrays/fuzz.lua.
#
# Types are those of clshell, OpenCL C's; NumPy calculates in them. Reals are
# multiples of 2^-2 that stay exact, so that no rounding and no fused multiply
# and add changes a bit; what rounds is the last operation.
import random
import sys

import numpy as np

ROWS, COLS, EACH = 6, 8, 40  # the shape, and the expressions of a form
DTYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16,
    "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float32,
    "float": np.float32, "double": np.float64}
RANK = {name: max(k - 3, 0) for k, name in enumerate(DTYPES)}
REALS = ("half", "float", "double")
INTS = tuple(name for name in DTYPES if name not in REALS)
BITS = {"half": 22, "float": 22, "double": 50}  # of an exact real
VIEWS = {  # shape of the Buffer, the view here and there
    "{y}": ((ROWS, COLS), lambda a, k: a),
    "{y}:slice({{-1, 1, -1}}, {{}})": ((ROWS, COLS), lambda a, k: a[::-1]),
    "{y}:slice({{1, -1, 2}}, {{-1, 1, -1}})": (
        (2 * ROWS, COLS), lambda a, k: a[::2, ::-1]),
    "{y}:transpose()": ((COLS, ROWS), lambda a, k: a.T),
    "{y}:shift({k}, 3)": ((ROWS, COLS), lambda a, k: np.roll(a, (k, 3), (0, 1))),
    "{y}:slice({k}, {k} + 5)": ((ROWS + 9, COLS), lambda a, k: a[k - 1:k + 5]),
    "{y}:row": ((COLS,), lambda a, k: a),
    "{y}:column": ((ROWS, 1), lambda a, k: a),
}


def limits(name):
    info = np.iinfo(DTYPES[name])
    return int(info.min), int(info.max)


def promoted(name):
    return "int" if RANK[name] == 0 else name


def unsigned(name):
    return name in INTS and name[0] == "u"


class Node:
    """code in Lua, type, value(env), bound of the absolute value, exact"""

    def __init__(self, code, kind, value, bound, exact=True):
        self.code, self.kind, self.value = code, kind, value
        self.bound, self.exact = bound, exact


class Refused(Exception):
    pass


def common(*kinds):
    kind = kinds[0]
    for other in kinds[1:]:
        pair = {kind, other}
        if pair & {"long", "ulong"} and pair & set(REALS):
            raise Refused
        kind = kind if RANK[kind] > RANK[other] else other
    return promoted(kind)


# A bound of a node as a value of a type; raises where it may not be exact.
def bound_in(node, kind):
    if kind in REALS:
        if not node.exact or node.bound >= 2.0 ** BITS[kind]:
            raise Refused
        return node.bound
    low, high = limits(kind)
    if node.bound > high or low == 0 and not unsigned(node.kind):
        return 2.0 ** 64
    return node.bound


def wrap(value, kind):
    """Whole numbers of Python, or an array, in a type."""
    with np.errstate(all="ignore"):
        return value.astype(DTYPES[kind])


def saturated(value, kind):
    low, high = limits(kind)
    out = np.zeros(value.shape, DTYPES[kind])
    for at, x in np.ndenumerate(value):
        if x == x:
            out[at] = low if x <= low else high if x >= high else int(x)
    return out


def divided(a, b, mod):
    """a // b or a % b of integers of one type: 0 by zero, and wraps."""
    out = np.zeros(np.broadcast(a, b).shape, object)
    bits = 8 * a.dtype.itemsize
    for at, (x, y) in enumerate(np.broadcast(a, b)):
        x, y = int(x), int(y)
        q = 0 if y == 0 else x % y if mod else x // y
        out.flat[at] = q
    half = 1 << bits - 1 if a.dtype.kind == "i" else 0
    return ((out + half) % (1 << bits) - half).astype(a.dtype)


def modulo(a, b):
    r = np.fmod(a, b)
    return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r).astype(a.dtype)


def saturating(a, b, sign):
    low, high = np.iinfo(a.dtype).min, np.iinfo(a.dtype).max
    exact = a.astype(object) + sign * b.astype(object)
    return np.clip(exact, int(low), int(high)).astype(a.dtype)


def halves(a, b, more):
    return ((a.astype(object) + b.astype(object) + more) // 2).astype(a.dtype)


class Form:
    def __init__(self, rng, viewed):
        self.rng, self.viewed = rng, viewed
        self.leaves, self.constants = [], []

    def leaf(self, kind=None):
        kind = kind or self.rng.choice(list(DTYPES))
        view = self.rng.choice(list(VIEWS)) if self.viewed else "{y}"
        n = len(self.leaves)
        self.leaves.append((kind, view))
        bound = (16 if kind in REALS else 2.0 ** 64 if RANK[kind] > 0
                 else 2.0 ** 16)
        return Node(f"x[{n + 1}]", kind, lambda env: env[0][n], bound)

    def constant(self, beside, whole=True):
        n = len(self.constants)
        self.constants.append(beside)
        dtype = DTYPES[beside]
        bound = 16 if beside in REALS else 2.0 ** 64
        return Node(f"k[{n + 1}]", beside,
                    lambda env: np.array([env[1][n]], dtype), bound)

    def second(self, a, depth):
        if self.rng.random() < 0.25:
            return self.constant(a.kind)
        return self.tree(depth - 1)

    def tree(self, depth):
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf()
        kept = len(self.leaves), len(self.constants)
        for _ in range(50):
            try:
                return self.operation(depth)
            except Refused:
                del self.leaves[kept[0]:], self.constants[kept[1]:]
        return self.leaf()

    def operation(self, depth):
        name = self.rng.choice(
            "add sub mul add sub mul idiv mod neg abs fmin fmax clamp where eq"
            " ne lt le gt ge band bor bxor bnot shl shr to to add_sat sub_sat"
            " hadd rhadd square isnan".split())
        a = self.tree(depth - 1)
        return getattr(self, "op_" + name, self.op_common)(name, a, depth)

    def op_common(self, name, a, depth):
        b = self.second(a, depth)
        T = common(a.kind, b.kind)
        x, y = bound_in(a, T), bound_in(b, T)
        bound = x * y if name == "mul" else x + y
        if T in REALS:
            bound_in(Node("", T, None, bound * (16 if name == "mul" else 4)),
                     T)
        elif bound > limits(T)[1] or unsigned(T) and name == "sub":
            bound = 2.0 ** 64
        sign = {"add": "+", "sub": "-", "mul": "*"}.get(name)
        f = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
             "fmin": np.fmin, "fmax": np.fmax}[name]
        code = (f"({a.code} {sign} {b.code})" if sign
                else f"{a.code}:{name}({b.code})")
        return Node(code, T, lambda env: f(wrap(a.value(env), T),
                                           wrap(b.value(env), T)), bound)

    def op_idiv(self, name, a, depth):
        if a.kind in REALS:
            raise Refused
        b = self.second(a, depth)
        T = common(a.kind, b.kind)
        if T in REALS:
            raise Refused
        mod, sign = name == "mod", "%" if name == "mod" else "//"
        return Node(f"({a.code} {sign} {b.code})", T, lambda env: divided(
            wrap(a.value(env), T), wrap(b.value(env), T), mod), 2.0 ** 64)

    def op_mod(self, name, a, depth):
        if a.kind not in REALS:
            return self.op_idiv(name, a, depth)
        b = self.leaf(self.rng.choice(REALS))
        T = common(a.kind, b.kind)
        bound = bound_in(a, T) + bound_in(b, T)
        return Node(f"({a.code} % {b.code})", T, lambda env: modulo(
            wrap(a.value(env), T), wrap(b.value(env), T)), bound)

    def op_neg(self, name, a, depth):
        T = promoted(a.kind)
        code = f"(-{a.code})" if name == "neg" else f"{a.code}:abs()"
        f = np.negative if name == "neg" else np.abs
        bound = 2.0 ** 64 if unsigned(T) else bound_in(a, T)
        return Node(code, T, lambda env: f(wrap(a.value(env), T)), bound)

    op_abs = op_neg

    def op_square(self, name, a, depth):
        if a.kind not in REALS:
            raise Refused
        bound = bound_in(a, a.kind) ** 2
        bound_in(Node("", a.kind, None, bound * 16), a.kind)
        return Node(f"({a.code} ^ 2)", a.kind,
                    lambda env: np.square(a.value(env)), bound)

    def op_clamp(self, name, a, depth):
        b, c = self.second(a, depth), self.constant(a.kind)
        T = common(a.kind, b.kind, c.kind)
        bound = max(bound_in(n, T) for n in (a, b, c))
        if b.code[0] == "k" or RANK[b.kind] <= RANK[a.kind]:
            return Node(f"{a.code}:clamp({b.code}, {c.code})", T,
                        lambda env: np.fmin(np.fmax(
                            wrap(a.value(env), T), wrap(b.value(env), T)),
                            wrap(c.value(env), T)), bound)
        raise Refused

    def op_where(self, name, a, depth):
        b = self.tree(depth - 1)
        c = self.second(b, depth)
        T = common(b.kind, c.kind)
        bound = max(bound_in(b, T), bound_in(c, T))
        return Node(f"{a.code}:where({b.code}, {c.code})", T,
                    lambda env: np.where(a.value(env) != 0, wrap(
                        b.value(env), T), wrap(c.value(env), T)), bound)

    def op_eq(self, name, a, depth):
        b = self.second(a, depth)
        T = common(a.kind, b.kind)
        bound_in(a, T), bound_in(b, T)
        f = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
             "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
        return Node(f"{a.code}:{name}({b.code})", "int",
                    lambda env: f[name](wrap(a.value(env), T), wrap(
                        b.value(env), T)).astype(np.int32), 1)

    op_ne = op_lt = op_le = op_gt = op_ge = op_eq

    def op_band(self, name, a, depth):
        b = self.second(a, depth)
        if a.kind in REALS or b.kind in REALS:
            raise Refused
        T = common(a.kind, b.kind)
        sign = {"band": "&", "bor": "|", "bxor": "~"}[name]
        f = {"band": np.bitwise_and, "bor": np.bitwise_or,
             "bxor": np.bitwise_xor}[name]
        return Node(f"({a.code} {sign} {b.code})", T, lambda env: f(
            wrap(a.value(env), T), wrap(b.value(env), T)), 2.0 ** 64)

    op_bor = op_bxor = op_band

    def op_bnot(self, name, a, depth):
        if a.kind in REALS:
            raise Refused
        T = promoted(a.kind)
        return Node(f"(~{a.code})", T,
                    lambda env: ~wrap(a.value(env), T), 2.0 ** 64)

    def op_shl(self, name, a, depth):
        b = self.second(a, depth)
        if a.kind in REALS or b.kind in REALS:
            raise Refused
        T = promoted(a.kind)
        bits = 8 * np.dtype(DTYPES[T]).itemsize
        sign, f = (("<<", np.left_shift) if name == "shl"
                   else (">>", np.right_shift))
        common(a.kind, b.kind)
        return Node(f"({a.code} {sign} {b.code})", T, lambda env: f(
            wrap(a.value(env), T), (wrap(b.value(env), "ulong")
                                    & np.uint64(bits - 1)).astype(DTYPES[T])),
            2.0 ** 64)

    op_shr = op_shl

    def op_to(self, name, a, depth):
        T = self.rng.choice(list(DTYPES))
        code = f'{a.code}:astype "{T}"'
        if a.kind in REALS and T not in REALS:
            return Node(code, T, lambda env: saturated(a.value(env), T),
                        2.0 ** 64)
        if a.kind in ("long", "ulong") and T in REALS:
            raise Refused

        def value(env):
            v = wrap(a.value(env), T)
            if T == "half":
                v = wrap(a.value(env), "double" if a.kind == "double"
                         else "float").astype(np.float16).astype(np.float32)
            return v
        return Node(code, T, value, bound_in(a, "float" if T == "half"
                                             else T))

    def op_add_sat(self, name, a, depth):
        b = self.second(a, depth)
        if a.kind in REALS or b.kind in REALS:
            raise Refused
        T = a.kind if a.kind == b.kind else common(a.kind, b.kind)
        f = {"add_sat": lambda x, y: saturating(x, y, 1),
             "sub_sat": lambda x, y: saturating(x, y, -1),
             "hadd": lambda x, y: halves(x, y, 0),
             "rhadd": lambda x, y: halves(x, y, 1)}[name]
        return Node(f"{a.code}:{name}({b.code})", T, lambda env: f(
            wrap(a.value(env), T), wrap(b.value(env), T)), 2.0 ** 64)

    op_sub_sat = op_hadd = op_rhadd = op_add_sat

    def op_isnan(self, name, a, depth):
        if a.kind not in REALS:
            raise Refused
        return Node(f"{a.code}:isnan()", "int",
                    lambda env: np.isnan(a.value(env)).astype(np.int32), 1)

    def root(self):
        e = self.tree(3)
        if self.rng.random() < 0.2 and e.kind in REALS:
            b = self.leaf(self.rng.choice(REALS))
            T, code = common(e.kind, b.kind), f"({e.code} / {b.code})"
            try:
                bound_in(e, T)
            except Refused:
                return e
            return Node(code, T, lambda env: wrap(e.value(env), T) / wrap(
                b.value(env), T), 0, False)
        return e


def draw(rng, kind, count):
    """Elements: near zero, near the ends, or any bits; reals by quarters."""
    if kind in REALS:
        special = [np.inf, -np.inf, np.nan, -0.0]
        return np.array([rng.choice(special) if rng.random() < 0.03
                         else rng.randint(-64, 64) / 4
                         for _ in range(count)]).astype(DTYPES[kind])
    low, high = limits(kind)
    return np.array([[rng.randint(low, high), high - rng.randint(0, 2),
                      low + rng.randint(0, 2),
                      max(low, min(high, rng.randint(-9, 9)))]
                     [rng.randrange(4)] for _ in range(count)],
                    object).astype(DTYPES[kind])


def lua(value):
    if isinstance(value, int):
        value = value - (1 << 64) if value >= 1 << 63 else value
        return "math.mininteger" if value == -1 << 63 else str(value)
    return repr(value)


def number(rng, kind):
    if kind in REALS:
        return rng.randint(-64, 64) / 4
    return int(draw(rng, kind, 1)[0])


def stored(value, kind):
    return value.astype(np.float16 if kind == "half" else DTYPES[kind])


def write(form, e, rng, text, data):
    shape = np.broadcast_shapes((1,), *(VIEWS[v][1](np.empty(
        VIEWS[v][0]), 1).shape for _, v in form.leaves))
    text.write("{code = [[local x, k = ... return %s]], kind = \"%s\",\n"
               "exact = %s, shape = {%s}, operands = {" % (
                   e.code, e.kind, str(e.exact).lower(),
                   ", ".join(map(str, shape))))
    for kind, view in form.leaves:
        text.write('{"%s", {%s}, "%s"}, ' % (
            kind, ", ".join(map(str, VIEWS[view][0])),
            view.split(":row")[0].split(":column")[0]
            .replace("{{", "{").replace("}}", "}")))
    text.write("}, cases = {\n")
    for _ in range(EACH):
        by, leaves = rng.randint(1, 5), []
        constants = [number(rng, kind) for kind in form.constants]
        for kind, view in form.leaves:
            size, look = VIEWS[view]
            a = draw(rng, kind, int(np.prod(size))).reshape(size)
            data.write(stored(a, kind).tobytes())
            leaves.append(look(a, by))
        found = e.value((leaves, constants))
        data.write(np.ascontiguousarray(np.broadcast_to(
            stored(found, e.kind), shape)).tobytes())
        text.write("{by = %d, k = {%s}},\n" % (
            by, ", ".join(map(lua, constants))))
    text.write("}},\n")


def main(seed, count, out):
    rng = random.Random(seed)
    np.seterr(all="ignore")
    with open(out + ".lua", "w") as text, open(out + ".bin", "wb") as data:
        text.write("return {\n")
        made = 0
        while made < count:
            form = Form(rng, made // EACH % 2 == 1)
            e = form.root()
            if e.code[0] != "x" or "(" in e.code or ":" in e.code:
                write(form, e, rng, text, data)
                made += EACH
        text.write("}\n")


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
