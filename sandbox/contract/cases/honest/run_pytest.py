import contextlib, io, os, pytest
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
class Seen:
    def __init__(self): self.passed, self.others = 0, []
    def pytest_runtest_logreport(self, report):
        if report.passed: self.passed += report.when == "call"
        else: self.others.append((report.nodeid, report.longreprtext[-300:]))
seen = Seen()
with contextlib.redirect_stdout(io.StringIO()):
    status = pytest.main(["-q", "-p", "no:cacheprovider", "--capture=fd", "test_it.py"], [seen])
print(int(status), seen.passed, seen.others)
