import os, shutil
os.makedirs("from/inner")
with open("from/inner/file", "w") as file: file.write("text")
shutil.copytree("from", "to")
shutil.copy("from/inner/file", "copy")
os.chmod("copy", 0o600)
print(open("to/inner/file").read(), oct(os.stat("copy").st_mode & 0o777))
