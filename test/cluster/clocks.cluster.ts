import { X509Certificate } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createKubectl } from '../../controlplane/cli/cluster/kubectl.ts'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { agentPod, CALLS, inAgent, inForce, running, startVendor, VENDOR, type Vendor } from './agents.ts'
import { AGENTS, install, movedClocks, SYSTEM } from './installation.ts'
import { apply, get, kube, kubectl } from './kubectl.ts'
import { type NodeAccess, openNode } from './node-access.ts'
import { kubeTools } from './tools/kube-tools.ts'

const GATEWAY = 'clocks'
const POD = 'clocked'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
let vendor: Vendor
let node: NodeAccess

/*
 * The clocks of the three programs start in the past and are moved to the present, because the API server and the TLS library
 * of every client judge the certificates by the right clock: an expired certificate is refused by another program.
 */
describe.runIf(IS_FULL)('certificates are renewed by the clock', () => {
  beforeAll(async () => {
    const { values } = inject('installation')
    await install({ values })
    await withoutWebhookCa()
    await install(movedClocks(inject('installation')))
    node = await openNode('clocks')
  }, 400_000)
  afterAll(async () => {
    await kube(['delete', 'pod', POD, '-n', AGENTS, '--wait=false', '--ignore-not-found'])
    await node?.[Symbol.asyncDispose]()
    await vendor?.[Symbol.asyncDispose]()
    await withoutWebhookCa()
    await install(inject('installation'))
  }, 400_000)

  test('webhook: its leaf is renewed, and a new authority is trusted before it signs', async () => {
    const [former] = await trusted(1)
    expect(Date.parse(former?.validFrom ?? '')).toBeLessThan(Date.now() - 250 * DAY_MS)
    // The API server judges by its own clock: the leaf of 250 days ago has expired.
    expect(await admission()).toMatch(/certificate has expired/)

    await node.moveClocks('operator.js')
    const both = await trusted(2)
    expect(both.map(({ raw }) => raw)).toContainEqual(former?.raw)
    const next = both.find(({ raw }) => former === undefined || !raw.equals(former.raw))
    expect(Date.parse(next?.validTo ?? '')).toBeGreaterThan(Date.now() + 364 * DAY_MS)
    await eventually('pods are admitted again', isGoverned)
    expect((await presented('chaperone-webhook')).verify(publicKeyOf(former))).toBe(true)

    await node.moveClocks('operator.js')
    await eventually('the new authority signs', async () =>
      (await presented('chaperone-webhook')).verify(publicKeyOf(next)) ? true : null,
    )
    await eventually('pods are admitted', isGoverned)
  }, 300_000)

  test('control plane: its certificate is renewed for clients that trust its CA since days ago', async () => {
    const ca = await controlPlaneCa()
    const first = await presented('chaperone-control-plane', ca)
    expect(Date.parse(first.validTo)).toBeLessThan(Date.now() + 2 * DAY_MS)
    await node.moveClocks('controlplane.js')
    // Each replica has a certificate of its own.
    const renewed = await eventually('a renewed certificate', async () => {
      const found = await presented('chaperone-control-plane', ca)
      return Date.parse(found.validTo) > Date.now() + 6 * DAY_MS ? found : null
    })
    expect(renewed.serialNumber).not.toBe(first.serialNumber)
  }, 180_000)

  test('sidecar: its certificate is renewed while the agent calls', async () => {
    vendor = await startVendor(GATEWAY)
    await apply(agentPod(POD, GATEWAY))
    await running(POD)
    await inForce(GATEWAY)
    expect((await inAgent(POD, CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
    const first = await intermediate()
    expect(Date.parse(first.validTo)).toBeLessThan(Date.now() + 8 * HOUR_MS)
    await node.moveClocks('controlplane.js')
    await node.moveClocks('sidecar.cjs')
    const renewed = await eventually('another intermediate certificate', async () => {
      expect((await inAgent(POD, CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
      const found = await intermediate()
      return found.serialNumber === first.serialNumber ? null : found
    })
    expect(Date.parse(renewed.validTo)).toBeGreaterThan(Date.now() + 23 * HOUR_MS)
    expect((await inAgent(POD, CALLS.python('GET'))).stdout).toBe('200 {"ok":true}\n')
  }, 300_000)
})

/** Ends the operators and empties the Secret of their CA: the operators that start next create one by their clock. */
async function withoutWebhookCa(): Promise<void> {
  await kube(['scale', 'deployment/chaperone-operator', '-n', SYSTEM, '--replicas=0'])
  const operators = ['pod', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=operator']
  await kube(['wait', ...operators, '--for=delete', '--timeout=60s'])
  await kube(['delete', 'secret', 'chaperone-webhook-ca', '-n', SYSTEM, '--ignore-not-found'])
}

/** Certificate authorities of the webhook that the API server trusts, once there are so many. */
function trusted(count: number): Promise<readonly X509Certificate[]> {
  type Webhooks = {
    readonly webhooks: ReadonlyArray<{ readonly clientConfig: { readonly caBundle?: string } }>
  }
  return eventually(`the API server trusts ${count} authorities`, async () => {
    const found = await get<Webhooks>('mutatingwebhookconfiguration', 'chaperone-injector')
    const bundle = Buffer.from(found?.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString()
    const all = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    return all.length === count ? all.map((one) => new X509Certificate(one)) : null
  })
}

function publicKeyOf(authority: X509Certificate | undefined) {
  if (authority === undefined) throw new Error('the API server trusts no such authority')
  return authority.publicKey
}

/** The pod that the API server would store, or its refusal. */
async function admission(): Promise<string> {
  const pod = JSON.stringify(agentPod('asked', GATEWAY))
  const { stdout, stderr } = await kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], pod)
  return `${stdout}${stderr}`
}

async function isGoverned(): Promise<true | null> {
  // There is no Gateway of this name before the test of sidecars: the refusal comes from the webhook.
  return (await admission()).includes('is not a Gateway') ? true : null
}

async function controlPlaneCa(): Promise<string> {
  type Data = { readonly data: Readonly<Record<string, string>> }
  const map = await get<Data>('configmap', 'chaperone-control-plane-authority', SYSTEM)
  return map?.data['ca.crt'] ?? ''
}

/** The certificate that a replica of a Service presents. With `ca` it has to be trusted by this CA, by the right clock. */
async function presented(service: string, ca?: string): Promise<X509Certificate> {
  const tools = await kubeTools()
  const forward = await createKubectl([], { ...process.env, KUBECTL: tools?.kubectl }).forward(
    SYSTEM,
    service,
    443,
  )
  try {
    const socket = await new Promise<TLSSocket>((resolve, reject) => {
      const options = { port: forward.port, host: '127.0.0.1', servername: `${service}.${SYSTEM}.svc` }
      const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
      const connecting = connect({ ...options, ...trust }, () => resolve(connecting))
      connecting.once('error', reject)
    })
    const { raw } = socket.getPeerCertificate()
    socket.destroy()
    return new X509Certificate(raw)
  } finally {
    forward.close()
  }
}

/** The intermediate certificate of the sidecar, as its agent sees it. */
async function intermediate(): Promise<X509Certificate> {
  const program = `const s = require('node:tls').connect({ host: '${VENDOR}', port: 443, servername: '${VENDOR}' }, () => {
  console.log(s.getPeerCertificate(true).issuerCertificate.raw.toString('base64')); s.end() })`
  const { stdout, stderr } = await inAgent(POD, ['node', '-e', program])
  if (stdout === '') throw new Error(stderr)
  return new X509Certificate(Buffer.from(stdout, 'base64'))
}
