import re
print(re.findall(r"(?P<word>\w+)@(\w+)", "ann@home bob@work"), re.sub(r"\d+", "#", "a1b22"))
match = re.compile(r"(?ix) (\d{4}) - (\d\d) # a date").search("on 2024-05")
print(match.groups(), match.span(), re.split(r"[,;]\s*", "a, b;c"), re.escape("a.b"))
