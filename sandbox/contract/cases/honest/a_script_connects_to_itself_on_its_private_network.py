import asyncio, http.server, socket, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever).start()
for host in ("127.0.0.1", "localhost"):
    with urllib.request.urlopen(f"http://{host}:{server.server_port}/path") as answer:
        print(answer.status, answer.read())
server.shutdown()
server.server_close()
async def main():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        writer.close()
    async with await asyncio.start_server(answer, "localhost", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(b"line\n")
        line = await reader.read()
        writer.close()
        return line
print(asyncio.run(main()))
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0))
other.sendto(b"datagram", one.getsockname())
print(one.recvfrom(99)[0])
one.close()
other.close()
