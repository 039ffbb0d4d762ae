import io, logging
stream = io.StringIO()
logging.basicConfig(stream=stream, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("app")
log.info("value %d", 5)
log.debug("hidden")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("caught")
lines = stream.getvalue().splitlines()
print(lines[0], lines[1], lines[-1], sep="\n")
