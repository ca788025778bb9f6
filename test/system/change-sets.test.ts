import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { size } from '../support/proof.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

const APPLIES = size(30, 200)
const HEAD = 'apiVersion: chaperone.dev/v1alpha1'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: {
      'vendors.yaml': vendors.manifests.replace(
        'metadata: { name: local }\nspec: {}',
        'metadata: { name: local }\nspec: { rateLimit: { requestsPerMinute: 1000000 } }',
      ),
    },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

/** What is allowed and what is denied of it, in one file, under names of its own. */
const file = (turn: number) => `${HEAD}
kind: Permission
metadata: { name: a-${turn} }
spec:
  gatewayRefs: [{ name: local }]
  rules: [{ connectorType: codehost, actionPattern: 'codehost.*', decision: allow }]
---
${HEAD}
kind: Policy
metadata: { name: z-${turn} }
spec:
  scope: { actions: [codehost.repo.delete] }
  rules: [{ name: never, decision: deny }]
`

/** Without a TLS handshake: the CPU time goes into requests. */
const send = async (method: string) => {
  const request = { method, host: 'api.github.com', target: '/repos/acme/site' }
  return (await agent.send(request, 'absolute')).status
}
/** Between two requests of a sender, so that the processes under test get CPU time. */
const PAUSE_MS = 5

test(`no forbidden request passes while ${APPLIES} change sets come and go`, async () => {
  let isOver = false
  let sent = 0
  const passed: number[] = []
  const sender = async () => {
    while (!isOver) {
      const status = await send('DELETE')
      sent += 1
      if (status !== 403) passed.push(status)
      await delay(PAUSE_MS)
    }
  }
  const senders = [sender(), sender()]
  const place = join(laptop.manifests, 'set.yaml')
  for (let turn = 0; turn < APPLIES / 2; turn++) {
    writeFileSync(`${place}.new`, file(turn))
    renameSync(`${place}.new`, place)
    await eventually('the set is in force', async () => ((await send('GET')) === 200 ? true : null))
    rmSync(place)
    await eventually('the set is gone', async () => ((await send('GET')) === 403 ? true : null))
  }
  isOver = true
  await Promise.all(senders)
  expect(passed).toEqual([])
  expect(sent).toBeGreaterThan(APPLIES)
  expect(vendors.recorder.seen.filter(({ method }) => method === 'DELETE')).toEqual([])
}, 600_000)
