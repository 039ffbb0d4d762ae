import codecs, unicodedata
print(unicodedata.normalize("NFD", "é") == "e\u0301", unicodedata.name("ł"), "ŻÓŁĆ".casefold())
print("żó".encode("utf-16-le"), b"\xbf".decode("iso-8859-2"), "\N{SNOWMAN}", ascii("é"))
print(codecs.encode("abc", "rot13"), "x".encode("idna"), b"\xff".decode("utf-8", "replace"))
