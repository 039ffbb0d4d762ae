import sqlite3
db = sqlite3.connect("rows.db")
with db:
    db.execute("create table t (a)")
    db.execute("insert into t values (5)")
db.close()
db = sqlite3.connect("rows.db")
print(db.execute("select a from t").fetchall())
db.close()
