import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="+")
parser.add_argument("--times", type=int, default=1)
chosen = parser.parse_args()
print(chosen.names, chosen.times, len(sys.argv))
