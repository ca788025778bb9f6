import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Address families that the filter allows, because the network namespace isolates their sockets. Sockets of other
 * families can reach the machine or its hypervisor from every namespace (AF_VSOCK), or are of no use for a governed
 * command.
 */
const FAMILIES = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const

const AF_UNSUPPORTED = 97
const NOT_IMPLEMENTED = 38

/** System call numbers of one kernel ABI. See `seccomp(2)`, `socketcall(2)`. */
type Abi = {
  readonly audit: number
  readonly socket: number
  readonly socketpair: number
  readonly socketcall?: number
  /** Bit in the system call number. A set bit marks a call of another ABI that has the same `audit` value. */
  readonly otherAbi?: number
}
/**
 * Number of `io_uring_setup`, the same in every ABI. The filter refuses this call, because io_uring can create sockets.
 */
const IO_URING_SETUP = 425

type Machine = { readonly prctl: number; readonly abis: readonly Abi[] }

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    prctl: 157,
    abis: [
      { audit: 0xc000_003e, socket: 41, socketpair: 53, otherAbi: 0x4000_0000 },
      { audit: 0x4000_0003, socket: 359, socketpair: 360, socketcall: 102 },
    ],
  },
  arm64: {
    prctl: 167,
    abis: [
      { audit: 0xc000_00b7, socket: 198, socketpair: 199 },
      { audit: 0x4000_0028, socket: 281, socketpair: 288 },
    ],
  },
}

/**
 * Returns the prefix of a command line. The prefix installs a seccomp filter and executes the rest of the command
 * line, which can then only create sockets of the allowed address families. Throws `conflict` on architectures
 * without an entry in `MACHINES`.
 */
export function seccompCommand(architecture: string = process.arch): readonly string[] {
  const machine = MACHINES[architecture]
  if (machine === undefined) {
    throw new ChaperoneError('conflict', {
      detail: `Capture does not support ${architecture} processors. Run the command without --capture; then clients that use the proxy variables are governed.`,
    })
  }
  const filter = machine.abis.flatMap(sectionOf)
  // The last instruction refuses every system call of an unlisted ABI.
  const program = [load(ARCHITECTURE), ...filter, refuse(NOT_IMPLEMENTED)]
  return ['perl', '-e', SCRIPT, String(machine.prctl), Buffer.concat(program).toString('hex')]
}

/** Perl script that calls prctl with PR_SET_NO_NEW_PRIVS, then with PR_SET_SECCOMP and SECCOMP_MODE_FILTER. */
const SCRIPT = `
my $prctl = shift(@ARGV) + 0;
my $filter = pack('H*', shift(@ARGV));
my $program = pack('S x![P] P', length($filter) / 8, $filter);
if (syscall($prctl, 38, 1, 0, 0, 0) != 0 || syscall($prctl, 22, 2, $program, 0, 0) != 0) {
  print STDERR "chaperone: the command cannot be isolated: the kernel does not support seccomp filters: $!\\n";
  exit 125;
}
exec { $ARGV[0] } @ARGV;
exit 127;
`

/**
 * Byte offsets in `struct seccomp_data`. Arguments of a system call have 64 bits. The filter reads only the lower 32
 * bits of the address family, because the kernel ignores the upper bits.
 */
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16

const ALLOW = 0x7fff_0000
const ERRNO = 0x0005_0000

/**
 * Returns the filter instructions for one ABI. For a system call of another ABI, the filter jumps past these
 * instructions. For a call of this ABI, these instructions allow or refuse the call.
 */
function sectionOf({ audit, socket, socketpair, socketcall, otherAbi }: Abi): readonly Buffer[] {
  const byFamily = [
    load(FIRST_ARGUMENT),
    ...Object.values(FAMILIES).flatMap((family) => [unless(family, 1), allow()]),
    refuse(AF_UNSUPPORTED),
  ]
  // SYS_SOCKET and SYS_SOCKETPAIR of socketcall are refused, because the family is in memory, which a filter cannot
  // read.
  const byCall = [
    load(FIRST_ARGUMENT),
    unless(1, 1),
    refuse(NOT_IMPLEMENTED),
    unless(8, 1),
    refuse(NOT_IMPLEMENTED),
    allow(),
  ]
  const body = [
    load(NUMBER),
    ...(otherAbi === undefined ? [] : [unlessBit(otherAbi, 1), refuse(NOT_IMPLEMENTED)]),
    unless(IO_URING_SETUP, 1),
    refuse(NOT_IMPLEMENTED),
    ...(socketcall === undefined ? [] : [unless(socketcall, byCall.length), ...byCall]),
    unless(socketpair, byFamily.length),
    ...byFamily,
    unless(socket, byFamily.length),
    ...byFamily,
    allow(),
  ]
  return [unless(audit, body.length), ...body]
}

function load(offset: number): Buffer {
  return instruction({ code: 0x20, value: offset })
}

/** Returns an instruction that skips the next `count` instructions unless the loaded word equals the value. */
function unless(value: number, count: number): Buffer {
  return instruction({ code: 0x15, otherwise: count, value })
}

function unlessBit(value: number, count: number): Buffer {
  return instruction({ code: 0x45, otherwise: count, value })
}

function allow(): Buffer {
  return instruction({ code: 0x06, value: ALLOW })
}

function refuse(errno: number): Buffer {
  return instruction({ code: 0x06, value: ERRNO | errno })
}

type Instruction = { readonly code: number; readonly otherwise?: number; readonly value: number }

/** Encodes one `struct sock_filter` in little-endian, the byte order of all supported architectures. */
function instruction({ code, otherwise = 0, value }: Instruction): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(otherwise, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}
