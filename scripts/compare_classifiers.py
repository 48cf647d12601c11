"""Accuracy and time of `bregman fit` without options beside scikit-learn, on the same folds of the same tables.

    python3 scripts/compare_classifiers.py --bregman ./bregman
    python3 scripts/compare_classifiers.py --sets wine,diabetes,noisy --repetitions 2 --json
    python3 scripts/compare_classifiers.py --bregman ./bregman --options "--p auto"

Each repetition deals a table out to five folds anew, stratified for classes. A fold's training and test rows are written
as CSV for bregman; the methods of scikit-learn get the same rows as arrays, behind a StandardScaler. Times are those of
the fit alone: `seconds` of bregman, wall time of fit() in scikit-learn. Both sides run on --threads cores, and take
turns. A standard error is that over all folds; "behind" is the mean difference to the best other method, with the
standard error of the difference fold by fold. Folds share training rows, so that both are a little too small.
"""
import argparse, json, os, subprocess, sys, tempfile, time, warnings

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument('--bregman', default='bregman', help='the program')
arguments.add_argument('--options', default='', help='of bregman fit')
arguments.add_argument('--sets', default='breast_cancer,digits,iris,wine,diabetes')
arguments.add_argument('--repetitions', type=int, default=5)
arguments.add_argument('--numbers', action='store_true', help='class labels as numbers instead of text')
arguments.add_argument('--only', help='methods to run, with commas; default all')
arguments.add_argument('--threads', type=int, default=1)
arguments.add_argument('--json', action='store_true')
a = arguments.parse_args()
for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'GOMAXPROCS'):
    os.environ[name] = str(a.threads)
warnings.filterwarnings('ignore')

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

CLASSIFIERS = {
    'LogisticRegression': lambda: LogisticRegression(max_iter=1000),
    'LogisticRegressionCV': lambda: LogisticRegressionCV(cv=5, max_iter=1000),
    'LR-CV by log-loss': lambda: LogisticRegressionCV(cv=5, max_iter=1000, scoring='neg_log_loss'),
    'LinearSVC': lambda: LinearSVC(dual=False),
    'LinearSVC, C by CV': lambda: GridSearchCV(LinearSVC(dual=False), {'C': np.logspace(-4, 2, 7)}, cv=5),
    'L1': lambda: LogisticRegression(penalty='l1', solver='liblinear', max_iter=1000),
    # With C = 10 liblinear takes minutes for one fit of digits.
    'L1, C by CV': lambda: GridSearchCV(LogisticRegression(penalty='l1', solver='liblinear', tol=1e-3, max_iter=50),
                                        {'C': np.logspace(-2, 0.5, 6)}, cv=5),
}
REGRESSIONS = {'RidgeCV': lambda: RidgeCV(alphas=np.logspace(-3, 4, 22)), 'LassoCV': lambda: LassoCV(cv=5)}
# Beyond the tables that come with scikit-learn: what a choice that fits these well could do badly on.
MADE = {
    'noisy': dict(n_samples=300, n_features=20, n_informative=5, flip_y=0.2, class_sep=0.7, random_state=1),
    'wide': dict(n_samples=120, n_features=400, n_informative=10, class_sep=1.5, random_state=2),
    'few': dict(n_samples=60, n_features=10, n_informative=4, flip_y=0.1, random_state=3),
    'five': dict(n_samples=500, n_features=20, n_informative=8, n_classes=5, random_state=4),
    'rare': dict(n_samples=600, n_features=20, n_informative=6, weights=[0.93], flip_y=0.02, random_state=5),
    'redundant': dict(n_samples=400, n_features=60, n_informative=6, n_redundant=40, random_state=6),
    'easy': dict(n_samples=200, n_features=30, n_informative=10, class_sep=3, n_clusters_per_class=1, random_state=7),
    'many': dict(n_samples=4000, n_features=40, n_informative=15, n_classes=3, random_state=8),
}


def load(name):
    if name in MADE:
        return datasets.make_classification(**MADE[name])
    return getattr(datasets, 'load_' + name)(return_X_y=True)


def write(path, x, y, names):
    with open(path, 'w') as f:
        f.write(','.join('column%d' % j for j in range(x.shape[1])) + ',label\n')
        for row, label in zip(x, y):
            f.write(','.join(map(repr, map(float, row))) + ',' + names(label) + '\n')


def bregman(folder, x, y, held, truth, classes):
    names = (lambda v: 'class %s' % v) if classes and not a.numbers else (lambda v: repr(float(v)))
    train, test = os.path.join(folder, 'train.csv'), os.path.join(folder, 'test.csv')
    write(train, x, y, names)
    write(test, held, truth, names)
    out = subprocess.run([a.bregman, 'fit', '--data', train, '--test', test, '--json', '--runs', ''] + a.options.split(),
                         capture_output=True, text=True)
    if not out.stdout:
        sys.exit(out.stderr)
    r = json.loads(out.stdout)
    own = dict(seconds=r['seconds'], total=r['total_seconds'], penalty=r.get('penalty', 0), p=r['p'])
    if classes:
        return dict(own, score=100 * r['test_accuracy'], log_loss=r.get('test_log_loss'))
    return dict(own, score=100 * r['test_r2'], rmse=r['test_rmse'])


def scikit(method, x, y, held, truth, classes):
    pipe = make_pipeline(StandardScaler(), method())
    begin = time.perf_counter()
    pipe.fit(x, y)
    r = dict(seconds=time.perf_counter() - begin)
    answers = pipe.predict(held)
    if not classes:
        return dict(r, score=100 * r2_score(truth, answers), rmse=float(np.sqrt(np.mean((answers - truth) ** 2))))
    r['score'] = 100 * float(np.mean(answers == truth))
    if hasattr(pipe, 'predict_proba'):
        r['log_loss'] = log_loss(truth, pipe.predict_proba(held), labels=pipe.classes_)
    return r


def run(name):
    x, y = load(name)
    classes = name != 'diabetes'
    methods = CLASSIFIERS if classes else REGRESSIONS
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for repetition in range(a.repetitions):
            deal = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=repetition)
            for train, test in deal.split(x, y):
                data = x[train], y[train], x[test], y[test], classes
                results.setdefault('bregman', []).append(bregman(folder, *data))
                for m, method in methods.items():
                    if a.only is None or m in a.only.split(','):
                        results.setdefault(m, []).append(scikit(method, *data))
    return results


def summary(results):
    mean = lambda m, key: float(np.mean([r[key] for r in results[m]])) if results[m][0].get(key) is not None else None
    out = {}
    for m, rs in results.items():
        score = np.array([r['score'] for r in rs])
        rival = max((o for o in results if o != m), key=lambda o: mean(o, 'score'), default=m)
        behind = np.array([r['score'] for r in results[rival]]) - score
        error = lambda v: float(v.std(ddof=1) / np.sqrt(len(v)))
        out[m] = dict(score=float(score.mean()), error=error(score), rival=rival, behind=float(behind.mean()),
                      behind_error=error(behind), **{k: mean(m, k) for k in ('log_loss', 'rmse', 'seconds', 'total')})
    return out


tables, found = {}, {}
for name in a.sets.split(','):
    tables[name] = run(name)
    methods = found[name] = summary(tables[name])
    if a.json:
        continue
    print('\n%-14s %-21s %15s  %9s  %9s  %8s  behind the best other' % (name, '', '%', 'log-loss', 'ms', 'time'))
    for m, r in sorted(methods.items(), key=lambda v: -v[1]['score']):
        quality = r['log_loss'] if r['rmse'] is None else r['rmse']
        print('%-14s %-21s %7.2f ± %5.2f  %9s  %9.1f  %8.2f  %5.2f ± %.2f (%s)' % (
            '', m, r['score'], r['error'], '-' if quality is None else '%.4f' % quality, 1000 * r['seconds'],
            r['seconds'] / methods['bregman']['seconds'], r['behind'], r['behind_error'], r['rival']), flush=True)
if a.json:
    json.dump({'summary': found, 'folds': tables}, sys.stdout, indent=1)
    sys.exit()
sets = [name for name in found if name != 'diabetes']
if len(sets) > 1:
    print('\nmean over', ', '.join(sets))
    for m in found[sets[0]]:
        print('%-21s %6.2f %%' % (m, np.mean([found[name][m]['score'] for name in sets])))
