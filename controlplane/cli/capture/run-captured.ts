import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { captureRules } from '../../../core/capture/rules.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { signalChildren, spawnCommand } from '../run/spawn-command.ts'
import type { DataFolder } from '../state/data-folder.ts'
import { QUERY_TIMEOUT_S } from './dns-query.ts'
import { startForwarder } from './forwarder.ts'
import { assertNotMasked, closeInheritedDescriptors, isolationCommand, maskedPaths } from './isolation.ts'
import { openLocalPorts } from './local-ports.ts'
import { assertCaptureSupported, NAMESERVER, namespaceCommand, toolPath } from './namespace.ts'
import { seccompCommand } from './seccomp-filter.ts'

/** Says to our own program which part inside the namespaces it is; the command never sees it. */
const INSIDE_VARIABLE = 'CHAPERONE_INSIDE'
const Inside = z.discriminatedUnion('part', [
  /** `file` holds a `Forwarder`: Linux limits one variable to 128 KiB. It is in the data folder, which no command can read or change. */
  z.object({ part: z.literal('forwarder'), file: z.string() }),
  /** The first process of the command's namespace: starts the command, passes signals on, reaps what is left. */
  z.object({ part: z.literal('init'), path: z.string() }),
])
type Inside = z.infer<typeof Inside>
const Forwarder = z.object({
  agent: z.string(),
  key: z.string(),
  socket: z.string(),
  path: z.string(),
  uid: z.number(),
  gid: z.number(),
  cwd: z.string(),
  trustDir: z.string(),
  covers: z.array(z.string()),
  localPorts: z.array(z.object({ port: z.number(), path: z.string() })),
})
type Forwarder = z.infer<typeof Forwarder>

export type CapturedRun = {
  readonly agent: string
  readonly key: string
  readonly folder: DataFolder
  /** Folders besides the data folder that the command must not see. */
  readonly hidden: readonly string[]
  readonly command: readonly string[]
  /** Ports of loopback that the command reaches, without rules and records. */
  readonly localPorts?: readonly number[]
  /** Returns what the command gets; certificates are in the folder given, which it may only read. */
  readonly env: (trustDir: string) => NodeJS.ProcessEnv
  /** Which tools and temporary folder are used. */
  readonly ownEnv: NodeJS.ProcessEnv
}

/**
 * Runs a command in namespaces of its own: every connection is the agent's, and the data folder, other processes and
 * the Unix sockets of this machine do not exist. Resolves with its exit code.
 */
export async function runCaptured(run: CapturedRun): Promise<number> {
  const { agent, key, folder, command, ownEnv } = run
  assertCaptureSupported(ownEnv)
  // Throws before anything is made.
  seccompCommand()
  const socket = folder.captureSocket
  if (!existsSync(socket)) throw noSocket(socket)
  const hidden = [folder.root, ...run.hidden]
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path))
  const cwd = process.cwd()
  const covers = maskedPaths(hidden)
  assertNotMasked(cwd, covers)
  const trustDir = realpathSync(mkdtempSync(join(tmpdir(), 'chaperone-trust-')))
  const insideDir = mkdtempSync(join(realpathSync(folder.gateway), 'chaperone-inside-'))
  const local = await openLocalPorts(folder.gateway, run.localPorts ?? [])
  try {
    const env = run.env(trustDir)
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
    const files = writeNetworkFiles(trustDir)
    const file = join(insideDir, 'forwarder.json')
    const inside: Inside = { part: 'forwarder', file }
    const forwarder: Forwarder = {
      ...{ agent, key, socket, uid, gid, cwd, trustDir },
      path: env['PATH'] ?? '',
      covers: [...covers],
      localPorts: [...local.ports],
    }
    writeFileSync(file, JSON.stringify(forwarder), { mode: 0o600 })
    closeInheritedDescriptors()
    const { program, args } = namespaceCommand({ uid, ...files, command: ownCommand(command) })
    return await spawnCommand(program, args, {
      ...env,
      PATH: toolPath(ownEnv),
      [INSIDE_VARIABLE]: JSON.stringify(inside),
    })
  } finally {
    local.close()
    for (const dir of [trustDir, insideDir]) rmSync(dir, { recursive: true, force: true })
  }
}

/** The parts inside: null when this process is none of them. Resolves with the command's exit code. */
export async function runNamespaceProcess(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number | null> {
  const text = env[INSIDE_VARIABLE]
  if (text === undefined) return null
  const inside = Inside.parse(JSON.parse(text))
  const { [INSIDE_VARIABLE]: _own, ...rest } = env
  if (inside.part === 'init') {
    const [program = '', ...args] = command
    return spawnCommand(program, args, { ...rest, PATH: inside.path })
  }
  const given = takeForwarder(inside.file)
  const { agent, key, socket, path, localPorts } = given
  const forwarder = await startForwarder({ agent, key, socketPath: socket, localPorts })
  const init: Inside = { part: 'init', path }
  const { program, args } = isolationCommand({ ...given, command: ownCommand(command) })
  const ownEnv = { ...rest, [INSIDE_VARIABLE]: JSON.stringify(init) }
  // unshare ignores signals while its child runs.
  const code = await spawnCommand(program, args, ownEnv, { deliver: signalChildren })
  forwarder.close()
  return code
}

/** The file holds a key: the command, which is started after this, must not find it. */
function takeForwarder(file: string): Forwarder {
  const forwarder = Forwarder.parse(JSON.parse(readFileSync(file, 'utf8')))
  rmSync(dirname(file), { recursive: true })
  return forwarder
}

function ownCommand(command: readonly string[]): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'run', '--', ...command]
}

function writeNetworkFiles(dir: string) {
  const rulesFile = join(dir, 'capture.nft')
  const resolvFile = join(dir, 'resolv.conf')
  writeFileSync(rulesFile, captureRules({ proxyUid: 'nobody' }))
  writeFileSync(resolvFile, `nameserver ${NAMESERVER}\noptions timeout:${QUERY_TIMEOUT_S} attempts:2\n`)
  return { rulesFile, resolvFile }
}

function noSocket(path: string): ChaperoneError {
  const why =
    path.length > 100
      ? `The path ${path} is too long for a Unix socket: use a data folder nearer to the root (--data).`
      : `The gateway has no ${path}: start it again with this version (chaperone up), and see chaperone logs.`
  return new ChaperoneError('conflict', { detail: `Nothing can be handed to the gateway. ${why}` })
}
