try:
    input()
except EOFError:
    print('end')
