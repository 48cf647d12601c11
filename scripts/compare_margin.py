"""Exact lp margins by bregman, cvxopt and scipy on the same files, each with its certified gap: the fastest of five runs,
or, of cvxopt, of one that takes a second. bregman is run with its own gap, and with that of the faster of the others.
Needs bregman on PATH.

    python3 scripts/compare_margin.py train.svm.gz ...
"""
import time, gzip, subprocess, json, sys
import numpy as np
from scipy.optimize import minimize
from cvxopt import matrix, solvers, spmatrix
solvers.options['show_progress']=False
solvers.options['abstol']=1e-12; solvers.options['reltol']=1e-12; solvers.options['feastol']=1e-11
def read(path):
    op=gzip.open if path.endswith('gz') else open
    rows=[];ys=[];d=0
    for l in op(path,'rt'):
        t=l.split(); ys.append(float(t[0])); r={int(a):float(b) for a,b in (x.split(':') for x in t[1:])}; rows.append(r); d=max(d,max(r))
    A=np.zeros((len(rows),d))
    for i,r in enumerate(rows):
        for j,v in r.items(): A[i,j-1]=v*(1 if ys[i]>0 else -1)
    return A
def cert(A,p,w,a):
    q=p/(p-1); lo=(A@w).min()/np.linalg.norm(w,p); up=np.linalg.norm(A.T@a,q)/a.sum()
    return lo,up,up/lo-1 if lo>0 else float('inf')
def cvx(A,p):
    n,d=A.shape
    A0=A/np.abs(A).max()
    if p==2:
        K=matrix(A0@A0.T); s=solvers.qp(K,matrix(-np.ones(n)),matrix(-np.eye(n)),matrix(np.zeros(n)))
        a=np.maximum(np.array(s['x']).ravel(),0); return A.T@a,a
    w0=np.linalg.lstsq(A0,np.ones(n),rcond=None)[0]*2
    def F(x=None,z=None):
        if x is None: return 0,matrix(w0)
        w=np.array(x).ravel(); f=(np.abs(w)**p).sum()/p; Df=np.sign(w)*np.abs(w)**(p-1)
        if z is None: return matrix([f]),matrix(Df[None,:])
        H=z[0]*(p-1)*np.maximum(np.abs(w),1e-12)**(p-2)
        return matrix([f]),matrix(Df[None,:]),spmatrix(H,range(d),range(d))
    s=solvers.cp(F,matrix(-A0),matrix(-np.ones(n)))
    return np.array(s['x']).ravel(),np.maximum(np.array(s['zl']).ravel(),0)
def lbfgs(A,p):
    n,d=A.shape; q=p/(p-1); A0=A/np.linalg.norm(A,axis=1).max()
    def f(a):
        v=A0.T@a; nv=np.linalg.norm(v,q)
        if nv==0: return 0.0,-np.ones(n)
        g=nv**(2-q)*np.sign(v)*np.abs(v)**(q-1)
        return 0.5*nv*nv-a.sum(), A0@g-1
    r=minimize(f,np.ones(n)/n,jac=True,method='L-BFGS-B',bounds=[(0,None)]*n,options=dict(maxiter=20000,maxfun=40000,ftol=1e-16,gtol=1e-12))
    a=r.x; v=A.T@a; return np.sign(v)*np.abs(v)**(q-1),a
def ours(path,p,gap=None):
    cmd=['bregman','margin','--data',path,'--p',','.join([str(p)]*3),'--json']
    if gap: cmd+=['--gap','%g'%min(max(gap,1e-10),1e-2)]
    r=json.loads(subprocess.run(cmd,capture_output=True,text=True).stdout)['results']
    return min((x['seconds'],x['gap']) for x in r)
def timed(fn,A,p):
    t=time.time(); w,a=fn(A,p); dt=time.time()-t
    return dt,cert(A,p,w,a)[2]
for path in sys.argv[1:]:
    A=read(path); name=path.split('/')[-1].split('.')[0]
    for p in [1.1,1.5,2,3,6,10]:
        best={}
        for k in range(5):
            best['bregman']=min(best.get('bregman',(9e9,)),ours(path,p))
            for nm,fn in (('cvxopt',cvx),('scipy',lbfgs)):
                if nm=='cvxopt' and (A.shape[1]>2500 and p!=2 or best.get(nm,(0,))[0]>1): continue
                try: best[nm]=min(best.get(nm,(9e9,)),timed(fn,A,p))
                except Exception as e: best[nm]=(9e9,float('inf'))
            other=min((v,n) for n,v in best.items() if n in ('cvxopt','scipy'))
            best['same gap']=min(best.get('same gap',(9e9,)),ours(path,p,other[0][1]))
        show=lambda n: '%.2g s, %.0e'%best[n] if n in best else '-'
        print('| %s | %g | %s | %s | %s | %s | %.2f |'%(name,p,show('bregman'),show('same gap'),show('cvxopt'),show('scipy'),
            best['same gap'][0]/other[0][0]),flush=True)
