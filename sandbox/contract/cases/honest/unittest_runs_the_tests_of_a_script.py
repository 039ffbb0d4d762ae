import io, sys, unittest
from unittest import mock
class Tests(unittest.TestCase):
    def setUp(self): self.value = 2
    def test_sum(self): self.assertEqual(self.value + 2, 4)
    def test_error(self):
        with self.assertRaisesRegex(ValueError, "invalid"): int("x")
    @unittest.expectedFailure
    def test_wrong(self): self.assertIn(1, [])
    def test_mock(self):
        with mock.patch("os.getcwd", return_value="there") as patched:
            import os
            self.assertEqual(os.getcwd(), "there")
        patched.assert_called_once_with()
if __name__ == "__main__":
    runner = unittest.TextTestRunner(stream=io.StringIO())
    result = unittest.main(argv=[""], exit=False, testRunner=runner).result
    print(result.testsRun, result.wasSuccessful(), len(result.expectedFailures))
