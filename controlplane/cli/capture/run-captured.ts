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
import { announceCapture } from './starting-captures.ts'

/**
 * Environment variable that selects the role of this program in the namespaces. The environment of the captured
 * command does not contain the variable.
 */
const ROLE_VARIABLE = 'CHAPERONE_CAPTURE_ROLE'
const Role = z.discriminatedUnion('role', [
  /**
   * `file` is the path of a JSON file that contains a `Forwarder`. The environment variable does not contain the
   * `Forwarder` itself, because Linux limits one variable to 128 KiB. The file is in the data folder, which is masked
   * for the command.
   */
  z.object({ role: z.literal('forwarder'), file: z.string() }),
  /**
   * `init` is the first process of the command's pid namespace. It starts the command, forwards signals and reaps
   * orphans.
   */
  z.object({ role: z.literal('init'), path: z.string() }),
])
type Role = z.infer<typeof Role>
const Forwarder = z.object({
  agent: z.string(),
  key: z.string(),
  socket: z.string(),
  path: z.string(),
  uid: z.number(),
  gid: z.number(),
  cwd: z.string(),
  trustDir: z.string(),
  masks: z.array(z.string()),
  localPorts: z.array(z.object({ port: z.number(), path: z.string() })),
})
type Forwarder = z.infer<typeof Forwarder>

export type CapturedRun = {
  readonly agent: string
  readonly key: string
  readonly folder: DataFolder
  /** Returns the folders that are masked for the command, in addition to the data folder. */
  readonly masked: () => readonly string[]
  readonly command: readonly string[]
  /** Loopback ports that the command can use without policy decisions and traffic records. */
  readonly localPorts?: readonly number[]
  /**
   * Returns the environment of the command. Writes certificates to the given folder, which is read-only for the
   * command.
   */
  readonly env: (trustDir: string) => NodeJS.ProcessEnv
  /** Environment of this process, whose PATH locates the programs that create the namespaces. */
  readonly ownEnv: NodeJS.ProcessEnv
}

/**
 * Runs a command in its own namespaces. Every connection of the command is redirected to the gateway. The data
 * folder, other processes and the Unix sockets of this machine are not accessible. Resolves with the command's exit
 * code.
 */
export async function runCaptured(run: CapturedRun): Promise<number> {
  const { agent, key, folder, command, ownEnv } = run
  assertCaptureSupported(ownEnv)
  // Throws on unsupported CPU architectures before the run creates files or processes.
  seccompCommand()
  const socket = folder.captureSocket
  if (!existsSync(socket)) throw noSocket(socket)
  const cwd = process.cwd()
  const trustDir = realpathSync(mkdtempSync(join(tmpdir(), 'chaperone-trust-')))
  using _announced = announceCapture(ownEnv, trustDir)
  const forwarderDir = mkdtempSync(join(realpathSync(folder.gateway), 'chaperone-inside-'))
  const local = await openLocalPorts(folder.gateway, run.localPorts ?? [])
  try {
    const masks = masksOf(run)
    assertNotMasked(cwd, masks)
    const env = run.env(trustDir)
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
    const files = writeNetworkFiles(trustDir)
    const file = join(forwarderDir, 'forwarder.json')
    const role: Role = { role: 'forwarder', file }
    const forwarder: Forwarder = {
      agent,
      key,
      socket,
      uid,
      gid,
      cwd,
      trustDir,
      path: env['PATH'] ?? '',
      masks: [...masks],
      localPorts: [...local.ports],
    }
    writeFileSync(file, JSON.stringify(forwarder), { mode: 0o600 })
    closeInheritedDescriptors()
    const { program, args } = namespaceCommand({ uid, ...files, command: ownCommand(command) })
    return await spawnCommand(program, args, {
      ...env,
      PATH: toolPath(ownEnv),
      [ROLE_VARIABLE]: JSON.stringify(role),
    })
  } finally {
    local.close()
    for (const dir of [trustDir, forwarderDir]) rmSync(dir, { recursive: true, force: true })
  }
}

function masksOf({ folder, masked }: CapturedRun): readonly string[] {
  const folders = [folder.root, ...masked()].filter((path) => existsSync(path))
  return maskedPaths(folders.map((path) => realpathSync(path)))
}

/**
 * Runs the role that the environment selects for this process in the namespaces of a captured command. Resolves with
 * the command's exit code; null when the environment selects no role.
 */
export async function runNamespaceProcess(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number | null> {
  const text = env[ROLE_VARIABLE]
  if (text === undefined) return null
  const role = Role.parse(JSON.parse(text))
  const { [ROLE_VARIABLE]: _role, ...rest } = env
  if (role.role === 'init') {
    const [program = '', ...args] = command
    return spawnCommand(program, args, { ...rest, PATH: role.path })
  }
  const given = takeForwarder(role.file)
  const { agent, key, socket, path, localPorts } = given
  const forwarder = await startForwarder({ agent, key, socketPath: socket, localPorts })
  const init: Role = { role: 'init', path }
  const { program, args } = isolationCommand({ ...given, command: ownCommand(command) })
  const ownEnv = { ...rest, [ROLE_VARIABLE]: JSON.stringify(init) }
  // Signals are sent to the children of unshare, because unshare ignores signals while its child runs.
  const code = await spawnCommand(program, args, ownEnv, { deliver: signalChildren })
  forwarder.close()
  return code
}

/**
 * Reads the forwarder's input and removes its file before the command starts, because the file contains the agent's
 * key.
 */
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
      ? `The path ${path} is too long for a Unix socket. Choose a data folder with a shorter path (--data).`
      : `${path} does not exist. Restart Chaperone with this version: chaperone up. If the error remains, see: chaperone logs gateway`
  return new ChaperoneError('conflict', { detail: `The gateway's capture socket is not available. ${why}` })
}
