import locale, string, textwrap
print(f"{1234567.891:,.2f} {255:#x} {0.25:.0%} {'mid':^9}| {3!r:>4} {1e100:g}")
print(string.Template("$who has $$${n}").substitute(who="Ann", n=3), "{0[a]}".format({"a": 1}))
print(textwrap.fill("the quick brown fox", 10), textwrap.dedent("  a\n   b"), sep="\n")
print(locale.setlocale(locale.LC_ALL, "C"), "%05.1f|%-4s|" % (3.14159, "x"), "ß".upper())
