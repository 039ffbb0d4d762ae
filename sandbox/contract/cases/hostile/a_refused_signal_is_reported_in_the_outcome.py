import os; os.kill(os.getppid(), 0)
