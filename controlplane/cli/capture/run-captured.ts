import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { captureRules } from '../../../core/capture/rules.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { DataFolder } from '../data-folder.ts'
import { passThrough } from '../pass-through.ts'
import { startForwarder } from './forwarder.ts'
import { assertCanCapture, NAMESERVER, namespaceCommand, toolPath } from './namespace.ts'

/** Says to our own program that it is the part inside the namespace; the command never sees it. */
const INSIDE_VARIABLE = 'CHAPERONE_INSIDE'
const Inside = z.object({ agent: z.string(), key: z.string(), socket: z.string(), path: z.string() })

export type CapturedRun = {
  readonly agent: string
  readonly key: string
  readonly folder: DataFolder
  readonly command: readonly string[]
  /** What the command gets. */
  readonly env: NodeJS.ProcessEnv
}

/** Runs a command in a network namespace of its own, whose every connection is the agent's. Resolves with its exit code. */
export async function runCaptured({ agent, key, folder, command, env }: CapturedRun): Promise<number> {
  assertCanCapture(env)
  const socket = folder.captureSocket
  if (!existsSync(socket)) throw noSocket(socket)
  const rulesFile = join(folder.gateway, 'capture.nft')
  const resolvFile = join(folder.gateway, 'resolv.conf')
  writeFileSync(rulesFile, captureRules({ proxyUid: 'nobody' }))
  writeFileSync(resolvFile, `nameserver ${NAMESERVER}\noptions timeout:2 attempts:2\n`)
  const own = [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'run', '--', ...command]
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  const { program, args } = namespaceCommand({ uid, gid, rulesFile, resolvFile, command: own })
  const inside = JSON.stringify({ agent, key, socket, path: env['PATH'] ?? '' } satisfies z.infer<
    typeof Inside
  >)
  return passThrough(program, args, {
    ...env,
    PATH: toolPath(env),
    [INSIDE_VARIABLE]: inside,
  })
}

/** The part inside: null when this process is not that. Resolves with the command's exit code. */
export async function runInside(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const text = env[INSIDE_VARIABLE]
  if (text === undefined) return null
  const { agent, key, socket, path } = Inside.parse(JSON.parse(text))
  const [program = '', ...args] = command
  const forwarder = await startForwarder({ agent, key, socketPath: socket })
  const { [INSIDE_VARIABLE]: _own, ...rest } = env
  const code = await passThrough(program, args, { ...rest, PATH: path })
  forwarder.close()
  return code
}

function noSocket(path: string): ChaperoneError {
  const why =
    path.length > 100
      ? `The path ${path} is too long for a Unix socket: use a data folder nearer to the root (--data).`
      : `The gateway has no ${path}: start it again with this version (chaperone up), and see chaperone logs.`
  return new ChaperoneError('conflict', { detail: `Nothing can be handed to the gateway. ${why}` })
}
