import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { connectHead, openSocket } from '../support/tunnel.ts'

let laptop: Laptop
let agent: TestAgent

const gateway = (...hosts: string[]) =>
  `apiVersion: chaperone.dev/v1alpha1\nkind: Gateway\nmetadata: { name: local }\nspec: { egress: { allowedHosts: ${JSON.stringify(hosts)} } }\n`

beforeAll(async () => {
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'gateway.yaml': gateway('listed.example', '*.wild.example:9443') },
  })
  agent = testAgent(laptop)
})
afterAll(async () => await laptop?.stop())

async function connectTo(target: string): Promise<string> {
  const socket = await openSocket(agent.target.port)
  socket.write(connectHead(agent.target, target))
  const answer = await new Promise<string>((resolve, reject) =>
    socket.once('data', (chunk) => resolve(String(chunk))).once('error', reject),
  )
  socket.destroy()
  return answer
}

type View = { readonly name: string; readonly live: { readonly warnings: readonly string[] } | null }

const warningsWhen = (what: string, fits: (warnings: readonly string[]) => boolean) =>
  eventually(what, async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/gateway')
    const live = (body['gateways'] as View[]).find(({ name }) => name === 'default/local')?.live
    return live != null && fits(live.warnings) ? live.warnings : null
  })

const LISTED =
  'Agents requested listed.example:8443, but listed.example in egress.allowedHosts covers port 443 only. If the agents need this port, add listed.example:8443.'
const WILD =
  'Agents requested *.wild.example:443, but *.wild.example:9443 in egress.allowedHosts covers port 9443 only. If the agents need this port, add *.wild.example:443.'

test('the gateway names entries of allowedHosts that agents used with another port, until they are listed', async () => {
  expect(await warningsWhen('the gateway runs', () => true)).toEqual([])
  // On the ports of the web the refusal comes inside TLS.
  for (const [target, status] of [
    ['listed.example:8443', 200],
    ['a.wild.example:443', 200],
    ['listed.example:8443', 200],
    ['other.example:22', 403],
  ] as const)
    expect(await connectTo(target)).toMatch(new RegExp(`^HTTP/1.1 ${status}`))
  expect(await warningsWhen('both warnings', (warnings) => warnings.length > 1)).toEqual([WILD, LISTED])

  const overview = await laptop.api('GET', '/api/dashboard/overview')
  expect(overview.body['gateways']).toEqual([expect.objectContaining({ warnings: [WILD, LISTED] })])

  const status = await laptop.cli(['status'])
  expect(status.stdout).toContain(`default/local: ${LISTED}`)
  expect(status.stdout).toContain(`default/local: ${WILD}`)
  expect(status.code).toBe(0)
  expect(JSON.parse((await laptop.cli(['status', '--json'])).stdout)).toMatchObject({
    gateway_warnings: [`default/local: ${WILD}`, `default/local: ${LISTED}`],
  })
  const doctor = await laptop.cli(['doctor'])
  expect(doctor.stdout).toContain('Agents requested listed.example:8443, but')
  expect(doctor.stdout).toContain(
    'warning  refused host a.wild.example: requested by dev, and refused because no connector owns the host\n         -> add a Connector with this domain, or add it to spec.egress.allowedHosts of Gateway default/local',
  )
  expect(doctor.stdout).toContain('refused host listed.example:8443')
  expect(doctor.stdout).toContain('refused host other.example:22')

  laptop.writeManifest('gateway.yaml', gateway('listed.example', 'listed.example:8443', '*.wild.example'))
  await warningsWhen('no warning', (warnings) => warnings.length === 0)
  expect((await laptop.cli(['status'])).stdout).not.toContain('Agents requested')
})
