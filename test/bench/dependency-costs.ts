import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { Counter, Histogram, Registry } from 'prom-client'
import type { OwnRecord } from '../../core/record.ts'
import { createMetrics } from '../../sidecar/metrics.ts'

/**
 * The CPU time of two things that a package could do and our code does: decision tokens (`jose`), and the metrics of the
 * gateway (`prom-client`). One line each, in microseconds of the whole process, threads of the pool included.
 * `node test/bench/dependency-costs.ts`
 */
const ROUNDS = 5

async function cpuMicros(times: number, work: () => unknown): Promise<number> {
  const results: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await work()
    const { user, system } = process.cpuUsage(before)
    results.push((user + system) / times)
  }
  return results.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
}

const { privateKey } = generateKeyPairSync('ed25519')
const publicKey = createPublicKey(privateKey)
const claims = { iss: 'chaperone', aud: 'chaperone-gateway', sub: 'agent_1', jti: 'j', iat: 1, exp: 4e9 }
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function signOwn(): string {
  const signed = `${part({ alg: 'EdDSA', kid: 'k', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
}

function verifyOwn(token: string): boolean {
  const [head = '', body = '', signature = ''] = token.split('.')
  JSON.parse(atob(head))
  JSON.parse(atob(body))
  return verify(null, Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
}

const signJose = () =>
  new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid: 'k', typ: 'JWT' }).sign(privateKey)
const token = signOwn()
console.log(`sign    own ${(await cpuMicros(2_000, signOwn)).toFixed(0)} us`)
console.log(`sign    jose ${(await cpuMicros(2_000, signJose)).toFixed(0)} us`)
console.log(`verify  own ${(await cpuMicros(2_000, () => verifyOwn(token))).toFixed(0)} us`)
console.log(`verify  jose ${(await cpuMicros(2_000, () => jwtVerify(token, publicKey))).toFixed(0)} us`)

/** What `finished` counts of an allowed request, with the same label sets. */
function promClient(): { count(): void; scrape(): Promise<string> } {
  const registers = [new Registry()]
  const [registry] = registers
  const labelNames = ['agent', 'connector'] as const
  const own = { help: 'h', registers }
  const requests = new Counter({
    name: 'svc_requests_total',
    labelNames: [...labelNames, 'decision', 'action_type'],
    ...own,
  })
  const actions = new Counter({
    name: 'svc_request_actions_total',
    labelNames: [...labelNames, 'decision'],
    ...own,
  })
  const duration = new Histogram({
    name: 'svc_request_duration_seconds',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300],
    labelNames,
    ...own,
  })
  const overhead = new Histogram({
    name: 'svc_proxy_overhead_seconds',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1],
    labelNames,
    ...own,
  })
  const latency = new Histogram({
    name: 'svc_traffic_latency_ms',
    buckets: [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000],
    ...own,
  })
  return {
    count() {
      const labels = { agent: 'agent', connector: 'codehost' }
      requests.inc({ ...labels, decision: 'allow', action_type: 'codehost.pr.get' })
      actions.inc({ ...labels, decision: 'allow' })
      duration.observe(labels, 0.02)
      overhead.observe(labels, 0.001)
      latency.observe(20)
    },
    scrape: async () => (await registry?.metrics()) ?? '',
  }
}

const own = createMetrics()
/** The fields that the metrics read. */
const record = {
  ...{
    agent: 'agent',
    connector: 'codehost',
    action_type: 'codehost.pr.get',
    decision: 'ALLOW',
    would: null,
  },
  ...{ approval_id: null, status: 200, error_type: null, latency_ms: 20, overhead_ms: 1 },
} as OwnRecord
const library = promClient()
const OPS = 200_000
const micros = (work: () => void) =>
  cpuMicros(1, () => {
    for (let i = 0; i < OPS; i++) work()
  })
console.log(`metrics own ${((await micros(() => own.finished(record, null))) / OPS).toFixed(2)} us a request`)
console.log(`metrics prom-client ${((await micros(library.count)) / OPS).toFixed(2)} us a request`)
