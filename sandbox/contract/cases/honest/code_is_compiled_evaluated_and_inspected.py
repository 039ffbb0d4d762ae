import ast, dis, io, tokenize, types
code = compile("x = [n * n for n in range(4)]", "<made>", "exec")
names = {}
exec(code, names)
print(names["x"], eval("sum(x)", names), ast.unparse(ast.parse("a  =  1;b=2")))
print(types.FunctionType(compile("5", "", "eval"), {})(), "RETURN" in dis.Bytecode("1").dis())
print([token.string for token in tokenize.generate_tokens(io.StringIO("a+1").readline)][:3])
print(type("Made", (), {"value": 3})().value, isinstance(code, types.CodeType))
