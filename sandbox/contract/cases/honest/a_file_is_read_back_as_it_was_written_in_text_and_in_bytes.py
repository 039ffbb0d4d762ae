import glob, os
with open("lines", "w", newline="") as file: file.writelines(f"{n}\r\n" for n in range(3))
with open("lines", "rb") as file:
    file.seek(-3, os.SEEK_END)
    print(file.read(), file.tell())
with open("lines") as file: print([line.strip() for line in file], glob.glob("li*"))
with open("lines", "r+") as file: file.truncate(1)
print(os.stat("lines").st_size, os.access("lines", os.R_OK), os.path.isfile("none"))
