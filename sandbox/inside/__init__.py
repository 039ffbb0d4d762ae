"""What runs inside a jail, around untrusted code: each file needs the standard library and files
of this folder, no more. A fork server imports them; a plain job runs `guest.py` by itself."""
