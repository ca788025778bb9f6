import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { javaOptions, trustVariables } from '../../../core/capture/client-variables.ts'
import { TRUST_FILES } from '../../../core/capture/pod-contract.ts'
import { replyJson, type Seen } from '../../support/recorder.ts'
import { noNamespaces } from '../network.ts'
import { AGENT_UID, type GovernedPod, HOST, SECRET, startGovernedPod } from '../sidecar.ts'
import { compiled, hasProgram, pythonPackages } from './programs.ts'
import * as source from './sources.ts'
import { CLIENT_ROWS, type ClientName, withTable } from './table.ts'

const reason = noNamespaces()
const PAGE = join(import.meta.dirname, '../../../docs/kubernetes.md')
const python = (program: string) => ['/usr/bin/python3', '-c', program]
const curl = (...args: string[]) => [
  'curl',
  '-sS',
  '-m',
  '10',
  '-o',
  '/dev/null',
  '-w',
  '%{http_code}',
  ...args,
]

describe.skipIf(reason !== null)(
  `clients that do not support proxies${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    let pod: GovernedPod
    let variables: Readonly<Record<string, string>>
    const found = new Map<ClientName, string>()

    beforeAll(async () => {
      pod = await startGovernedPod()
      pod.upstream.answerWith(answer)
      variables = injectedVariables(pod.trustDir, join(pod.dir, 'python'))
      if (hasProgram('/usr/bin/python3')) await pythonPackages(join(pod.dir, 'python'))
      // Without a build cache, Go compiles its standard library first, which can take minutes on a busy machine.
      if (hasProgram('go')) go('go')()
    }, 240_000)
    afterAll(async () => {
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
      await pod[Symbol.asyncDispose]()
    })

    let goProgram: string | null = null
    const go = (resolver: 'go' | 'cgo') => () => {
      goProgram ??= compiled(join(pod.dir, 'go'), 'main.go', source.GO, (file, out) => [
        'go',
        ['build', '-o', out, file],
      ])
      return ['env', `GODEBUG=netdns=${resolver}`, goProgram]
    }
    const c = (compiler: string) => () => [
      compiled(join(pod.dir, compiler), 'client.c', source.C, (file, out) => [
        compiler,
        ['-O1', '-w', '-o', out, file],
      ]),
    ]
    const java = () => {
      writeFileSync(join(pod.dir, 'Client.java'), source.JAVA)
      // Less compilation for a program that ends at once.
      return ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', join(pod.dir, 'Client.java')]
    }
    const commands: Record<ClientName, () => readonly string[]> = {
      nodeFetch: () => [process.execPath, '-e', source.NODE_FETCH],
      nodeHttps: () => [process.execPath, '-e', source.NODE_HTTPS],
      nodeHttp2: () => [process.execPath, '-e', source.NODE_HTTP2],
      requests: () => python(source.REQUESTS),
      httpx: () => python(source.HTTPX),
      urllib: () => python(source.URLLIB),
      aiohttp: () => python(source.AIOHTTP),
      grpc: () => python(source.GRPC),
      goPure: go('go'),
      goCgo: go('cgo'),
      java,
      curl1: () => curl('--http1.1', `https://${HOST}/x`),
      curl2: () => curl('--http2', `https://${HOST}/x`),
      curl6: () => curl('-6', `https://${HOST}/x`),
      curlPlain: () => curl(`http://${HOST}/x`),
      wget: () => ['sh', '-c', `wget -S -O /dev/null https://${HOST}/x 2>&1`],
      git: () => ['sh', '-c', `git ls-remote https://${HOST}/x.git && echo 200`],
      glibc: c('gcc'),
      musl: c('musl-gcc'),
    }

    const rows = (Object.keys(CLIENT_ROWS) as ClientName[]).map(
      (name) => [CLIENT_ROWS[name].client, name] as const,
    )
    test.for(rows)(
      '%s reaches the upstream with the injected credential',
      { timeout: 120_000 },
      async ([, name], { skip }) => {
        const missing = CLIENT_ROWS[name].needs.filter((program) => !hasProgram(program))
        if (missing.length > 0 && process.env['CI']) throw new Error(`not installed: ${missing.join(', ')}`)
        skip(missing.length > 0, `not installed: ${missing.join(', ')}`)
        const before = pod.upstream.seen.length
        const ran = await pod.network.exec(commands[name](), {
          uid: AGENT_UID,
          env: variables,
          timeoutMs: 60_000,
        })
        expect(ran.stdout, ran.stderr).toMatch(/200/)
        const seen = pod.upstream.seen.slice(before)
        expect(seen.length).toBeGreaterThan(0)
        for (const request of seen) expect(request.header('authorization')).toBe(`Bearer ${SECRET}`)
        found.set(name, `yes, as HTTP/${seen[0]?.httpVersion}`)
      },
    )

    test('docs/kubernetes.md has the table with these results', ({ skip }) => {
      const missing = rows.filter(([, name]) => !found.has(name)).map(([client]) => client)
      skip(missing.length > 0 && !process.env['CI'], `not tried: ${missing.join(', ')}`)
      const page = readFileSync(PAGE, 'utf8')
      const right = withTable(page, found)
      if (process.env['CHAPERONE_WRITE_DOCS']) writeFileSync(PAGE, right)
      expect(page, 'CHAPERONE_WRITE_DOCS=1 vitest run test/capture/clients writes it').toBe(right)
    })
  },
)

/** The variables that the injector sets: trusted CAs, and no proxy. */
function injectedVariables(trustDir: string, pythonPath: string): Readonly<Record<string, string>> {
  const at = (file: string) => join(trustDir, file)
  const { bundle, own, wgetrc, java, javaPassword } = TRUST_FILES
  const trustStore = { file: at(java), password: javaPassword }
  return {
    ...trustVariables({ caFile: at(own), bundleFile: at(bundle), wgetrcFile: at(wgetrc) }),
    JAVA_TOOL_OPTIONS: javaOptions({ trustStore }),
    PYTHONPATH: pythonPath,
  }
}

const PACKETS = { 'content-type': 'application/x-git-upload-pack-advertisement' }

function answer(request: IncomingMessage, response: ServerResponse, seen: Seen): void {
  if (request.headers['content-type']?.startsWith('application/grpc')) echo(request, response, seen)
  else if (request.url?.includes('/info/refs')) response.writeHead(200, PACKETS).end(gitRefs())
  else replyJson({ ok: true })(request, response, seen)
}

/** Echoes one message. */
function echo(request: IncomingMessage, response: ServerResponse, seen: Seen): void {
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/grpc', trailer: 'grpc-status' })
    response.write(seen.body)
    response.addTrailers({ 'grpc-status': '0' })
    response.end()
  })
}

/** A repository with one branch, in git's protocol version 0. */
function gitRefs(): string {
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
  const ref = `${'a'.repeat(40)} refs/heads/main\0side-band-64k\n`
  return `${line('# service=git-upload-pack\n')}0000${line(ref)}0000`
}
