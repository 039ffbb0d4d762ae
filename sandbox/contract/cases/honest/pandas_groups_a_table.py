import io, pandas
table = pandas.read_csv(io.StringIO("who,n\na,1\nb,2\na,3\n"))
print(table.groupby("who")["n"].sum().to_dict(), table.describe().loc["mean", "n"])
