import sys, traceback, warnings
def fail(): raise ValueError("why") from KeyError("cause")
try:
    fail()
except ValueError as error:
    text = traceback.format_exc()
    print("direct cause" in text, traceback.extract_tb(error.__traceback__)[-1].name)
    error.add_note("noted")
    print(traceback.format_exception(error)[-1].strip(), sys.exc_info()[0].__name__)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warnings.warn("careful", DeprecationWarning)
print(seen[0].category.__name__, str(seen[0].message))
try:
    raise ExceptionGroup("several", [ValueError(1), TypeError(2)])
except* TypeError as group:
    print("types", group.exceptions)
except* ValueError as group:
    print("values", group.exceptions)
