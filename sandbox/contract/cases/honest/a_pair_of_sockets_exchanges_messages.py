import socket, threading
one, other = socket.socketpair()
with one, other:
    one.settimeout(5)
    one.sendall(b"ping")
    print(other.recv(10))
    thread = threading.Thread(target=other.sendall, args=(b"x" * 1_000_000,))
    thread.start()
    received = 0
    while received < 1_000_000: received += len(one.recv(65536))
    thread.join()
print(received)
