import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { ChaperoneError } from '../../../core/errors.ts'

/** Runs kubectl with the user's kubeconfig. */
export type Kubectl = {
  /** Runs kubectl and returns its standard output. Rejects with the error of kubectl. */
  run(...args: readonly string[]): Promise<string>
  /** Runs kubectl with `text` as standard input, and returns standard output. Rejects with the error of kubectl. */
  input(text: string, ...args: readonly string[]): Promise<string>
  /** Returns an object of the cluster as parsed JSON; null when the object does not exist. */
  object<T>(...args: readonly string[]): Promise<T | null>
  /** Forwards a free local port to a Service. Rejects when kubectl ends before the port is open. */
  forward(namespace: string, service: string, port: number): Promise<Forward>
}
export type Forward = { readonly port: number; close(): void }

/**
 * Creates a wrapper of kubectl.
 *
 * @param globals Options before the subcommand, for example `--context NAME`.
 */
export function createKubectl(globals: readonly string[], env: NodeJS.ProcessEnv): Kubectl {
  const program = env['KUBECTL'] || 'kubectl'
  const start = (args: readonly string[]) =>
    spawn(program, [...globals, ...args], { stdio: ['pipe', 'pipe', 'pipe'], env })

  async function input(given: string, ...args: readonly string[]): Promise<string> {
    const child = start(args)
    // Ignores EPIPE and all other errors of the pipe, because kubectl reports its own error when it ends before it has
    // read the input.
    child.stdin.on('error', () => undefined).end(given)
    const ended = new Promise<number>((resolve, reject) => {
      child.once('error', (cause) => reject(notThere(program, cause)))
      child.once('close', (code) => resolve(code ?? 1))
    })
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    if (code === 0) return stdout
    throw failureOf(args, stderr)
  }

  const run: Kubectl['run'] = (...args) => input('', ...args)

  return {
    run,
    input,
    async object<T>(...args: readonly string[]) {
      const found = await run('get', ...args, '--ignore-not-found', '-o', 'json')
      return found === '' ? null : (JSON.parse(found) as T)
    },
    async forward(namespace, service, port) {
      const child = start(['port-forward', '-n', namespace, `service/${service}`, `:${port}`])
      const complaint = text(child.stderr)
      const local = await new Promise<number>((resolve, reject) => {
        child.once('error', (cause) => reject(notThere(program, cause)))
        child.stdout.on('data', (chunk: Buffer) => {
          const found = /127\.0\.0\.1:(\d+)/.exec(chunk.toString())?.[1]
          if (found !== undefined) resolve(Number(found))
        })
        child.once('exit', async () => {
          const detail = `Service ${namespace}/${service} is unreachable (${(await complaint).trim()}). Check that its pods are ready: kubectl get pods -n ${namespace}`
          reject(new ChaperoneError('not_ready', { detail }))
        })
      })
      return { port: local, close: () => void child.kill() }
    },
  }
}

/**
 * Matches log lines of client-go. kubectl prints these lines for each failed attempt before it prints the error
 * itself.
 */
const LOG_LINE = /^[EIWF]\d{4} /
const UNREACHABLE = /was refused|unable to connect|no such host|i\/o timeout|context deadline exceeded/i

function failureOf(args: readonly string[], stderr: string): ChaperoneError {
  const lines = stderr.trim().split('\n')
  const message = lines.filter((line) => !LOG_LINE.test(line)).join(' ') || lines.join(' ')
  if (!UNREACHABLE.test(message)) {
    return new ChaperoneError('conflict', { detail: `kubectl ${args.slice(0, 3).join(' ')}: ${message}` })
  }
  const remedy = 'Give another cluster with --context, --kubeconfig or KUBECONFIG.'
  return new ChaperoneError('not_ready', { detail: `The cluster is unreachable: ${message} ${remedy}` })
}

function notThere(program: string, cause: Error): ChaperoneError {
  const detail = `${program} cannot be started (${cause.message}). Add kubectl to the PATH, or set KUBECTL to its path.`
  return new ChaperoneError('validation', { detail, cause })
}
