"""Joint margins of several classes by cvxopt and scipy, on small random problems: margin/testdata/joint.json.

    python3 scripts/joint_fixture.py > margin/testdata/joint.json
"""
import json
import numpy as np
from cvxopt import matrix, solvers, spmatrix
from scipy.optimize import linprog

solvers.options.update(show_progress=False, abstol=1e-13, reltol=1e-13, feastol=1e-12)


def pairs(x, y, k, free):
    """A row for each example and other class; with free intercepts, a column for that of each class but the first."""
    n, d = x.shape
    rows = []
    for i in range(n):
        for c in range(k):
            if c == y[i]:
                continue
            row = np.zeros((k, d))
            row[y[i]], row[c] = x[i], -x[i]
            b = np.zeros(k)
            b[y[i]], b[c] = 1, -1
            rows.append(np.concatenate([row.ravel(), b[1:]]) if free else row.ravel())
    return np.array(rows)


def margin(a, m, p):
    """1 / min ||w||_p subject to a w >= 1, of the first m of its coordinates."""
    n, d = a.shape
    if p == 1:  # w = u - v
        c = np.concatenate([np.ones(2 * m), np.zeros(d - m)])
        g = np.hstack([a[:, :m], -a[:, :m], a[:, m:]])
        r = linprog(c, -g, -np.ones(n), bounds=[(0, None)] * (2 * m) + [(None, None)] * (d - m), method='highs')
        return 1 / r.fun
    if p == np.inf:  # maximise t subject to |w| <= 1
        r = linprog(np.append(np.zeros(d), -1), np.hstack([-a, np.ones((n, 1))]), np.zeros(n),
                    bounds=[(-1, 1)] * m + [(None, None)] * (d - m + 1), method='highs')
        return -r.fun
    g, h = matrix(-a), matrix(-np.ones(n))
    if p == 2:
        q = matrix(np.diag([1.0] * m + [0.0] * (d - m)))
        return 1 / np.linalg.norm(np.array(solvers.qp(q, matrix(np.zeros(d)), g, h)['x']).ravel()[:m])
    if p < 2:  # the norm has no second derivative at 0, its dual has: the margin is the least ||a' x||_q
        u, q = a[:, :m] / np.abs(a).max(), p / (p - 1)

        def dual(x=None, z=None):
            if x is None:
                return 0, matrix(1.0 / n, (n, 1))
            v = u.T @ np.array(x).ravel()
            grad = u @ (np.sign(v) * np.abs(v) ** (q - 1))
            val = matrix([(np.abs(v) ** q).sum() / q])
            if z is None:
                return val, matrix(grad[None, :])
            return val, matrix(grad[None, :]), matrix(z[0] * (q - 1) * (u * np.abs(v) ** (q - 2)) @ u.T)
        equal = np.vstack([np.ones(n), a[:, m:].T])  # what the intercepts need
        x = solvers.cp(dual, matrix(-np.eye(n)), matrix(np.zeros(n)), A=matrix(equal),
                       b=matrix(np.append(1.0, np.zeros(d - m))))['x']
        return np.linalg.norm(a[:, :m].T @ np.array(x).ravel(), q)
    start = matrix(np.array(solvers.qp(matrix(np.diag([1.0] * m + [0.0] * (d - m))), matrix(np.zeros(d)), g, h)['x']))

    def f(w=None, z=None):
        if w is None:
            return 0, start
        v = np.array(w).ravel()[:m]
        s = np.linalg.norm(np.array(start).ravel()[:m], p) ** p
        grad = np.append(np.sign(v) * np.abs(v) ** (p - 1) / s, np.zeros(d - m))
        val = (np.abs(v) ** p).sum() / p / s
        if z is None:
            return matrix([val]), matrix(grad[None, :])
        hess = np.append(z[0] * (p - 1) * np.maximum(np.abs(v), 1e-10) ** (p - 2) / s, np.zeros(d - m))
        return matrix([val]), matrix(grad[None, :]), spmatrix(hess, range(d), range(d))
    w = np.array(solvers.cp(f, g, h)['x']).ravel()
    return (a @ w).min() / np.linalg.norm(w[:m], p)


out = []
for seed, (n, d, k) in enumerate([(9, 3, 3), (16, 5, 4), (12, 14, 3)]):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(k, d))
    centre *= 3 / np.linalg.norm(centre, axis=1)[:, None]
    y = np.arange(n) % k
    x = np.round(centre[y] + 0.4 * rng.normal(size=(n, d)), 2)
    case = {'x': x.tolist(), 'class': y.tolist(), 'classes': k, 'margins': []}
    for p in [1, 1.5, 2, 3, np.inf]:
        case['margins'].append({'p': 'inf' if p == np.inf else p,
                                'margin': margin(pairs(x, y, k, False), d * k, p),
                                'intercept': margin(pairs(x, y, k, True), d * k, p)})
    out.append(case)
print(json.dumps(out))
