import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { end } from '../../support/processes.ts'
import type { Target } from '../../support/tunnel.ts'
import { isInstalled } from './subject.ts'
import type { UpstreamProcess } from './upstream-process.ts'

const SOURCE = new URL('../go', import.meta.url).pathname

/** Compiles the Go programs of the bench once for a run. Returns the path of the program; null without Go. */
export function compileGoPrograms(folder: string): string | null {
  if (!isInstalled('go')) return null
  const file = join(folder, 'bench-go')
  execFileSync('go', ['build', '-o', file, '.'], { cwd: SOURCE, stdio: ['ignore', 'ignore', 'inherit'] })
  return file
}

export type GoServer = { readonly child: ChildProcess; readonly port: number; ask(): Promise<string> }

/** Starts one of the Go servers on one core. `ask` sends a line and resolves with the answer of the server. */
export async function startGoServer(
  program: string,
  name: 'upstream' | 'authz',
  env: Readonly<Record<string, string>> = {},
): Promise<GoServer> {
  const child = spawn(program, [name], {
    env: { ...process.env, GOMAXPROCS: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`${name} of the bench ended`)
    return String(value)
  }
  const port = Number(await line())
  return {
    child,
    port,
    ask() {
      child.stdin.write('\n')
      return line()
    },
  }
}

export async function startGoUpstream(
  program: string,
  files: { readonly keyFile: string; readonly certFile: string },
): Promise<UpstreamProcess> {
  const server = await startGoServer(program, 'upstream', {
    CERT_FILE: files.certFile,
    KEY_FILE: files.keyFile,
  })
  return {
    port: server.port,
    async saw() {
      const [requests = 0, withCredential = 0] = (await server.ask()).split(' ').map(Number)
      return { requests, withCredential }
    },
    stop: () => end(server.child),
  }
}

export type GoLoad = {
  readonly program: string
  readonly requestFile: string
  readonly tunnels: number
  readonly requests: number
}

/** Sends the requests in closed loop. Rejects with the first response whose status is not 200. */
export async function runGoLoad(target: Target, { program, ...load }: GoLoad): Promise<void> {
  const child = spawn(program, ['load'], {
    env: {
      ...process.env,
      GOMAXPROCS: '1',
      PORT: String(target.port),
      HOST: 'api.openai.com',
      VIA: target.via,
      PROXY_AUTHORIZATION: target.proxyAuthorization ?? '',
      REQUEST_FILE: load.requestFile,
      TUNNELS: String(load.tunnels),
      REQUESTS: String(load.requests),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += String(chunk)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`the load ended: ${complaint.trim()}`)
}
