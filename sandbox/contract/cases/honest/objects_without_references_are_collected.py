import gc, sys, weakref
class Node: pass
one, other = Node(), Node()
one.other, other.other = other, one
gone = weakref.ref(one)
weakref.finalize(one, print, "finalized")
kept = weakref.WeakValueDictionary(other=other)
del one, other
gc.collect()
print(gone(), len(kept), gc.isenabled(), sys.getrefcount(object()) > 0)
