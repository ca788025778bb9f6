"""Tries, from inside `chaperone run --capture`, to reach what is outside. Prints one JSON object: attempt -> what leaked.

Argument: a file with one JSON object {folders: [path...], files: [path...], sockets: [path...], abstract: name, pids: [n...],
ports: [n...], descriptors: [n...], marks: [text...], shared: path, terminal: path}.
"""
import ctypes, glob, json, mmap, os, platform, socket, stat, struct, subprocess, sys, tempfile

with open(sys.argv[1]) as given:
    facts = json.load(given)
marks = [mark.encode() for mark in facts["marks"]]
results = {}
libc = ctypes.CDLL(None, use_errno=True)
scratch = tempfile.mkdtemp()


def attempt(name, work):
    """`work` returns what it got: bytes with a mark, or True, is a leak."""
    try:
        got = work()
    except Exception as error:  # refused or absent
        results[name] = None
        return
    if isinstance(got, (bytes, str)):
        data = got if isinstance(got, bytes) else got.encode()
        leaked = [mark.decode() for mark in marks if mark in data]
        results[name] = leaked or None
    else:
        results[name] = True if got else None


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def shell(command):
    return subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, timeout=10).stdout


def link(make, path):
    target = os.path.join(scratch, f"link{len(results)}")
    make(path, target)
    return read(target)


for path in facts["files"]:
    folder = os.path.dirname(path)
    attempt(f"read {path}", lambda: read(path))
    attempt(f"symbolic link to {path}", lambda: link(os.symlink, path))
    attempt(f"hard link to {path}", lambda: link(os.link, path))
    attempt(f"through a parent of {path}", lambda: read(f"{folder}/../{os.path.basename(folder)}/{os.path.basename(path)}"))
    attempt(f"rename {path}", lambda: (os.rename(path, f"{scratch}/moved"), read(f"{scratch}/moved"))[1])
    attempt(f"/proc/self/root of {path}", lambda: read(f"/proc/self/root{path}"))
    for pid in ["1", "2", str(os.getppid()), *map(str, facts["pids"])]:
        attempt(f"/proc/{pid}/root of {path}", lambda: read(f"/proc/{pid}/root{path}"))
        attempt(f"/proc/{pid}/cwd of {path}", lambda: read(f"/proc/{pid}/cwd/{os.path.basename(path)}"))
    for how in [
        f"umount {folder}; cat {path}",
        f"umount -l {folder}; cat {path}",
        f"mount --move {folder} {scratch}; cat {path}",
        f"mount --bind / {scratch}; cat {scratch}{path}",
    ]:
        attempt(f"as this user: {how}", lambda: shell(how))
        attempt(f"in a new user namespace: {how}", lambda: shell(f"unshare --user --map-root-user --mount sh -c '{how}'"))
    overlay = f"mkdir -p {scratch}/m; mount -t overlay overlay -o lowerdir={os.path.dirname(folder)}:{scratch} {scratch}/m; cat {scratch}/m/*/{os.path.basename(path)}"
    attempt(f"overlay over the parent of {folder}", lambda: shell(f"unshare --user --map-root-user --mount sh -c '{overlay}'"))
    attempt(f"a new /proc and its processes for {path}", lambda: shell(f"unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c 'cat /proc/*/root{path}'"))
    attempt(f"nsenter for {path}", lambda: shell(f"nsenter -t 1 -m cat {path}; nsenter -t {os.getppid()} -m -U cat {path}"))
    attempt(f"chroot for {path}", lambda: shell(f"chroot /proc/1/root cat {path}"))

for folder in facts["folders"]:
    attempt(f"list {folder}", lambda: bool(os.listdir(folder)))
    attempt(f"write into {folder}", lambda: open(f"{folder}/planted", "w").close() or True)
    attempt(f"change the mode of {folder}", lambda: (os.chmod(folder, 0o700), True)[1])
    attempt(f"change into {folder}", lambda: (os.chdir(folder), bool(os.listdir(".")))[1])

attempt("every environment", lambda: b"".join(read(f) for f in glob.glob("/proc/[0-9]*/environ")))
attempt("every command line", lambda: b"".join(read(f) for f in glob.glob("/proc/[0-9]*/cmdline")))
attempt("own environment", lambda: json.dumps(dict(os.environ)))


def every_descriptor():
    found = b""
    for entry in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            # A pipe would be waited for.
            if not stat.S_ISREG(os.stat(entry).st_mode):
                continue
            found += os.readlink(entry).encode() + read(entry)
        except OSError:
            pass
    return found


attempt("every descriptor", every_descriptor)
for number in facts["descriptors"]:
    attempt(f"descriptor {number}", lambda: os.pread(number, 1 << 16, 0))
    attempt(f"folder of descriptor {number}", lambda: bool(os.listdir(number)))

for pid in facts["pids"]:
    attempt(f"signal to {pid}", lambda: (os.kill(pid, 0), True)[1])
    attempt(f"ptrace of {pid}", lambda: libc.ptrace(16, pid, 0, 0) == 0)
    attempt(f"memory of {pid}", lambda: bool(read(f"/proc/{pid}/mem")))
    attempt(f"maps of {pid}", lambda: bool(read(f"/proc/{pid}/maps")))
    attempt(f"pidfd of {pid}", lambda: libc.syscall(434, pid, 0) >= 0)
    attempt(f"mount namespace of {pid}", lambda: bool(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)))


def reach(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(3)
        client.connect(address)
        return True


for path in facts["sockets"]:
    attempt(f"socket {path}", lambda: reach(socket.AF_UNIX, path))
    attempt(f"link to socket {path}", lambda: (os.link(path, f"{scratch}/s"), reach(socket.AF_UNIX, f"{scratch}/s"))[1])
attempt("abstract socket", lambda: reach(socket.AF_UNIX, "\0" + facts["abstract"]))

def opens(family):
    """Of families that belong to no network namespace, or only to that of the machine: the socket alone is the leak."""
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW]:
        number = libc.socket(family, kind, 0)
        if number >= 0:
            os.close(number)
            return True
    return False


AF_NETLINK = 16
for family in range(64):
    if family not in [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, AF_NETLINK]:
        attempt(f"socket of family {family}", lambda: opens(family))
        attempt(f"socket of family {family} with high bits", lambda: opens(family | 1 << 32))


def compatible(number, first, second):
    """A system call of the 32-bit ABI (x86)."""
    code = b"\x53\xb8" + struct.pack("<I", number) + b"\xbb" + struct.pack("<I", first) + b"\xb9" + struct.pack("<I", second)
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code + b"\x31\xd2\xcd\x80\x5b\xc3")
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(start)()


AF_VSOCK = 40
if platform.machine() == "x86_64":
    attempt("socket by the 32-bit ABI", lambda: compatible(359, AF_VSOCK, socket.SOCK_STREAM) >= 0)
    attempt("pair of sockets by the 32-bit ABI", lambda: compatible(360, AF_VSOCK, socket.SOCK_STREAM) == -14)
    attempt("socketcall by the 32-bit ABI", lambda: compatible(102, 1, 0) == -14)
    attempt("socket by the x32 ABI", lambda: libc.syscall(41 | 0x40000000, AF_VSOCK, socket.SOCK_STREAM, 0) >= 0)
attempt("sockets by io_uring", lambda: libc.syscall(425, 4, ctypes.create_string_buffer(120)) >= 0)
for port in facts["ports"]:
    attempt(f"port {port}", lambda: reach(socket.AF_INET, ("127.0.0.1", port)))
    attempt(f"port {port} by IPv6", lambda: reach(socket.AF_INET6, ("::1", port)))

attempt("shared memory", lambda: read(facts["shared"]))


def terminal(path, flags):
    number = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    return os.read(number, 4096) if flags == os.O_RDONLY else os.write(number, b"typed") > 0


number = os.path.basename(facts["terminal"])
others = f"unshare --user --map-root-user --mount sh -c 'umount /dev/pts; umount -l /dev/pts; cat {facts['terminal']} & sleep 0.3; kill $!'"
for path in [facts["terminal"], f"/dev/../dev/pts/{number}", f"/proc/self/root{facts['terminal']}", f"/proc/1/root{facts['terminal']}"]:
    for flags in [os.O_RDONLY, os.O_WRONLY, os.O_RDWR]:
        attempt(f"terminal {path} with {flags}", lambda: terminal(path, flags))
attempt("terminals of others", lambda: sorted(os.listdir("/dev/pts")) not in [[], ["ptmx"]])
attempt("terminals below their cover", lambda: shell(others))
for path in glob.glob("/dev/tty[0-9]*") + glob.glob("/dev/ttyS*") + glob.glob("/dev/vcs*") + glob.glob("/dev/input/*") + ["/dev/console", "/dev/uinput"]:
    attempt(f"device {path}", lambda: os.isatty(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)))
bundle = os.environ.get("SSL_CERT_FILE", "/nowhere")
for how in ["a", "r+", "w"]:
    attempt(f"open the certificates with mode {how}", lambda: open(bundle, how).close() or True)
attempt("replace the certificates", lambda: (os.rename(bundle, bundle + ".old"), True)[1])
attempt("remount the certificates", lambda: shell(f"mount -o remount,bind,rw {os.path.dirname(bundle)} && echo x > {bundle} && echo {facts['marks'][0]}"))
attempt("block devices", lambda: bool(shell("for d in $(find /dev -type b); do head -c 9 $d; done")))
attempt("make a device", lambda: (os.mknod(f"{scratch}/device", stat.S_IFBLK | 0o600, os.makedev(8, 0)), True)[1])
attempt("core_pattern", lambda: open("/proc/sys/kernel/core_pattern", "w").close() or True)
attempt("sysrq", lambda: open("/proc/sysrq-trigger", "w").close() or True)
attempt("uevent helper", lambda: open("/sys/kernel/uevent_helper", "w").close() or True)
attempt("host name", lambda: libc.sethostname(b"x", 1) == 0)
print(json.dumps(results))
