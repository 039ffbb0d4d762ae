import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], stdout=-1, text=True).stdout)
