import sys, time
sys.path[:0]=["tests/reference","tests/helpers"]
import numpy as np, naive, naive_weighted as nw, problems
from fractions import Fraction
from knnccv.kernel import Task, Labels, Order, constraints_for
from knnccv_variants.weighted import Weighted, weighted_fixed, weighted_stratified, weighted_decide
from knnccv.designs import Subsample, StratifiedSubsample
V=Weighted()
def lists(D,x,ties):
    order=sorted((j for j in range(len(D)) if j!=x), key=lambda j:(D[x][j],j))
    d=np.array([D[x][j] for j in order],float)
    ge=np.arange(1,len(order)+1)
    if ties=="random":
        for i in range(len(order)-2,-1,-1):
            if d[i]==d[i+1]: ge[i]=ge[i+1]
    return Order(np.array(order),ge),d
t0=time.time(); n=0; nans=0; worst=0
for seed in range(int(sys.argv[1]),int(sys.argv[2])):
    p=problems.problem(seed); rng=np.random.default_rng(seed)
    y=p.y; N=len(y); C=int(y.max())+1
    y=np.unique(y,return_inverse=True)[1]; C=int(y.max())+1
    counts=np.bincount(y)
    labels=Labels(y.astype(np.int64),np.empty((0,0)))
    D=p.distances.tolist()
    for strat in (0,1):
        if strat:
            sizes={c:int(rng.integers(0,counts[c]+1)) for c in range(C)}
            if not 0<sum(sizes.values())<N: continue
            listed=naive.stratified(y.tolist(),sizes); train=tuple(sizes.values()); task=Task(train,tuple(int(c) for c in counts),True,1,C)
        else:
            a=int(rng.integers(1,N)); listed=naive.subsample(N,a); task=Task((a,),(N,),False,1,C)
        for w in ["uniform","inverse","dudani","softmax","gaussian","triangular","epanechnikov","biweight","triweight","cosine","ranks"]:
            for bw in ([None,1.3] if w in nw.KERNELS else [None]):
                k=int(rng.choice([1,2,3,5]))
                adaptive=w in nw.KERNELS and bw is None
                kk=k+adaptive
                if kk>task.train_size: continue
                ww=w if w!="ranks" else rng.integers(0,4,k)+ (np.arange(k)==0)
                par=dict(V.parameters,n_neighbors=k,weights=ww,bandwidth=bw)
                if w=="softmax": par["temperature"]=0.7
                cw=None
                if seed%3==0: cw=tuple(float(v) for v in rng.integers(1,4,C))
                par["class_weight"]=cw
                loss=p.loss if seed%4==1 and p.loss.shape==(C,C) else None
                par["loss"]=loss; par["vote_ties"]=["smallest","random"][seed%5==2]
                V.check(task,**par)
                con=constraints_for(task,V.tables(task,**par),n_nearest=V.n_nearest(**par),fields=V.fields)
                for ties in ("index","random"):
                    def score(x,order):
                        ws=nw.weights_of([D[x][j] for j in order],k,ww,par["temperature"],bw)
                        return nw.score_votes(ws,[y[j] for j in order[:k]],y[x],C,cw,loss,par["vote_ties"])
                    exp=nw.per_item(D,listed,score,kk,ties)
                    for x in range(N):
                        if exp[x] is None: continue
                        o,d=lists(D,x,ties)
                        got=(weighted_stratified if strat else weighted_fixed)(o,d,labels,x,con)
                        # decide
                        sub=o.items[:kk]; 
                        gd=weighted_decide(np.array(o.items[:kk]),d[:kk].copy(),labels,x,con)
                        assert gd==score(x,list(o.items[:kk])),(seed,w,x)
                        n+=1
                        if np.isnan(got): nans+=1; assert w=="ranks" and ties=="random"; continue
                        worst=max(worst,abs(got-exp[x]))
                        if abs(got-exp[x])>1e-11: print("BAD",seed,strat,w,bw,k,ties,x,got,exp[x],cw,par["vote_ties"],loss is not None)
print(n,nans,worst,time.time()-t0)
