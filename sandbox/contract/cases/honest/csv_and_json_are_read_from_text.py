import csv, io, json
rows = list(csv.DictReader(io.StringIO("name,n\nżó,1\n\"a,b\",2\n")))
print(json.dumps(rows, ensure_ascii=False), json.loads("[1.5, null, true, {}]"))
out = io.StringIO()
csv.writer(out).writerow(["x", 'quo"te', 3])
print(out.getvalue().strip())
try:
    json.loads("{")
except json.JSONDecodeError as error:
    print(error.pos)
