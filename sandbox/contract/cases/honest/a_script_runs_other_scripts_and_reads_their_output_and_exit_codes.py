import asyncio, os, subprocess, sys
print(subprocess.run(["python3", "other.py", "x"], capture_output=True, text=True, check=True))
print(subprocess.check_output(["python3", "-c", "import theirs; print(theirs.VALUE)"]))
print(subprocess.run([sys.executable, "-c", "exit(3)"], env={}).returncode)
async def main():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(input())", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await process.communicate(b"hello"))[0], process.returncode
print(asyncio.run(main()))
slow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
slow.terminate()
print(slow.wait())
try:
    subprocess.run([sys.executable, "-c", "while True: pass"], timeout=0.5)
except subprocess.TimeoutExpired:
    print("late")
