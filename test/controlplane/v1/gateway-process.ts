import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundledProgram } from '../../support/bundled-program.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'

const MAIN = await bundledProgram('sidecar')

/** A real gateway process. Its way to the control plane leads through here, and its stream can be cut. */
export type GatewayProcess = AsyncDisposable & {
  readonly url: string
  /** No stream any more, and none until `mend`; everything else (holds, records) gets through. */
  cut(): void
  mend(): void
  /** What it wrote so far. */
  log(): string
}

export async function startGatewayProcess(planeUrl: string, token: string): Promise<GatewayProcess> {
  const way = await startWay(planeUrl)
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-gateway-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, token)
  mkdirSync(join(folder, 'data'))
  const child = fork(MAIN, {
    env: {
      ...PROGRAM_ENV,
      PORT: '0',
      CONTROL_PLANE_URL: way.url,
      GATEWAY_TOKEN_FILE: tokenFile,
      INTERNAL_TOKEN_FILE: join(folder, 'internal.token'),
      DATA_DIR: join(folder, 'data'),
      CA_CERT_FILE: join(folder, 'ca.crt'),
      CA_KEY_FILE: join(folder, 'ca.key'),
      CA_BUNDLE_FILE: join(folder, 'bundle.crt'),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += String(chunk)
    })
  const port = await portOf(child, () => output)
  return {
    log: () => output,
    url: `http://127.0.0.1:${port}`,
    cut: way.cut,
    mend: way.mend,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
      await way.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function portOf(child: ChildProcess, output: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: { type: string; port?: number; message?: string }) => {
      if (message.type === 'ready' && message.port !== undefined) resolve(message.port)
      else reject(new Error(message.message ?? output()))
    })
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${output()}`)))
  })
}

async function startWay(planeUrl: string) {
  const streams = new Set<ServerResponse>()
  let isCut = false
  const server = createServer((incoming: IncomingMessage, answer) => {
    const isStream = incoming.url?.startsWith('/api/gateway/stream') === true
    if (isStream && isCut) return answer.destroy()
    if (isStream) streams.add(answer)
    const { method, headers } = incoming
    const out = request(planeUrl + incoming.url, { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(answer)
      reply.on('error', () => answer.destroy())
    })
    out.on('error', () => answer.destroy())
    answer.on('close', () => out.destroy())
    incoming.pipe(out)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      for (const stream of streams) stream.destroy()
      streams.clear()
    },
    mend() {
      isCut = false
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
