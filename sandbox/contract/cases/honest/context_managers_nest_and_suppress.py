from contextlib import ExitStack, closing, contextmanager, redirect_stdout, suppress
import io
@contextmanager
def tag(name):
    print("<" + name)
    try:
        yield name
    finally:
        print(name + ">")
with suppress(KeyError), ExitStack() as stack:
    stack.enter_context(tag("a"))
    stack.enter_context(tag("b"))
    {}["missing"]
with redirect_stdout(io.StringIO()) as out: print("hidden")
with closing(io.StringIO("x")) as file: print(file.read(), out.getvalue().strip())
