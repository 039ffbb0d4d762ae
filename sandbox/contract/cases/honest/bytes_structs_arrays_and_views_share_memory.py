import array, struct
data = bytearray(struct.pack("<Ihd", 7, -1, 0.5))
view = memoryview(data)
view[0:4] = (8).to_bytes(4, "little")
print(struct.unpack("<Ihd", data), view.nbytes, bytes(view[:2]).hex())
numbers = array.array("d", [1, 2, 3])
numbers.extend([4.5])
print(sum(numbers), numbers.itemsize, bytes.fromhex("00ff"), int.from_bytes(b"\1\0", "big"))
