def double(n):
    '''Twice as much.

    >>> double(2)
    4
    >>> double("x")
    'xx'
    '''
    return n * 2
import doctest
print(doctest.testmod())
