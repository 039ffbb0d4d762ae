"""Attacks that run longer than their time limit."""


def loop():
    """loop"""
    busy(2)


def loop_ignoring_every_signal():
    """loop, ignoring every signal"""
    import signal
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    busy(2)


def sleep():
    """sleep"""
    time.sleep(2)


def replace_the_handler_of_sigalrm():
    """replace the handler of SIGALRM"""
    import signal
    signal.signal(signal.SIGALRM, lambda *_: signal.setitimer(signal.ITIMER_REAL, 0.05))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGALRM})
    busy(2)
    signal.setitimer(signal.ITIMER_REAL, 0)  # at exit Python restores the default action of SIGALRM


def compute_without_handling_signals():
    """compute without handling signals"""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        7 ** 2_000_000


def catch_every_exception():
    """catch every exception"""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            while time.monotonic() < end:
                pass
        except BaseException:
            continue


def use_the_processor_with_four_threads():
    """use the processor with four threads"""
    import threading
    def work():
        while time.process_time() < 1.8:
            pass
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
