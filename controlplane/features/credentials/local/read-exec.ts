import { spawn } from 'node:child_process'
import { isAbsolute } from 'node:path'
import * as z from 'zod'
import type { ExecSourceSpec } from '../../../../core/crd/credentials/local-source-spec.ts'
import { MintError } from '../minting/mint.ts'
import { plainText } from '../minting/usable-token.ts'
import type { LocalReading } from './local-source.ts'

/**
 * Time limit of a command in milliseconds. The limit is below the time for which a replica claims the minting of a
 * credential (15 s), so that no two replicas run the command at the same time.
 */
const TIME_LIMIT_MS = 10_000
/** Maximum size of the output in bytes. */
const MAX_OUTPUT = 64 * 1_024
const API_VERSION = 'client.authentication.k8s.io/v1'

/**
 * Environment variables of the control plane that a command gets, so that programs find the home directory, locale and
 * session of the user.
 */
const INHERITED = [
  ...['HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ'],
  ...['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  'DBUS_SESSION_BUS_ADDRESS',
] as const

type Environment = Readonly<Record<string, string | undefined>>

export type ExecLimits = { readonly timeMs: number; readonly outputBytes: number }

/**
 * Runs the command without a shell and without a terminal, and returns the token that the command prints. Kills the
 * process group at the time limit and beyond the output limit. Rejects with a `MintError` whose message names the
 * command and the failure, and contains nothing of the output.
 *
 * @param environment Environment of the control plane.
 */
export async function readExec(
  exec: ExecSourceSpec,
  environment: Environment,
  nowMs: () => number,
  limits: ExecLimits = { timeMs: TIME_LIMIT_MS, outputBytes: MAX_OUTPUT },
): Promise<LocalReading> {
  const printed = await run(exec, environmentOf(exec, environment), limits)
  const text = printed.toString('utf8').trim()
  const command = plainText(exec.command)
  if (text === '')
    throw new MintError(
      `The command ${command} printed nothing. Run it in a terminal, and sign in if it asks for it.`,
    )
  return text.startsWith('{')
    ? fromExecCredential(text, command, nowMs())
    : { secret: text, lifetimeMs: null }
}

function environmentOf({ env }: ExecSourceSpec, environment: Environment): NodeJS.ProcessEnv {
  const inherited = INHERITED.flatMap((name) => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value]]
  })
  return {
    ...Object.fromEntries(inherited),
    // A command must not be found in a relative folder of PATH, because an agent may write to that folder.
    PATH: (environment['PATH'] ?? '').split(':').filter(isAbsolute).join(':'),
    KUBERNETES_EXEC_INFO: JSON.stringify({
      apiVersion: API_VERSION,
      kind: 'ExecCredential',
      spec: { interactive: false },
    }),
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
  }
}

function run({ command, args }: ExecSourceSpec, env: NodeJS.ProcessEnv, limits: ExecLimits): Promise<Buffer> {
  const shown = plainText(command)
  return new Promise((resolve, reject) => {
    // `detached` starts a new process group without a terminal, so that the command can be killed together with its
    // children.
    const child = spawn(command, args, {
      env,
      cwd: '/',
      shell: false,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const chunks: Buffer[] = []
    let size = 0
    const end = (): void => {
      clearTimeout(timer)
      killGroup(child.pid)
    }
    const fail = (text: string): void => {
      end()
      reject(new MintError(`The command ${shown} ${text}`))
    }
    const timer = setTimeout(
      () =>
        fail(`did not end within ${limits.timeMs / 1_000} s and was stopped. It must not wait for input.`),
      limits.timeMs,
    )
    child.once('error', (error: NodeJS.ErrnoException) => fail(startProblem(error)))
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limits.outputBytes)
        fail(`printed more than ${limits.outputBytes} bytes. It must print the token alone.`)
      else chunks.push(chunk)
    })
    child.once('close', (code, signal) => {
      if (code === 0) {
        end()
        resolve(Buffer.concat(chunks))
      } else
        fail(
          `${code === null ? `was ended by ${signal}` : `ended with exit code ${code}`}. Run it in a terminal to see the reason.`,
        )
    })
  })
}

function startProblem({ code }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT')
    return 'was not found. Install it, or name its absolute path in credential.exec.command.'
  return `could not be started (${code ?? 'unknown reason'}). Check credential.exec.command.`
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group has already ended, so there is nothing to kill.
  }
}

const ExecCredential = z.looseObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('ExecCredential'),
  status: z.looseObject({
    token: z.string().min(1),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
})

/**
 * Returns the token of an ExecCredential. The message of the error contains nothing of the text, because the text
 * contains the token.
 */
function fromExecCredential(text: string, command: string, nowMs: number): LocalReading {
  const parsed = ExecCredential.safeParse(parse(text))
  if (!parsed.success)
    throw new MintError(
      `The command ${command} printed JSON that is not an ExecCredential of ${API_VERSION} with status.token and a valid status.expirationTimestamp. Change the command so that it prints such an object, or the token alone.`,
    )
  const { token, expirationTimestamp } = parsed.data.status
  return {
    secret: token,
    lifetimeMs: expirationTimestamp == null ? null : Date.parse(expirationTimestamp) - nowMs,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
