import os
print(os.getcwd(), flush=True)
for n in range(300): open(f"file {n}", "w").close()
os.symlink("/", "root")
for n in range(1500):
    os.mkdir("d")
    os.chdir("d")
os.chmod(os.environ["HOME"] + "/d", 0)
