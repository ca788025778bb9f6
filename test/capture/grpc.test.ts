import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonEnvironment } from '../support/python-environment.ts'
import type { Answer } from '../support/recorder.ts'
import { noNamespaces } from './network.ts'
import { AGENT_UID, type GovernedPod, HOST, SECRET, startGovernedPod } from './sidecar.ts'

const reason = noNamespaces()
const CLIENTS = new URL('../clients/grpc/', import.meta.url).pathname
const GRPC_JS = new URL('../../node_modules/@grpc/grpc-js/', import.meta.url).pathname

const NODE = `const grpc=require(${JSON.stringify(GRPC_JS)});const same=b=>b
const client=new grpc.Client('${HOST}:443',grpc.credentials.createSsl())
client.makeUnaryRequest('/notes.v1.Notes/Echo',same,same,Buffer.from('hello'),{deadline:Date.now()+20000},(e,v)=>{
console.log(JSON.stringify(e===null?{ok:true,value:String(v)}:{ok:false,code:e.code,details:e.details}));process.exit(0)})`

/** A gRPC server for one unary call: echoes the message, and sends the status in the trailers. */
const echo: Answer = (request, response, seen) => {
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/grpc' })
    response.addTrailers({ 'grpc-status': '0' })
    response.end(seen.body)
  })
}

describe.skipIf(reason !== null)(
  `gRPC clients that do not support proxies${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    let pod: GovernedPod
    beforeAll(async () => {
      pod = await startGovernedPod()
      pod.upstream.answerWith(echo)
    })
    afterAll(async () => {
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
      await pod[Symbol.asyncDispose]()
    })

    const call = async (argv: readonly string[], env: Record<string, string> = {}): Promise<void> => {
      const before = pod.upstream.seen.length
      const ran = await pod.network.exec(argv, {
        uid: AGENT_UID,
        env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: join(pod.trustDir, 'ca-bundle.crt'), ...env },
        timeoutMs: 60_000,
      })
      expect(ran.stdout.trim(), ran.stderr).toContain('hello')
      const seen = pod.upstream.seen.slice(before)
      expect(seen.map(({ httpVersion, target }) => [httpVersion, target])).toEqual([
        ['2.0', '/notes.v1.Notes/Echo'],
      ])
      expect(seen[0]?.header('authorization')).toBe(`Bearer ${SECRET}`)
    }

    test('@grpc/grpc-js reaches its server with the file of root certificates only', () =>
      call([process.execPath, '-e', NODE]))

    test.skipIf(!hasPip())(
      'grpcio of Python, with its own resolver, reaches its server with the file of root certificates only',
      async () => {
        const packages = join(pod.dir, 'python')
        const client = join(pod.dir, 'notes_client.py')
        cpSync(pythonEnvironment('grpcio==1.82.0').packages, packages, { recursive: true })
        copyFileSync(join(CLIENTS, 'notes_client.py'), client)
        await call(['/usr/bin/python3', client, HOST, 'Echo'], { PYTHONPATH: packages })
      },
      120_000,
    )
  },
)

/** Copies the program so that the pod's user can run it, and installs its packages. */
function hasPip(): boolean {
  if (!existsSync('/usr/bin/python3')) return false
  try {
    const version = (program: string): string =>
      execFileSync(program, ['-c', 'import sys;print(sys.version_info[:2])'], { encoding: 'utf8' })
    execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' })
    return version('python3') === version('/usr/bin/python3')
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}
