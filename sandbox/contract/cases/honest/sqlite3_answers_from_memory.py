import sqlite3
with sqlite3.connect(":memory:") as db:
    db.execute("create table t (a integer, b text)")
    db.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y"), (3, "x")])
    print(db.execute("select b, sum(a) from t group by b order by b").fetchall())
db.close()
