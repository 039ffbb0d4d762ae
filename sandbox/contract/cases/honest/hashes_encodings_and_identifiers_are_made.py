import base64, binascii, hashlib, hmac, secrets, uuid, zlib
print(hashlib.sha256(b"x").hexdigest()[:16], hashlib.md5(b"x").hexdigest()[:8])
print(hmac.new(b"key", b"x", "sha1").hexdigest()[:8], hmac.compare_digest("a", "a"))
print(base64.b64encode(b"\xff\0"), base64.urlsafe_b64decode("_w=="), binascii.crc32(b"x"))
print(len(secrets.token_hex(8)), uuid.uuid4().version, zlib.adler32(b"x"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "a"), hashlib.blake2b(b"x", digest_size=4).hexdigest())
print(hashlib.pbkdf2_hmac("sha256", b"x", b"salt", 10).hex()[:8])
